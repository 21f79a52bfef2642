//! What operators do, for the operator's API and for commands alike: secrets of channels, tests of channels, and
//! what other prices would change. Neither HTTP nor command lines are known here.

pub mod channel_secrets;
pub mod channel_test;
pub mod price_preview;

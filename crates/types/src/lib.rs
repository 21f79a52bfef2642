//! The shared types: money, prices, units, faces, usage, ids, secrets and the clock.
//!
//! Everything here is a plain value. This crate uses no socket, no database, no environment and no system time:
//! the executable implements [`Clock`]. Only a build for tests reads the environment, for a [`Defect`].
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod closed_enum;
pub mod csv;
mod decimal;
mod defect;
mod endpoint_type;
mod face;
mod ids;
mod key;
mod money;
mod own_keys;
mod price;
mod rational;
mod secret;
mod timestamp;
mod topic;
mod units;
mod usage;

pub use closed_enum::UnknownName;
pub use defect::{Defect, file_instead, misspelt_word, word_instead};
pub use endpoint_type::EndpointType;
pub use face::{BillingUnit, Face, Side};
pub use ids::{AccountId, IdError, KeyId, NodeId, RANDOM_BYTES, RequestId, uuid_v7};
pub use key::{ApiKey, KEY_CHARACTERS, KeyError, SHARDS, Shard};
pub use money::{Money, MoneyError};
pub use own_keys::{OwnKeyHasher, OwnKeyMap};
pub use price::{Ratio, RatioError, UnitPrice, UnitPriceError};
pub use rational::{Exact, ExactError};
pub use secret::{Secret, SecretBytes};
pub use timestamp::{Clock, ShiftableClock, Timestamp};
pub use topic::Topic;
pub use units::{MAX_QUANTITY, Units, UnitsError};
pub use usage::{Bucket, Usage, UsageError};

//! Social data: one question to one platform, charged when it is answered with data.
//!
//! The order of a call is `calling.rs`; what may be asked and what an answer means is crate `social`.

mod bounds;
mod calling;
mod counter;
mod folder;
mod pages;
mod quoting;
mod settings;
mod source;
mod wanted;

pub(crate) use self::counter::Counter;
pub use self::folder::{FolderError, cells_with_folder};
pub(crate) use self::quoting::pair_of;
pub(crate) use self::settings::Crowds;
pub use self::settings::SocialSettings;

/// The word of these endpoints in a key's list and in the usage log.
pub(crate) const WORD: &str = "social";
/// What channels of a data source speak.
pub(crate) const FORMAT: &str = "social_data";

/// What a pair would be called as a cell, whether there is one or not.
fn model_name(platform: &str, capability: &str) -> String {
    format!("{WORD}-{platform}-{capability}")
}

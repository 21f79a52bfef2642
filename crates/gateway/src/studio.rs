//! Images, speech and transcripts: made while the caller waits.
//!
//! The order of each: read and planned by the model's record → `priced` → money held → `round`, the
//! vendors one after the other by the failover table → what was made → the charge → the answer. The call
//! runs in a task of its own from the hold on, because a client that leaves drops its handler.

mod errands;
mod form;
mod handing;
mod hosting;
mod images;
mod priced;
mod quoting;
mod round;
mod settings;
mod speaking;
mod speech;
mod transcribing;
mod transcripts;
mod uploads;

pub(crate) use form::read_image_form;
pub(crate) use quoting::{fields_of, quoted_door};
pub use settings::StudioSettings;
pub(crate) use uploads::Disk;

/// The doors' words in policies, quotes and usage rows.
pub(crate) const IMAGES: &str = "images";
pub(crate) const SPEECH: &str = "speech";
pub(crate) const TRANSCRIPTIONS: &str = "transcriptions";
pub(crate) const TRANSLATIONS: &str = "translations";

//! Images, speech and transcripts: made while the caller waits.
//!
//! The order of each: read and planned by the model's record → `priced` → money held → `round`, the
//! vendors one after the other by the failover table → what was made → the charge → the answer. The call
//! runs in a task of its own from the hold on, because a client that leaves drops its handler.

mod deliver;
mod failover;
mod image_form;
mod image_hosting;
mod images;
mod outbound;
mod quote;
mod quote_endpoint;
mod settings;
mod speech;
mod speech_stream;
mod transcribe;
mod transcription_form;
mod uploads;

pub(crate) use image_form::read_image_form;
pub(crate) use quote_endpoint::{fields_of, quoted_door};
pub use settings::GenerationSettings;
pub(crate) use uploads::UploadDiskUsage;

/// The doors' words in policies, quotes and usage rows.
pub(crate) const IMAGES: &str = "images";
pub(crate) const SPEECH: &str = "speech";
pub(crate) const TRANSCRIPTIONS: &str = "transcriptions";
pub(crate) const TRANSLATIONS: &str = "translations";

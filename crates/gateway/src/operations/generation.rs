//! Images, speech and transcripts: made while the client waits, at a price that is known before.

mod image_hosting;
pub(crate) mod images;
mod outbound;
mod quote_endpoint;
pub(crate) mod speech;
mod speech_relay;
mod speech_stream;
mod transcribe;
pub(crate) mod transcription;

pub(crate) use quote_endpoint::{quote_generation, quoted_endpoint};

/// Their names in policies, quotes and usage rows.
pub(crate) const IMAGES: &str = "images";
pub(crate) const SPEECH: &str = "speech";
pub(crate) const TRANSCRIPTIONS: &str = "transcriptions";
pub(crate) const TRANSLATIONS: &str = "translations";

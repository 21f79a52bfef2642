//! Video tasks: a request becomes a row with its money held, then a job at an upstream, then a verdict.
//!
//! The order: `request` (read, measured, priced) → `clips` (linked clips become ours) → `accept` (task and hold in one transaction) →
//! `submit` (the one call that may start a job) → `poll` → `transitions` (state and money in one
//! transaction). The first three run in a task of their own beside the caller's request; if the node dies
//! on the way, a worker (`jobs`) finds the row and goes on where it is safe to.

mod accept;
pub(crate) mod cancel;
mod clips;
pub(crate) mod content;
mod content_disposition;
mod download;
mod encryption;
mod form;
mod inline_media;
mod inspect;
mod jobs;
mod measure;
mod poll;
mod prices;
mod quote;
mod request;
mod submit;
mod transitions;
pub(crate) mod views;

pub use cancel::{cancel_task, is_cancellable};
pub(crate) use content::LinkSigner;
pub use inspect::{FileLink, TaskDetail, inspect_task};
pub use jobs::{claim_video_jobs, next_video_job};
pub(crate) use quote::quote_video;
pub(crate) use request::{PricedVideo, Video, VideoBody};
pub(crate) use views::Shape;

/// The endpoint's name in policies, quotes and usage rows.
pub(crate) const WORD: &str = "videos";
/// Whether quotes name this endpoint.
pub(crate) fn is_video(name: &str) -> bool {
    let name = name.trim_start_matches('/').trim_start_matches("v1/");
    name == WORD || name == "video/generations"
}

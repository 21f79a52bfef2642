//! Video tasks: a request becomes a row with its money held, then a job at an upstream, then a verdict.
//!
//! The order: `wanted` (read, measured, priced) → `accepting` (task and hold in one transaction) →
//! `submitting` (the one call that may start a job) → `polling` → `verdicts` (state and money in one
//! transaction). The first three run in a task of their own beside the caller's request; whoever dies on
//! the way is followed by a worker (`jobs`), which finds the row and goes on where it is safe to.

mod accept;
pub(crate) mod cancel;
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
mod poll_rate;
mod prices;
mod quote;
mod request;
mod settings;
mod submit;
mod transitions;
pub(crate) mod views;

use uuid::Uuid;

pub use cancel::{cancel_task, is_cancellable};
pub(crate) use content::LinkSigner;
pub use inspect::{FileLink, TaskDetail, inspect_task};
pub(crate) use jobs::JobSlots;
pub use jobs::{VideoJob, claim_video_jobs, next_video_job, purge_prompts, sweep_media};
pub(crate) use poll_rate::PollBudget;
pub(crate) use quote::quote_video;
pub use settings::VideoSettings;
pub(crate) use views::Shape;

/// The door's word in policies, quotes and usage rows.
pub(crate) const WORD: &str = "videos";
/// Whether quotes name this door.
pub(crate) fn is_video(name: &str) -> bool {
    let name = name.trim_start_matches('/').trim_start_matches("v1/");
    name == WORD || name == "video/generations"
}

/// How the names of tasks begin.
const PREFIX: &str = "task_";

/// A task's name as customers see it.
pub(crate) fn task_name(id: Uuid) -> String {
    format!("{PREFIX}{}", id.simple())
}

/// The task of a name; none if it is no name of a task.
pub(crate) fn task_of(name: &str) -> Option<Uuid> {
    let hex = name.strip_prefix(PREFIX)?;
    let legal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let id = (hex.len() == 32 && hex.bytes().all(legal)).then(|| Uuid::try_parse(hex).ok())?;
    id.filter(|id| task_name(*id) == name)
}

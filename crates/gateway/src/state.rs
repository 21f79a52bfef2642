//! What requests and jobs of one node share, beside the engines: each file is one part of `Services`.

mod cancelled_input;
mod job_slots;
mod platform_concurrency;
mod platform_files;
mod poll_budget;
mod social_catalog;

pub(crate) use cancelled_input::CancelledInput;
pub(crate) use job_slots::JobSlots;
pub use job_slots::VideoJob;
pub(crate) use platform_concurrency::PlatformConcurrency;
pub(crate) use platform_files::follow_files;
pub use platform_files::{FolderError, cells_with_folder};
pub(crate) use poll_budget::PollBudget;
pub(crate) use social_catalog::{SOCIAL, SocialCatalog, follow_pauses, model_name};

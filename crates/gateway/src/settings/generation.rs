//! Limits and waits of images, speech and transcripts.

use std::path::PathBuf;
use std::time::Duration;

/// How images, speech and transcripts behave.
#[derive(Debug, Clone)]
pub struct GenerationSettings {
    pub max_upload_bytes: u64,
    /// Uploads that may lie on the disk at one time, over all calls.
    pub max_uploads_on_disk: u64,
    /// Where they lie; they have no name there, so nothing is left when the process dies.
    pub upload_folder: PathBuf,
    /// Longest silence of an upload.
    pub upload_idle: Duration,
    pub upload_wait: Duration,
    /// Largest picture of a vendor.
    pub max_picture_bytes: u64,
    /// Between two questions about a vendor's task.
    pub poll_pause: Duration,
    /// How long a link to a picture lives.
    pub link_life: Duration,
}

impl Default for GenerationSettings {
    fn default() -> Self {
        Self {
            max_upload_bytes: 2_000_000_000,
            max_uploads_on_disk: 20_000_000_000,
            upload_folder: std::env::temp_dir(),
            upload_idle: Duration::from_secs(60),
            upload_wait: Duration::from_secs(3_600),
            max_picture_bytes: 64_000_000,
            poll_pause: Duration::from_secs(1),
            link_life: Duration::from_secs(86_400),
        }
    }
}

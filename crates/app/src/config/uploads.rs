//! Where uploads lie while they are used: from texts to values.

use std::path::PathBuf;

use trunkline_gateway::GenerationSettings;

use super::check::{Check, in_range};
use super::raw::RawUploads;

/// Largest upload that can be set: a hundred gigabytes.
const MAX_UPLOAD_BYTES: i64 = 100_000_000_000;
/// Most bytes of all uploads that can be set.
const MAX_ON_DISK_BYTES: i64 = 100_000_000_000_000;

impl Check<'_> {
    pub(super) fn uploads(&mut self, raw: RawUploads) -> Option<GenerationSettings> {
        let each = in_range(raw.max_bytes, 1, MAX_UPLOAD_BYTES);
        let each = self.take("uploads.max_bytes", each);
        let all = in_range(raw.max_on_disk_bytes, 1, MAX_ON_DISK_BYTES);
        let all = self.take("uploads.max_on_disk_bytes", all);
        let usual = GenerationSettings::default();
        let folder = match raw.folder.as_str() {
            "" => usual.upload_folder.clone(),
            folder => PathBuf::from(folder),
        };
        if !folder.is_dir() {
            let problem = format!("{} is no folder", folder.display());
            self.say("uploads.folder", problem);
            return None;
        }
        Some(GenerationSettings {
            max_upload_bytes: each?,
            max_uploads_on_disk: all?,
            upload_folder: folder,
            ..usual
        })
    }
}

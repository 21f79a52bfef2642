//! What a house reaches and where its files lie.

use std::path::Path;

use trunkline_media::{Media, MediaSettings, Place};
use trunkline_upstream::guarded::{Guarded, GuardedSettings};

/// Fetches from this machine too: simulators stand where the internet would be.
pub(crate) fn fetcher() -> Guarded {
    let settings = GuardedSettings {
        allowed: vec!["127.0.0.0/8".parse().unwrap()],
        has_high_ports: true,
        ..GuardedSettings::default()
    };
    Guarded::new(settings).unwrap()
}

/// Media in a directory.
pub(crate) async fn media(folder: &Path) -> Media {
    let settings = MediaSettings {
        place: Place::Directory(folder.to_owned()),
        budget_bytes: None,
    };
    Media::open(&settings).await.unwrap()
}

//! Retention by whole days, and what puts that were cut off left behind.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use object_store::ObjectMeta;
use object_store::path::Path;
use trunkline_types::Timestamp;

use crate::backend::{Backend, location_of};
use crate::metadata::METADATA_ENDING;
use crate::orphans::remove_staged;
use crate::path::Day;
use crate::upload::{MAX_UPLOAD_ID_BYTES, UNFINISHED, abort_noted, note_of};
use crate::{Media, MediaError, ObjectPath};

/// Most names that one call of [`Media::sweep`] deletes.
pub const MAX_SWEPT: usize = 10_000;

/// Names that are deleted between two reads of the listing.
const BATCH: usize = 1_000;
/// An unfinished put is given up this long after the end of the day it began on. No put takes a day.
const UNFINISHED_KEPT: Duration = Duration::from_secs(86_400);

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    pub objects: u64,
    /// Bytes deleted, those of metadata included.
    pub bytes: u64,
    /// Incomplete puts that were removed.
    pub unfinished: u64,
    /// Whether there is more to do: call again.
    pub more: bool,
}

// === impl Media ===

impl Media {
    /// Deletes the objects of days that ended at least `keep` ago, and the remains of incomplete puts, at most
    /// [`MAX_SWEPT`] names. So an object is kept for `keep` at least, and for a day more at most.
    pub async fn sweep(&self, now: Timestamp, keep: Duration) -> Result<Swept, MediaError> {
        self.sweep_at_most(now, keep, MAX_SWEPT).await
    }

    /// The same with another bound.
    pub async fn sweep_at_most(
        &self,
        now: Timestamp,
        keep: Duration,
        most: usize,
    ) -> Result<Swept, MediaError> {
        let mut swept = Swept::default();
        let mut left = most;
        for day in self.days().await? {
            if is_over(day, keep, now) {
                left = self.sweep_day(day, left, &mut swept).await?;
            }
        }
        // After the objects, so that the folders of a day that is over are empty by now.
        let unfinished = match self.backend() {
            Backend::Directory { .. } => self.sweep_staged(now, left).await?,
            Backend::S3 { .. } => self.sweep_notes(now, left).await?,
        };
        swept.unfinished = u64::try_from(unfinished).unwrap_or(u64::MAX);
        swept.more = left.saturating_sub(unfinished) == 0;
        Ok(swept)
    }

    async fn days(&self) -> Result<Vec<Day>, MediaError> {
        let top = self.backend().store().list_with_delimiter(None);
        let top = self.backend().within(top).await?;
        let names = top.common_prefixes.iter();
        Ok(names.filter_map(|name| Day::parse(name.as_ref())).collect())
    }

    /// Deletes our objects of a day, at most `left` names; returns how many may still be deleted.
    async fn sweep_day(
        &self,
        day: Day,
        mut left: usize,
        swept: &mut Swept,
    ) -> Result<usize, MediaError> {
        let backend = self.backend();
        let mut listing = backend.list(Some(&Path::from(day.to_string())));
        loop {
            let mut batch = Vec::new();
            while batch.len() < left.min(BATCH) {
                match backend.next_of(&mut listing).await? {
                    None => break,
                    // Foreign names are skipped, even in a bucket that should be ours.
                    Some(found) if is_ours(&found.location) => batch.push(found),
                    Some(_) => {}
                }
            }
            if batch.is_empty() {
                return Ok(left);
            }
            left = left.saturating_sub(batch.len());
            self.delete_all(batch, swept).await?;
        }
    }

    async fn delete_all(
        &self,
        batch: Vec<ObjectMeta>,
        swept: &mut Swept,
    ) -> Result<(), MediaError> {
        let _deleting = self.deleting().lock().await;
        let backend = self.backend();
        let mut sizes: HashMap<Path, u64> = HashMap::new();
        for found in batch {
            // A concurrent delete may have released its bytes.
            let is_there =
                !self.budget().is_counted() || backend.find(&found.location).await?.is_some();
            if is_there {
                sizes.insert(found.location, found.size);
            }
        }
        let names: Vec<_> = sizes.keys().cloned().map(Ok).collect();
        let mut deleted = backend.store().delete_stream(stream::iter(names).boxed());
        loop {
            match backend
                .within(async { deleted.next().await.transpose() })
                .await
            {
                Ok(None) => return Ok(()),
                Ok(Some(name)) => {
                    let bytes = sizes.get(&name).copied().unwrap_or(0);
                    let is_object = !name.as_ref().ends_with(METADATA_ENDING);
                    swept.bytes = swept.bytes.saturating_add(bytes);
                    swept.objects = swept.objects.saturating_add(u64::from(is_object));
                    self.budget().give_back(bytes);
                }
                Err(MediaError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Directory: removes files that were being written when the process ended.
    async fn sweep_staged(&self, now: Timestamp, most: usize) -> Result<usize, MediaError> {
        let Backend::Directory { root, .. } = self.backend() else {
            return Ok(0);
        };
        let root = root.clone();
        let is_old = move |day: Day| is_over(day, UNFINISHED_KEPT, now);
        let walk = tokio::task::spawn_blocking(move || remove_staged(&root, &is_old, most));
        let store_failed = |message: String| MediaError::Store { message };
        let removed = walk
            .await
            .map_err(|error| store_failed(error.to_string()))?
            .map_err(|error| store_failed(error.to_string()))?;
        for path in &removed {
            self.delete_orphan_metadata(path).await?;
        }
        Ok(removed.len())
    }

    /// S3: aborts uploads with an old marker.
    async fn sweep_notes(&self, now: Timestamp, most: usize) -> Result<usize, MediaError> {
        let backend = self.backend();
        let mut listing = backend.list(Some(&Path::from(UNFINISHED)));
        let mut taken_away = 0_usize;
        while taken_away < most {
            let Some(note) = backend.next_of(&mut listing).await? else {
                break;
            };
            let name = note.location.as_ref();
            let name = name.strip_prefix(UNFINISHED).unwrap_or(name);
            let Ok(path) = ObjectPath::parse(name.trim_start_matches('/')) else {
                continue;
            };
            if is_over(path.day(), UNFINISHED_KEPT, now) {
                self.give_up(&path).await?;
                taken_away = taken_away.saturating_add(1);
            }
        }
        Ok(taken_away)
    }

    /// Aborts the upload of a marker.
    async fn give_up(&self, path: &ObjectPath) -> Result<(), MediaError> {
        let Backend::S3 { bucket, .. } = self.backend() else {
            return Ok(());
        };
        let backend = self.backend();
        if backend.find(&location_of(path)).await?.is_some() {
            // It was completed; only its marker remained.
            return backend.delete(&note_of(path)).await;
        }
        let id = match backend
            .read_small(&note_of(path), MAX_UPLOAD_ID_BYTES)
            .await
        {
            Ok(id) => String::from_utf8(id.into()),
            // An invalid marker would stop every later sweep.
            Err(MediaError::Damaged) => return backend.delete(&note_of(path)).await,
            Err(error) => return Err(error),
        };
        let Ok(id) = id else {
            return backend.delete(&note_of(path)).await;
        };
        abort_noted(backend, bucket, path, &id).await?;
        self.delete_orphan_metadata(path).await
    }

    /// Metadata is written before its object: that of an incomplete put is an orphan.
    async fn delete_orphan_metadata(&self, path: &ObjectPath) -> Result<(), MediaError> {
        if self.backend().find(&location_of(path)).await?.is_some() {
            return Ok(());
        }
        self.delete(path).await.map(drop)
    }
}

/// Whether a day ended at least `ago` before now.
fn is_over(day: Day, ago: Duration, now: Timestamp) -> bool {
    let seconds = i64::try_from(ago.as_secs()).unwrap_or(i64::MAX);
    now >= day.end().plus_seconds(seconds)
}

fn is_ours(name: &Path) -> bool {
    let name = name.as_ref();
    ObjectPath::parse(name.strip_suffix(METADATA_ENDING).unwrap_or(name)).is_ok()
}

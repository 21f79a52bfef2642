//! The one handle: open, read, look, delete. Writing is in `put.rs`, retention in `sweep.rs`.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use object_store::GetOptions;
use tokio::sync::Mutex;

use crate::backend::{Backend, location_of, sidecar_of};
use crate::budget::Budget;
use crate::metadata::Stored;
use crate::seal::Opening;
use crate::{MediaError, MediaSettings, Metadata, ObjectPath, ObjectSeal};

/// The content of a put, streamed.
pub type Source<'a> = BoxStream<'a, io::Result<Bytes>>;

/// The media store. Clones share everything.
#[derive(Debug, Clone)]
pub struct Media {
    backend: Arc<Backend>,
    budget: Budget,
    /// What new objects are sealed with; none to store them as they are.
    seal: Option<Arc<dyn ObjectSeal>>,
    /// Held while an object is deleted and its bytes are released: concurrent deletes of one object would release
    /// them twice.
    deleting: Arc<Mutex<()>>,
}

/// An object that is being read.
pub struct Fetched {
    /// Length, hash and content type of the whole object, whatever part is read.
    pub metadata: Metadata,
    /// The bytes that come, the end not included.
    pub range: Range<u64>,
    /// The bytes. After an error nothing more comes.
    pub stream: BoxStream<'static, Result<Bytes, MediaError>>,
}

// === impl Media ===

impl Media {
    /// Opens the store. A missing directory is created; with a budget, the stored bytes are counted. S3 without a
    /// budget is not contacted yet.
    pub async fn open(settings: &MediaSettings) -> Result<Self, MediaError> {
        let backend = Backend::open(&settings.place).await?;
        let used = match settings.budget_bytes {
            None => 0,
            Some(_) => count(&backend).await?,
        };
        Ok(Self {
            backend: Arc::new(backend),
            budget: Budget::new(settings.budget_bytes, used),
            seal: None,
            deleting: Arc::default(),
        })
    }

    /// The same store, sealing what it writes. Objects that were written before are read as they are.
    #[must_use]
    pub fn sealed(self, seal: Arc<dyn ObjectSeal>) -> Self {
        Self {
            seal: Some(seal),
            ..self
        }
    }

    /// Length, hash and content type of an object.
    pub async fn head(&self, path: &ObjectPath) -> Result<Metadata, MediaError> {
        let (stored, _) = self.look(path).await?;
        Ok(stored.metadata)
    }

    /// How an object is stored, and in how many bytes.
    async fn look(&self, path: &ObjectPath) -> Result<(Stored, u64), MediaError> {
        let options = GetOptions::new().with_head(true);
        let found = self.backend.get(&location_of(path), options).await?;
        let (bytes, attributes) = (found.meta.size, &found.attributes);
        let stored = self.backend.metadata(path, bytes, attributes).await?;
        Ok((stored, bytes))
    }

    /// An object, or a range of it as [`crate::read_range`] gives it.
    pub async fn get(
        &self,
        path: &ObjectPath,
        range: Option<Range<u64>>,
    ) -> Result<Fetched, MediaError> {
        if range.as_ref().is_some_and(Range::is_empty) {
            return Err(MediaError::RangeOutside);
        }
        // A store that seals nothing has nothing sealed, and needs no look before.
        if let Some(seal) = &self.seal {
            let (stored, bytes) = self.look(path).await?;
            if let Some(salt) = stored.salt {
                let metadata = stored.metadata;
                let range = range.unwrap_or(0..metadata.bytes);
                let opening = Opening::new(seal, path.to_string(), salt, range, metadata.bytes);
                return self.get_sealed(path, metadata, opening, bytes).await;
            }
        }
        let options = GetOptions::new().with_range(range.clone());
        let found = match self.backend.get(&location_of(path), options).await {
            Ok(found) => found,
            Err(error) => return Err(self.told_better(path, range, error).await),
        };
        // Stores truncate a range that exceeds the object.
        if range.is_some_and(|range| range != found.range) {
            return Err(MediaError::RangeOutside);
        }
        let (bytes, attributes) = (found.meta.size, &found.attributes);
        let stored = self.backend.metadata(path, bytes, attributes).await?;
        if stored.salt.is_some() {
            return Err(MediaError::Unsealable);
        }
        Ok(Fetched {
            metadata: stored.metadata,
            range: found.range.clone(),
            stream: paced(Arc::clone(&self.backend), found.into_stream()),
        })
    }

    /// A part of a sealed object.
    async fn get_sealed(
        &self,
        path: &ObjectPath,
        metadata: Metadata,
        opening: Opening,
        stored: u64,
    ) -> Result<Fetched, MediaError> {
        let range = opening.range();
        if range.end > metadata.bytes {
            return Err(MediaError::RangeOutside);
        }
        let options = GetOptions::new().with_range(Some(opening.stored(stored)));
        let found = self.backend.get(&location_of(path), options).await?;
        let body = paced(Arc::clone(&self.backend), found.into_stream());
        Ok(Fetched {
            metadata,
            range,
            stream: opening.read(body),
        })
    }

    /// Deletes an object and its metadata; whether it was there.
    pub async fn delete(&self, path: &ObjectPath) -> Result<bool, MediaError> {
        let _deleting = self.deleting.lock().await;
        let mut was_there = false;
        // The object first: metadata without an object are swept, an object without metadata is damage.
        for at in [location_of(path), sidecar_of(path)] {
            if let Some(found) = self.backend.find(&at).await? {
                self.backend.delete(&at).await?;
                self.budget.give_back(found.size);
                was_there |= at == location_of(path);
            }
        }
        Ok(was_there)
    }

    /// Bytes in the store, including running puts. None without a budget.
    #[must_use]
    pub fn used_bytes(&self) -> Option<u64> {
        self.budget.used()
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) const fn seal(&self) -> Option<&Arc<dyn ObjectSeal>> {
        self.seal.as_ref()
    }

    pub(crate) const fn budget(&self) -> &Budget {
        &self.budget
    }

    pub(crate) fn deleting(&self) -> &Mutex<()> {
        &self.deleting
    }

    /// S3 has no distinct error for a range that starts after the end.
    async fn told_better(
        &self,
        path: &ObjectPath,
        range: Option<Range<u64>>,
        error: MediaError,
    ) -> MediaError {
        let (Some(range), MediaError::Store { .. }) = (range, &error) else {
            return error;
        };
        match self.backend.find(&location_of(path)).await {
            Ok(Some(found)) if range.end > found.size => MediaError::RangeOutside,
            Ok(_) | Err(_) => error,
        }
    }
}

/// A body that may pause no longer than the time limit.
fn paced(
    backend: Arc<Backend>,
    body: BoxStream<'static, object_store::Result<Bytes>>,
) -> BoxStream<'static, Result<Bytes, MediaError>> {
    stream::unfold(Some((backend, body)), |rest| async {
        let (backend, mut body) = rest?;
        let next = backend
            .within(async { body.next().await.transpose() })
            .await
            .transpose()?;
        let rest = next.is_ok().then_some((backend, body));
        Some((next, rest))
    })
    .fuse()
    .boxed()
}

/// All bytes that lie in the store.
async fn count(backend: &Backend) -> Result<u64, MediaError> {
    let mut listing = backend.list(None);
    let mut bytes = 0_u64;
    while let Some(found) = backend.next_of(&mut listing).await? {
        bytes = bytes.saturating_add(found.size);
    }
    Ok(bytes)
}

//! Puts of objects: streamed, hashed, limited by size and budget, and all or nothing.
//!
//! At most one part is in memory, and the source waits while it is written: sources are upstreams and customers,
//! both slower than the store. An object that fits one part is put in one request.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use object_store::Attributes;
use sha2::{Digest as _, Sha256};

use crate::backend::{Backend, location_of, sidecar_of};
use crate::budget::Taken;
use crate::metadata::Stored;
use crate::seal::Sealing;
use crate::upload::Upload;
use crate::{ContentType, Media, MediaError, Metadata, ObjectPath, PutError, Source};

/// Bytes of a part. S3 wants 5 MiB at least, some servers want all parts but the last equal.
pub const PART_BYTES: usize = 8 * 1_024 * 1_024;

/// The 10,000 parts of an S3 upload, less what sealing adds; callers' limits are capped to it.
const MAX_OBJECT_BYTES: u64 = 9_990 * 8 * 1_024 * 1_024;

/// A running put, and what it has written to the store so far.
struct Writing<'a> {
    backend: &'a Backend,
    path: &'a ObjectPath,
    content_type: &'a ContentType,
    sealing: Option<Sealing>,
    /// What is not written yet.
    part: BytesMut,
    upload: Option<Upload>,
    has_sidecar: bool,
    may_be_there: bool,
}

// === impl Media ===

impl Media {
    /// Stores a stream under a minted name, at most `limit_bytes` of it. If it fails, for whatever
    /// reason, nothing stays behind. If it is dropped, or the store is away when it fails, the sweep
    /// takes away what stayed.
    pub async fn put(
        &self,
        path: &ObjectPath,
        source: Source<'_>,
        content_type: &ContentType,
        limit_bytes: u64,
    ) -> Result<Metadata, PutError> {
        let mut writing = Writing {
            backend: self.backend(),
            path,
            content_type,
            sealing: match self.seal() {
                Some(seal) => Some(Sealing::begin(seal, path.to_string())?),
                None => None,
            },
            part: BytesMut::new(),
            upload: None,
            has_sidecar: false,
            may_be_there: false,
        };
        let mut taken = self.budget().begin();
        let limit_bytes = limit_bytes.min(MAX_OBJECT_BYTES);
        match writing.take_in(source, limit_bytes, &mut taken).await {
            Ok(metadata) => {
                taken.keep();
                Ok(metadata)
            }
            Err(error) => {
                writing.undo().await;
                Err(error)
            }
        }
    }

    /// Stores bytes that are in memory.
    pub async fn put_bytes(
        &self,
        path: &ObjectPath,
        bytes: Bytes,
        content_type: &ContentType,
    ) -> Result<Metadata, PutError> {
        let source = stream::iter([Ok(bytes)]).boxed();
        self.put(path, source, content_type, MAX_OBJECT_BYTES).await
    }
}

// === impl Writing ===

impl Writing<'_> {
    async fn take_in(
        &mut self,
        mut source: Source<'_>,
        limit_bytes: u64,
        taken: &mut Taken,
    ) -> Result<Metadata, PutError> {
        let mut hash = Sha256::new();
        let mut bytes = 0_u64;
        while let Some(chunk) = source.next().await {
            let chunk = chunk.map_err(PutError::SourceBroke)?;
            let more = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            bytes = bytes.saturating_add(more);
            if bytes > limit_bytes {
                return Err(PutError::TooLarge { limit_bytes });
            }
            hash.update(&chunk);
            let stored = match &mut self.sealing {
                Some(sealing) => sealing.add(&chunk)?,
                None => chunk,
            };
            self.write(stored, taken).await?;
        }
        if let Some(sealing) = &mut self.sealing {
            let last = sealing.finish()?;
            self.write(last, taken).await?;
        }
        let metadata = Metadata {
            bytes,
            sha256: hash.finalize().into(),
            content_type: self.content_type.clone(),
        };
        let stored = Stored {
            metadata,
            salt: self.sealing.as_ref().map(|sealing| sealing.salt),
        };
        let last = self.part.split().freeze();
        self.finish(&stored, last, taken).await?;
        Ok(stored.metadata)
    }

    /// Writes bytes as they are stored, by whole parts.
    async fn write(&mut self, mut bytes: Bytes, taken: &mut Taken) -> Result<(), PutError> {
        taken.more(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        while !bytes.is_empty() {
            let remaining = PART_BYTES.saturating_sub(self.part.len());
            let fitting = bytes.split_to(remaining.min(bytes.len()));
            self.part.extend_from_slice(&fitting);
            if self.part.len() >= PART_BYTES {
                let part = self.part.split().freeze();
                self.add_part(part).await?;
            }
        }
        Ok(())
    }

    async fn add_part(&mut self, part: Bytes) -> Result<(), MediaError> {
        let mut upload = match self.upload.take() {
            Some(upload) => upload,
            None => Upload::begin(self.backend, self.path, self.content_type).await?,
        };
        let added = upload.add_part(self.backend, self.path, part).await;
        self.upload = Some(upload);
        added
    }

    async fn finish(
        &mut self,
        stored: &Stored,
        last: Bytes,
        taken: &mut Taken,
    ) -> Result<(), PutError> {
        if self.upload.is_some() && !last.is_empty() {
            self.add_part(last.clone()).await?;
        }
        let in_parts = self.upload.is_some();
        let attributes = if self.backend.keeps_attributes() && !in_parts {
            stored.attributes()
        } else {
            // Before the object: a visible object has its metadata.
            self.put_sidecar(stored, taken).await?;
            Attributes::new()
        };
        self.may_be_there = true;
        match &mut self.upload {
            Some(upload) => upload.finish(self.backend, self.path).await?,
            None => {
                let at = location_of(self.path);
                self.backend.put(&at, last, attributes).await?;
            }
        }
        Ok(())
    }

    async fn put_sidecar(&mut self, stored: &Stored, taken: &mut Taken) -> Result<(), PutError> {
        let sidecar = stored.to_sidecar()?;
        taken.more(u64::try_from(sidecar.len()).unwrap_or(u64::MAX))?;
        self.has_sidecar = true;
        let at = sidecar_of(self.path);
        self.backend
            .put(&at, sidecar.into(), Attributes::new())
            .await?;
        Ok(())
    }

    /// Removes what was written so far, within one more time limit. Errors are not reported: the caller gets the first
    /// error, and retention cleans up later.
    async fn undo(mut self) {
        let limit = self.backend.time_limit();
        let work = self.take_away();
        match limit {
            None => work.await,
            Some(limit) => drop(tokio::time::timeout(limit, work).await),
        }
    }

    async fn take_away(&mut self) {
        if let Some(upload) = &mut self.upload {
            drop(upload.abort(self.backend, self.path).await);
        }
        if self.may_be_there {
            drop(self.backend.delete(&location_of(self.path)).await);
        }
        if self.has_sidecar {
            drop(self.backend.delete(&sidecar_of(self.path)).await);
        }
    }
}

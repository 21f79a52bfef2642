//! An upload in parts: begun, filled, then finished or aborted.
//!
//! On S3, parts of an upload that nobody finished are invisible, cost money, and `object_store` cannot
//! list them. So each upload leaves a note, `unfinished/<name>`, that holds its id until it is done;
//! the sweep aborts what old notes name. A crash between the first request and the note leaves an
//! upload without parts, which holds nothing.

use bytes::Bytes;
use object_store::aws::AmazonS3;
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::path::Path;
use object_store::{
    Attributes, MultipartId, MultipartUpload, ObjectStore as _, PutMultipartOptions, PutPayload,
};

use crate::backend::{Backend, location_of};
use crate::metadata::content_type_alone;
use crate::{ContentType, MediaError, ObjectPath};

/// Where the notes on uploads lie.
pub(crate) const UNFINISHED: &str = "unfinished";
/// Longest id of an upload; those of Amazon have about 130 characters.
pub(crate) const MAX_UPLOAD_ID_BYTES: u64 = 2_048;

/// An upload under way.
pub(crate) enum Upload {
    Directory(Box<dyn MultipartUpload>),
    S3 {
        bucket: AmazonS3,
        id: MultipartId,
        parts: Vec<PartId>,
    },
}

// === impl Upload ===

impl Upload {
    pub(crate) async fn begin(
        backend: &Backend,
        path: &ObjectPath,
        content_type: &ContentType,
    ) -> Result<Self, MediaError> {
        let at = location_of(path);
        match backend {
            Backend::Directory { files, .. } => {
                let upload = files.put_multipart_opts(&at, PutMultipartOptions::default());
                Ok(Self::Directory(backend.within(upload).await?))
            }
            Backend::S3 { bucket, .. } => {
                let options = PutMultipartOptions {
                    attributes: content_type_alone(content_type),
                    ..PutMultipartOptions::default()
                };
                let upload = bucket.create_multipart_opts(&at, options);
                let id = backend.within(upload).await?;
                let note = Bytes::from(id.clone());
                let noted = backend.put(&note_of(path), note, Attributes::new()).await;
                if let Err(error) = noted {
                    // Nothing is in it yet: whether this abort succeeds changes nothing.
                    drop(backend.within(bucket.abort_multipart(&at, &id)).await);
                    return Err(error);
                }
                Ok(Self::S3 {
                    bucket: bucket.clone(),
                    id,
                    parts: Vec::new(),
                })
            }
        }
    }

    pub(crate) async fn add_part(
        &mut self,
        backend: &Backend,
        path: &ObjectPath,
        part: Bytes,
    ) -> Result<(), MediaError> {
        let payload = PutPayload::from_bytes(part);
        match self {
            Self::Directory(upload) => backend.within(upload.put_part(payload)).await,
            Self::S3 { bucket, id, parts } => {
                let at = location_of(path);
                let part = bucket.put_part(&at, id, parts.len(), payload);
                let part = backend.within(part).await?;
                parts.push(part);
                Ok(())
            }
        }
    }

    /// The object appears under its name, whole.
    pub(crate) async fn finish(
        &mut self,
        backend: &Backend,
        path: &ObjectPath,
    ) -> Result<(), MediaError> {
        match self {
            Self::Directory(upload) => backend.within(upload.complete()).await.map(drop),
            Self::S3 { bucket, id, parts } => {
                let at = location_of(path);
                let parts = std::mem::take(parts);
                let finished = bucket.complete_multipart(&at, id, parts);
                backend.within(finished).await?;
                // The object is there. A note that stays is taken away by the sweep.
                drop(backend.delete(&note_of(path)).await);
                Ok(())
            }
        }
    }

    pub(crate) async fn abort(
        &mut self,
        backend: &Backend,
        path: &ObjectPath,
    ) -> Result<(), MediaError> {
        match self {
            Self::Directory(upload) => backend.within(upload.abort()).await,
            Self::S3 { bucket, id, .. } => abort_noted(backend, bucket, path, id).await,
        }
    }
}

/// Aborts an upload to S3, then takes its note away. The note stays if the abort fails.
pub(crate) async fn abort_noted(
    backend: &Backend,
    bucket: &AmazonS3,
    path: &ObjectPath,
    id: &MultipartId,
) -> Result<(), MediaError> {
    let at = location_of(path);
    match backend.within(bucket.abort_multipart(&at, id)).await {
        Ok(()) | Err(MediaError::NotFound) => backend.delete(&note_of(path)).await,
        Err(error) => Err(error),
    }
}

/// Where the note on an upload lies.
pub(crate) fn note_of(path: &ObjectPath) -> Path {
    Path::from(format!("{UNFINISHED}/{path}"))
}

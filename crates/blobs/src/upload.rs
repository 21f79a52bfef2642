//! Multipart uploads: started, filled, then completed or aborted.
//!
//! On S3, the parts of an incomplete upload are invisible, cost money, and `object_store` cannot list them. So each
//! upload has a marker object, `unfinished/<name>`, with its id until it is done; retention aborts the uploads of
//! old markers. A crash between the first request and the marker leaves an upload without parts, which stores
//! nothing.

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

/// The prefix of upload markers.
pub(crate) const UNFINISHED: &str = "unfinished";
/// Longest id of an upload; those of Amazon have about 130 characters.
pub(crate) const MAX_UPLOAD_ID_BYTES: u64 = 2_048;

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
                    // The upload has no parts yet, so a failed abort is harmless.
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

    /// Makes the complete object visible under its name.
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
                // The object is complete. Retention removes a remaining marker.
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

/// Aborts an upload to S3, then deletes its marker. The marker stays if the abort fails.
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

/// The location of an upload's marker.
pub(crate) fn note_of(path: &ObjectPath) -> Path {
    Path::from(format!("{UNFINISHED}/{path}"))
}

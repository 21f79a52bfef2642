//! The store below: `object_store` over a directory or S3, each request with its time limit.

use std::future::Future;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::Uri;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Attributes, BackoffConfig, GetOptions, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutOptions, PutPayload, RetryConfig,
};

use crate::error::cut;
use crate::http_client::HttpConnector;
use crate::metadata::{MAX_METADATA_BYTES, METADATA_ENDING, Stored};
use crate::{MediaError, ObjectPath, Place, S3Settings};

/// Retries: enough for a server that restarts; a longer outage is reported.
const MAX_RETRIES: usize = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A directory or S3.
#[derive(Debug)]
pub(crate) enum Backend {
    Directory {
        files: LocalFileSystem,
        root: PathBuf,
    },
    S3 {
        bucket: AmazonS3,
        time_limit: Duration,
    },
}

// === impl Backend ===

impl Backend {
    pub(crate) async fn open(place: &Place) -> Result<Self, MediaError> {
        match place {
            Place::Directory(root) => Self::directory(root).await,
            Place::S3(settings) => Ok(Self::S3 {
                bucket: bucket(settings)?,
                time_limit: settings.time_limit,
            }),
        }
    }

    async fn directory(root: &FilePath) -> Result<Self, MediaError> {
        let unusable = |message: String| MediaError::Settings {
            message: cut(&message),
        };
        tokio::fs::create_dir_all(root)
            .await
            .map_err(|error| unusable(format!("{}: {error}", root.display())))?;
        let files = LocalFileSystem::new_with_prefix(root)
            .map_err(|error| unusable(error.to_string()))?
            // A finished video has been paid for: it is synced to disk before success is reported.
            .with_fsync(true);
        let root = root.to_owned();
        Ok(Self::Directory { files, root })
    }

    pub(crate) fn store(&self) -> &dyn ObjectStore {
        match self {
            Self::Directory { files, .. } => files,
            Self::S3 { bucket, .. } => bucket,
        }
    }

    /// Whether an object can have its metadata as attributes.
    pub(crate) const fn keeps_attributes(&self) -> bool {
        match self {
            Self::Directory { .. } => false,
            Self::S3 { .. } => true,
        }
    }

    pub(crate) const fn time_limit(&self) -> Option<Duration> {
        match self {
            // Syncing gigabytes to a slow disk takes what it takes.
            Self::Directory { .. } => None,
            Self::S3 { time_limit, .. } => Some(*time_limit),
        }
    }

    /// One request, all its retries included, within the time limit.
    pub(crate) async fn within<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, MediaError> {
        let Some(time_limit) = self.time_limit() else {
            return Ok(request.await?);
        };
        match tokio::time::timeout(time_limit, request).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(MediaError::TooSlow { time_limit }),
        }
    }

    pub(crate) async fn put(
        &self,
        at: &Path,
        bytes: Bytes,
        attributes: Attributes,
    ) -> Result<(), MediaError> {
        let options = PutOptions {
            attributes,
            ..PutOptions::default()
        };
        let payload = PutPayload::from_bytes(bytes);
        self.within(self.store().put_opts(at, payload, options))
            .await?;
        Ok(())
    }

    pub(crate) async fn get(
        &self,
        at: &Path,
        options: GetOptions,
    ) -> Result<GetResult, MediaError> {
        self.within(self.store().get_opts(at, options)).await
    }

    /// The object's listing entry, or none.
    pub(crate) async fn find(&self, at: &Path) -> Result<Option<ObjectMeta>, MediaError> {
        match self.get(at, GetOptions::new().with_head(true)).await {
            Ok(found) => Ok(Some(found.meta)),
            Err(MediaError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A small object, whole. More than `most_bytes` is damage.
    pub(crate) async fn read_small(&self, at: &Path, most_bytes: u64) -> Result<Bytes, MediaError> {
        let found = self.get(at, GetOptions::new()).await?;
        if found.meta.size > most_bytes {
            return Err(MediaError::Damaged);
        }
        self.within(found.bytes()).await
    }

    /// The metadata of an object: its attributes, or else its sidecar. Not taken from the whole `GetResult`: its body
    /// cannot be borrowed across threads.
    pub(crate) async fn metadata(
        &self,
        path: &ObjectPath,
        bytes: u64,
        attributes: &Attributes,
    ) -> Result<Stored, MediaError> {
        if let Some(stored) = Stored::from_attributes(bytes, attributes)? {
            return Ok(stored);
        }
        match self.read_small(&sidecar_of(path), MAX_METADATA_BYTES).await {
            Ok(sidecar) => Stored::from_sidecar(bytes, &sidecar),
            Err(MediaError::NotFound) => Err(MediaError::Damaged),
            Err(error) => Err(error),
        }
    }

    /// Deletes a name; a missing one is success.
    pub(crate) async fn delete(&self, at: &Path) -> Result<(), MediaError> {
        match self.within(self.store().delete(at)).await {
            Ok(()) | Err(MediaError::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// All names below a prefix.
    pub(crate) fn list(
        &self,
        prefix: Option<&Path>,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        // Readers in batches poll again after the end.
        self.store().list(prefix).fuse().boxed()
    }

    /// The next of a listing. None at its end.
    pub(crate) async fn next_of(
        &self,
        listing: &mut BoxStream<'static, object_store::Result<ObjectMeta>>,
    ) -> Result<Option<ObjectMeta>, MediaError> {
        self.within(async { listing.next().await.transpose() })
            .await
    }
}

pub(crate) fn location_of(path: &ObjectPath) -> Path {
    Path::from(path.to_string())
}

/// The location of an object's sidecar.
pub(crate) fn sidecar_of(path: &ObjectPath) -> Path {
    Path::from(format!("{path}{METADATA_ENDING}"))
}

fn bucket(settings: &S3Settings) -> Result<AmazonS3, MediaError> {
    let http = HttpConnector::new(settings.time_limit, &settings.extra_roots_pem)?;
    let mut builder = AmazonS3Builder::new()
        .with_http_connector(http)
        .with_bucket_name(&settings.bucket)
        .with_region(&settings.region)
        .with_access_key_id(settings.access_key.reveal())
        .with_secret_access_key(settings.secret_key.reveal())
        .with_virtual_hosted_style_request(!settings.path_style)
        // One request deletes one name: some servers have no other, and none charges for it.
        .with_disable_bulk_delete(true)
        .with_retry(RetryConfig {
            backoff: BackoffConfig {
                init_backoff: FIRST_PAUSE,
                max_backoff: LONGEST_PAUSE,
                base: 2.0,
            },
            max_retries: MAX_RETRIES,
            retry_timeout: settings.time_limit,
        });
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(address(endpoint, settings)?);
    }
    builder.build().map_err(|error| MediaError::Settings {
        message: cut(&error.to_string()),
    })
}

/// The endpoint as `object_store` wants it: with the bucket in the host name, unless it is in the path.
fn address(endpoint: &str, settings: &S3Settings) -> Result<String, MediaError> {
    let message = "the endpoint of S3 must be http://host or https://host, perhaps with a port";
    let unusable = || MediaError::Settings {
        message: message.to_owned(),
    };
    let uri: Uri = endpoint.parse().map_err(|_| unusable())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(unusable());
    };
    let is_plain = uri.path() == "/" && uri.query().is_none() && !authority.as_str().contains('@');
    if !matches!(scheme, "http" | "https") || !is_plain {
        return Err(unusable());
    }
    Ok(if settings.path_style {
        format!("{scheme}://{authority}")
    } else {
        format!("{scheme}://{}.{authority}", settings.bucket)
    })
}

#[cfg(test)]
mod tests {
    use trunkline_types::Secret;

    use super::*;

    fn settings(path_style: bool) -> S3Settings {
        S3Settings {
            endpoint: None,
            bucket: "videos".to_owned(),
            region: "us-east-1".to_owned(),
            path_style,
            access_key: Secret::new("id".to_owned()),
            secret_key: Secret::new("canary".to_owned()),
            time_limit: crate::DEFAULT_TIME_LIMIT,
            extra_roots_pem: Vec::new(),
        }
    }

    #[test]
    fn the_bucket_stands_in_the_host_name_or_in_the_path() {
        for (endpoint, path_style, expected) in [
            ("https://s3.example", true, "https://s3.example"),
            ("https://s3.example/", true, "https://s3.example"),
            ("http://127.0.0.1:9000", true, "http://127.0.0.1:9000"),
            ("https://s3.example", false, "https://videos.s3.example"),
            (
                "http://s3.example:9000/",
                false,
                "http://videos.s3.example:9000",
            ),
        ] {
            let address = address(endpoint, &settings(path_style)).unwrap();
            assert_eq!(address, expected);
        }
    }

    #[test]
    fn an_endpoint_that_is_none_is_refused() {
        for wrong in [
            "",
            "s3.example",
            "ftp://s3.example",
            "https://s3.example/videos",
            "https://s3.example?x=1",
            "https://user:word@s3.example",
            "https://",
        ] {
            let text = address(wrong, &settings(true)).unwrap_err().to_string();
            assert!(text.contains("must be http://host"), "{wrong}: {text}");
        }
    }

    #[test]
    fn settings_and_store_do_not_print_the_secret() {
        let settings = settings(true);
        let built = bucket(&settings).unwrap();
        let debug = format!("{settings:?} {built}");
        assert!(!debug.contains("canary"), "{debug}");
    }
}

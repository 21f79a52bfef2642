//! A store to test, of either kind, and what really lies below it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tempfile::TempDir;
use trunkline_blobs::{
    ContentType, Fetched, Media, MediaError, MediaSettings, Metadata, ObjectPath,
    PATH_RANDOM_BYTES, Place, PutError, S3Settings, Source,
};
use trunkline_types::{AccountId, Secret, Shard, Timestamp};

use crate::server::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};

/// Noon of 2023-11-14.
pub(crate) const NOON: Timestamp = Timestamp::from_micros(1_699_963_200_000_000);
pub(crate) const DAY_SECONDS: i64 = 86_400;
/// Long enough for a busy machine, where nothing is expected to fail.
pub(crate) const PATIENT: Duration = Duration::from_secs(60);

/// A store, what it was opened with, and where its files really are.
pub(crate) struct Harness {
    pub(crate) kind: &'static str,
    pub(crate) media: Media,
    pub(crate) settings: MediaSettings,
    pub(crate) root: TempDir,
    _server: Option<S3Server>,
}

impl Harness {
    pub(crate) async fn both() -> [Self; 2] {
        [Self::directory(None).await, Self::s3(None).await]
    }

    pub(crate) async fn both_with_budget(bytes: u64) -> [Self; 2] {
        [
            Self::directory(Some(bytes)).await,
            Self::s3(Some(bytes)).await,
        ]
    }

    pub(crate) async fn directory(budget_bytes: Option<u64>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let place = Place::Directory(root.path().join("media"));
        Self::open("directory", place, budget_bytes, root, None).await
    }

    pub(crate) async fn s3(budget_bytes: Option<u64>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = S3Server::start(root.path()).await;
        let place = Place::S3(s3_settings(&format!("http://{}", server.address)));
        Self::open("s3", place, budget_bytes, root, Some(server)).await
    }

    async fn open(
        kind: &'static str,
        place: Place,
        budget_bytes: Option<u64>,
        root: TempDir,
        server: Option<S3Server>,
    ) -> Self {
        let settings = MediaSettings {
            place,
            budget_bytes,
        };
        Self {
            kind,
            media: Media::open(&settings).await.unwrap(),
            settings,
            root,
            _server: server,
        }
    }

    /// The same store, opened once more.
    pub(crate) async fn reopened(&self) -> Media {
        Media::open(&self.settings).await.unwrap()
    }

    /// Every file below the store, staged and invisible ones too. Not the attributes and checksums that
    /// the S3 server keeps in files of its own, also of objects that are deleted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        collect(self.root.path(), self.root.path(), &mut files);
        files.retain(|file| !file.starts_with(".bucket-") || file.contains(".upload-"));
        files.sort();
        files
    }

    pub(crate) async fn put(&self, path: &ObjectPath, bytes: &[u8]) -> Result<Metadata, PutError> {
        let limit = u64::try_from(bytes.len()).unwrap();
        self.media.put(path, chunks(bytes), &mp4(), limit).await
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap();
            files.push(name.to_str().unwrap().to_owned());
        }
    }
}

pub(crate) fn s3_settings(endpoint: &str) -> S3Settings {
    S3Settings {
        endpoint: Some(endpoint.to_owned()),
        bucket: BUCKET.to_owned(),
        region: "us-east-1".to_owned(),
        path_style: true,
        access_key: Secret::new(ACCESS_KEY.to_owned()),
        secret_key: Secret::new(SECRET_KEY.to_owned()),
        time_limit: PATIENT,
        extra_roots_pem: Vec::new(),
    }
}

/// A name of a moment; another number is another name.
pub(crate) fn path_at(at: Timestamp, number: u8) -> ObjectPath {
    ObjectPath::mint(
        at,
        Shard::new(77).unwrap(),
        AccountId::new(1_000),
        [number; PATH_RANDOM_BYTES],
        &mp4(),
    )
}

pub(crate) fn path(number: u8) -> ObjectPath {
    path_at(NOON, number)
}

pub(crate) fn mp4() -> ContentType {
    ContentType::parse("video/mp4").unwrap()
}

/// Bytes that are different everywhere.
pub(crate) fn content(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Bytes as they come from a socket: in pieces that fit no boundary.
pub(crate) fn chunks(bytes: &[u8]) -> Source<'static> {
    let pieces: Vec<_> = bytes
        .chunks(99_991)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    stream::iter(pieces).boxed()
}

/// Bytes, and then a broken connection.
pub(crate) fn broken(bytes: &[u8]) -> Source<'static> {
    let error = std::io::Error::other("the upstream hung up");
    chunks(bytes).chain(stream::iter([Err(error)])).boxed()
}

/// Everything that comes.
pub(crate) async fn all_of(mut fetched: Fetched) -> Result<Vec<u8>, MediaError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = fetched.stream.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(bytes)
}

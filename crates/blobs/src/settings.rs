//! Settings as plain values. Where they come from (files, the environment) is the executable's.

use std::path::PathBuf;
use std::time::Duration;

use trunkline_types::Secret;

/// How long one request to S3 may take, retries included, if nothing else is set.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// How long media are kept if nothing else is set; the `keep` of [`crate::Media::sweep`].
pub const DEFAULT_KEPT: Duration = Duration::from_secs(7 * 86_400);

/// Where media lie and how much of it.
#[derive(Debug, Clone)]
pub struct MediaSettings {
    /// A directory or S3.
    pub place: Place,
    /// Most bytes in all. None is no limit, which is what S3 wants; on a disk that others need too,
    /// a directory without one fills it. Counted once at start by listing, then kept in memory, so a
    /// directory with a budget belongs to one process.
    pub budget_bytes: Option<u64>,
}

/// A directory or S3.
#[derive(Debug, Clone)]
pub enum Place {
    /// A directory of this machine. It is made if it is not there.
    Directory(PathBuf),
    /// S3 or what speaks like it.
    S3(S3Settings),
}

/// An S3 bucket and the key to it. The bucket stays private: everything goes through our own links.
#[derive(Debug, Clone)]
pub struct S3Settings {
    /// `http://…` or `https://…`, without the bucket. None is Amazon's own of the region.
    pub endpoint: Option<String>,
    /// The bucket, which must exist.
    pub bucket: String,
    /// The region that requests are signed for; servers that have none take `us-east-1`.
    pub region: String,
    /// The bucket in the path (`endpoint/bucket/…`) instead of the host name (`bucket.endpoint/…`).
    /// Most servers that are not Amazon want it.
    pub path_style: bool,
    /// The id of the access key.
    pub access_key: Secret,
    /// The secret of the access key.
    pub secret_key: Secret,
    /// How long one request may take, retries included, and how long a body may pause. A part of
    /// [`crate::PART_BYTES`] must fit into it on the slowest line.
    pub time_limit: Duration,
    /// Certificates in PEM that are trusted beside the public roots; empty for none.
    pub extra_roots_pem: Vec<u8>,
}

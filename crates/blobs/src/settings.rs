//! Settings as plain values. Where they come from (files, the environment) is the executable's.

use std::path::PathBuf;
use std::time::Duration;

use trunkline_types::Secret;

/// The default timeout of one request to S3, including retries.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// The default retention; the `keep` of [`crate::Media::sweep`].
pub const DEFAULT_KEPT: Duration = Duration::from_secs(7 * 86_400);

/// Where media lie and how much of it.
#[derive(Debug, Clone)]
pub struct MediaSettings {
    /// A directory or S3.
    pub place: Place,
    /// Most bytes in total. None is no limit, which suits S3; a directory without one may fill a shared disk. Counted
    /// once at start by listing, then in memory, so a directory with a budget must belong to one process.
    pub budget_bytes: Option<u64>,
}

/// A directory or S3.
#[derive(Debug, Clone)]
pub enum Place {
    /// A directory of this machine. It is made if it is not there.
    Directory(PathBuf),
    /// S3 or a compatible store.
    S3(S3Settings),
}

/// An S3 bucket and the key to it. The bucket stays private: everything goes through our own links.
#[derive(Debug, Clone)]
pub struct S3Settings {
    /// `http://…` or `https://…`, without the bucket. None is Amazon's own of the region.
    pub endpoint: Option<String>,
    /// The bucket, which must exist.
    pub bucket: String,
    /// The region that requests are signed for; servers without regions accept `us-east-1`.
    pub region: String,
    /// The bucket in the path (`endpoint/bucket/…`) instead of the host name (`bucket.endpoint/…`).
    /// Most servers that are not Amazon want it.
    pub path_style: bool,
    /// The id of the access key.
    pub access_key: Secret,
    /// The secret of the access key.
    pub secret_key: Secret,
    /// Timeout of one request, including retries, and idle timeout of a body. A part of [`crate::PART_BYTES`] must fit
    /// into it on the slowest network.
    pub time_limit: Duration,
    /// Certificates in PEM that are trusted beside the public roots; empty for none.
    pub extra_roots_pem: Vec<u8>,
}

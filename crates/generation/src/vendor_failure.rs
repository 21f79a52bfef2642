//! Answers of vendors that bring nothing, by what has to follow: the failover table looks at these and at
//! nothing else.

use crate::vendor_http::VendorError;

/// Why there is nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VendorFailure {
    /// The request is at fault: the caller is told in the vendor's words.
    Refused(VendorError),
    /// There is no room now: somebody else may have some.
    Limited {
        /// When to come back.
        retry_after: Option<u64>,
    },
    /// The credential is at fault, or its account has no money.
    Credential(VendorError),
    /// The vendor says that it cannot now, so nothing was made.
    Busy(VendorError),
    /// The vendor failed. Whether it made something, and billed it, nobody knows.
    Failed(VendorError),
}

/// What a status means by itself, for vendors whose codes say no more.
#[must_use]
pub fn by_status(status: u16, retry_after: Option<u64>, error: VendorError) -> VendorFailure {
    match status {
        401..=403 => VendorFailure::Credential(error),
        429 => VendorFailure::Limited { retry_after },
        400..=499 => VendorFailure::Refused(error),
        503 | 529 => VendorFailure::Busy(error),
        _ => VendorFailure::Failed(error),
    }
}

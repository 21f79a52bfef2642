//! Answers of vendors that bring nothing, by what has to follow: the failover table looks at these and at
//! nothing else.

use crate::vendor_http::Complaint;

/// Why there is nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The request is at fault: the caller is told in the vendor's words.
    Refused(Complaint),
    /// There is no room now: somebody else may have some.
    Limited {
        /// When to come back.
        retry_after: Option<u64>,
    },
    /// The credential is at fault, or its account has no money.
    Credential(Complaint),
    /// The vendor says that it cannot now, so nothing was made.
    Busy(Complaint),
    /// The vendor failed. Whether it made something, and billed it, nobody knows.
    Failed(Complaint),
}

/// What a status means by itself, for vendors whose codes say no more.
#[must_use]
pub fn by_status(status: u16, retry_after: Option<u64>, complaint: Complaint) -> Trouble {
    match status {
        401..=403 => Trouble::Credential(complaint),
        429 => Trouble::Limited { retry_after },
        400..=499 => Trouble::Refused(complaint),
        503 | 529 => Trouble::Busy(complaint),
        _ => Trouble::Failed(complaint),
    }
}

//! Vendor responses without a result, classified for failover.

use crate::vendor_http::VendorError;

/// Why a vendor returned no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VendorFailure {
    /// The request is at fault: the caller sees the vendor's error.
    Refused(VendorError),
    /// The vendor is at its limit: another channel may have capacity.
    Limited {
        /// Seconds until a retry.
        retry_after: Option<u64>,
    },
    /// The credential is at fault, or its account has no money.
    Credential(VendorError),
    /// The vendor is unavailable and generated nothing.
    Busy(VendorError),
    /// The vendor failed. It may have generated and billed a result.
    Failed(VendorError),
}

//! Fetch errors, worded for the customer who supplied the URL. None contains a resolved address, and a name that
//! does not exist has the same message as a private one: the customer must not learn what is in our networks.

/// Why there is no response, or no more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The text cannot be read as an address.
    #[error("this is not an address; it is written https://host/path")]
    NotAnAddress,
    /// Longer than [`super::MAX_URL_BYTES`].
    #[error("the address is longer than {} bytes", super::MAX_URL_BYTES)]
    AddressTooLong,
    #[error("only http and https addresses are fetched")]
    Scheme,
    #[error("the address must not carry a user name or a password")]
    Credentials,
    /// A port that is not served.
    #[error("this port is not fetched from; use 80 or 443")]
    Port,
    /// The host is unknown, or not public.
    #[error("the host of the address is unknown or not public")]
    NotPublic,
    /// No server listens there.
    #[error("the host of the address could not be reached")]
    Unreachable,
    /// No valid certificate.
    #[error("the host of the address could not be authenticated: its TLS certificate is not valid")]
    Untrusted,
    /// The first byte or the last one came too late.
    #[error("the host of the address did not send the file in time")]
    Slow,
    #[error("what the address leads to is larger than {most} bytes")]
    TooLarge {
        /// Most bytes that are read.
        most: u64,
    },
    /// The head of the response exceeds its limits.
    #[error("the headers of the answer are too large")]
    HeadersTooLarge,
    /// More than [`super::MAX_REDIRECTS`].
    #[error("the address was redirected more than {} times", super::MAX_REDIRECTS)]
    TooManyRedirects,
    #[error("the address was redirected from https to http")]
    Downgrade,
    /// Not HTTP, or a range that was not requested.
    #[error("the host of the address sent an answer that makes no sense")]
    BadAnswer,
    /// The connection ended before the body did.
    #[error("the host of the address broke off in the middle of its answer")]
    BrokenOff,
    /// A body to send that is larger than [`super::MAX_POST_BYTES`].
    #[error("a body to send has at most {} bytes", super::MAX_POST_BYTES)]
    PostTooLarge,
    /// Too many fetches at one time.
    #[error("too many files are being fetched at this moment; try again")]
    Busy,
}

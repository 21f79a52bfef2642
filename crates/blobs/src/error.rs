//! Errors of the store, distinguished by who has to act.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

/// Longest quoted message of the store, in characters.
const MAX_SAID_CHARACTERS: usize = 400;
/// How `object_store` reports denied access; tests against a real server check it.
const REFUSALS: [&str; 2] = ["status code: 401", "status code: 403"];

#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// No such object: never stored, deleted, or expired.
    #[error("there is no such object")]
    NotFound,
    /// A range that does not lie inside the object.
    #[error("the range does not lie inside the object")]
    RangeOutside,
    /// The store rejected our key, or the key lacks the permission.
    #[error("the media store refused our key, or the key may not do this: {message}")]
    Refused { message: String },
    /// The bucket of the settings does not exist.
    #[error("the bucket of the media store does not exist; create it, or mend the setting")]
    NoBucket,
    /// The store cannot be reached.
    #[error("the media store cannot be reached: {message}")]
    Away { message: String },
    #[error("the media store did not answer within {} ms", time_limit.as_millis())]
    TooSlow { time_limit: Duration },
    /// The metadata of an object is missing or does not match it, or its content does not open.
    #[error("the object's metadata is missing or does not fit it")]
    Damaged,
    /// It is sealed and the keys are not here, or the keys do not seal.
    #[error("the object cannot be sealed or opened: its keys are missing")]
    Unsealable,
    /// Settings that cannot be used.
    #[error("the media store cannot be opened: {message}")]
    Settings {
        /// What is wrong, and how to fix it.
        message: String,
    },
    /// Any other error of the store.
    #[error("the media store failed: {message}")]
    Store { message: String },
}

/// Why a put stored nothing.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// The source has more bytes than the limit.
    #[error("more than {limit_bytes} bytes came")]
    TooLarge { limit_bytes: u64 },
    /// The store would exceed its budget.
    #[error(
        "the media store is full: its budget is {budget_bytes} bytes; raise it or keep media for fewer days"
    )]
    OverBudget { budget_bytes: u64 },
    #[error("what was to be stored broke off: {0}")]
    SourceBroke(io::Error),
    #[error(transparent)]
    Store(#[from] MediaError),
}

// === impl MediaError ===

impl From<object_store::Error> for MediaError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error;

        let text = error.to_string();
        let message = cut(&text);
        // A missing bucket is 404 as well. Reported as a missing object it would hide the misconfiguration.
        if text.contains("NoSuchBucket") {
            return Self::NoBucket;
        }
        if matches!(error, Error::NotFound { .. }) {
            return Self::NotFound;
        }
        let is_refused = matches!(
            error,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. }
        );
        // A denied listing is a generic error, which has no structured cause.
        if is_refused || REFUSALS.iter().any(|refusal| text.contains(refusal)) {
            return Self::Refused { message };
        }
        if is_about_the_way(&error) {
            return Self::Away { message };
        }
        Self::Store { message }
    }
}

/// Whether the connection failed before or during the request.
fn is_about_the_way(error: &object_store::Error) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return matches!(
                http.kind(),
                HttpErrorKind::Connect
                    | HttpErrorKind::Request
                    | HttpErrorKind::Timeout
                    | HttpErrorKind::Interrupted
            );
        }
        next = error.source();
    }
    false
}

pub(crate) fn cut(text: &str) -> String {
    text.chars().take(MAX_SAID_CHARACTERS).collect()
}

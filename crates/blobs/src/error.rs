//! What can go wrong with the store, told apart by who has to act.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

/// Most characters of another's message that are shown.
const MAX_SAID_CHARACTERS: usize = 400;
/// How `object_store` writes a refusal; the tests against a real server hold it to that.
const REFUSALS: [&str; 2] = ["status code: 401", "status code: 403"];

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// No such object: never there, deleted, or swept.
    #[error("there is no such object")]
    NotFound,
    /// A range that does not lie inside the object.
    #[error("the range does not lie inside the object")]
    RangeOutside,
    /// The store does not take our key, or the key may not do this.
    #[error("the media store refused our key, or the key may not do this: {said}")]
    Refused {
        /// The store's own words, cut.
        said: String,
    },
    /// The bucket of the settings does not exist.
    #[error("the bucket of the media store does not exist; create it, or mend the setting")]
    NoBucket,
    /// The store cannot be reached.
    #[error("the media store cannot be reached: {said}")]
    Away {
        /// What happened, cut.
        said: String,
    },
    /// The store did not answer in time.
    #[error("the media store did not answer within {} ms", time_limit.as_millis())]
    TooSlow {
        /// How long we waited.
        time_limit: Duration,
    },
    /// What is kept beside an object is missing or does not fit it.
    #[error("the object's metadata is missing or does not fit it")]
    Damaged,
    /// Settings that cannot be used.
    #[error("the media store cannot be opened: {said}")]
    Settings {
        /// What is wrong and what would be right.
        said: String,
    },
    /// Anything else that the store said.
    #[error("the media store failed: {said}")]
    Store {
        /// Its own words, cut.
        said: String,
    },
}

/// Why a put stored nothing.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// More bytes came than were allowed.
    #[error("more than {limit_bytes} bytes came")]
    TooLarge {
        /// What was allowed.
        limit_bytes: u64,
    },
    /// The store would hold more than its budget.
    #[error(
        "the media store is full: its budget is {budget_bytes} bytes; raise it or keep media for fewer days"
    )]
    OverBudget {
        /// The budget.
        budget_bytes: u64,
    },
    /// What was to be stored broke off.
    #[error("what was to be stored broke off: {0}")]
    SourceBroke(io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] MediaError),
}

// === impl MediaError ===

impl From<object_store::Error> for MediaError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error;

        let text = error.to_string();
        let said = cut(&text);
        // A missing bucket is 404 as well. Taken for a missing object it would hide the mistake.
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
        // A listing that is refused comes as a general error, whose parts cannot be named.
        if is_refused || REFUSALS.iter().any(|refusal| text.contains(refusal)) {
            return Self::Refused { said };
        }
        if is_about_the_way(&error) {
            return Self::Away { said };
        }
        Self::Store { said }
    }
}

/// Whether the request did not get there or its answer did not come back.
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

/// Text from outside, cut.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(MAX_SAID_CHARACTERS).collect()
}

//! What can go wrong at the console, in the house's shape of errors. A handler returns a [`Fault`];
//! the front, which knows the request's id, writes its body.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use trunkline_db::DbError;
use trunkline_terms::RequestId;
use utoipa::ToSchema;

/// Where the codes are explained.
const DOC_URL: &str = "docs/errors.md";

/// Which row of the error table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A parameter is wrong.
    Invalid,
    /// The key that was sent is not known.
    UnknownKey,
    /// No such path or thing.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// A body where none is read.
    TooLarge,
    /// The database is away, or too slow.
    Unavailable,
}

/// What went wrong.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) param: Option<&'static str>,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    error: ErrorFacts,
}

/// What is known of an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorFacts {
    /// For the person who has to act.
    message: String,
    /// The family of the error.
    #[serde(rename = "type")]
    #[schema(example = "invalid_request_error")]
    family: &'static str,
    /// The parameter to blame.
    #[schema(required)]
    param: Option<&'static str>,
    /// The word of the error table.
    #[schema(example = "invalid_request")]
    code: &'static str,
    /// The id under which we can be asked about it.
    request_id: String,
    /// Whether anything was charged: never by the console.
    charged: bool,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// Where the code is explained.
    doc_url: String,
}

// === impl Kind ===

impl Kind {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_request",
            Self::UnknownKey => "invalid_api_key",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TooLarge => "request_too_large",
            Self::Unavailable => "temporarily_unavailable",
        }
    }

    const fn family(self) -> &'static str {
        match self {
            Self::Invalid | Self::MethodNotAllowed | Self::TooLarge => "invalid_request_error",
            Self::UnknownKey => "authentication_error",
            Self::NotFound => "not_found_error",
            Self::Unavailable => "server_error",
        }
    }

    /// Whether the same request may succeed later.
    pub(crate) const fn is_retryable(self) -> bool {
        match self {
            Self::Unavailable => true,
            Self::Invalid
            | Self::UnknownKey
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::TooLarge => false,
        }
    }
}

// === impl Fault ===

impl Fault {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
        }
    }

    /// A parameter is wrong.
    pub(crate) fn at(param: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            message: message.into(),
            param: Some(param),
        }
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(
            Kind::Unavailable,
            "this cannot be read right now because our books cannot be reached; try again",
        )
    }

    /// The body that a caller reads.
    pub(crate) fn body(&self, request: RequestId) -> ErrorBody {
        ErrorBody {
            error: ErrorFacts {
                message: self.message.clone(),
                family: self.kind.family(),
                param: self.param,
                code: self.kind.code(),
                request_id: request.to_string(),
                charged: false,
                retryable: self.kind.is_retryable(),
                doc_url: format!("{DOC_URL}#{}", self.kind.code()),
            },
        }
    }
}

impl From<DbError> for Fault {
    fn from(error: DbError) -> Self {
        tracing::warn!(%error, "the console could not read");
        Self::unavailable()
    }
}

/// The status with the fault beside it; the front writes the body.
impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_where_errors_point_to() {
        let page = include_str!("../../../docs/errors.md");
        for kind in [
            Kind::Invalid,
            Kind::UnknownKey,
            Kind::NotFound,
            Kind::MethodNotAllowed,
            Kind::TooLarge,
            Kind::Unavailable,
        ] {
            let (code, status) = (kind.code(), kind.status().as_u16());
            let row = format!("<a id=\"{code}\"></a>`{code}` | {status} |");
            assert!(page.contains(&row), "{row}");
        }
    }
}

//! API errors of the console. A handler returns an [`ApiError`]; the middleware, which knows the
//! request id, writes its body.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use trunkline_db::DbError;
use trunkline_keyring::RandomError;
use trunkline_store::FieldError;
use trunkline_types::RequestId;
use utoipa::ToSchema;

/// A code of the console's API; those of the customers' API are the edge's `ErrorCode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsoleErrorCode {
    /// A parameter is wrong.
    Invalid,
    /// The key that was sent is not known.
    UnknownKey,
    /// No such path or thing.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The body is too large.
    TooLarge,
    /// Not signed in on this device.
    NotSignedIn,
    /// The address or the password is wrong, or there were too many tries.
    SignInFailed,
    /// The password is to be given again.
    StepUpRequired,
    /// An operator has no second factor yet.
    SecondFactorRequired,
    /// The person's role does not allow it.
    RoleNotAllowed,
    /// Asked for by another site's page.
    CrossSite,
    /// Too many tries.
    TooManyAttempts,
    /// A link that is unknown, used or over.
    TokenInvalid,
    /// It cannot be done as things stand.
    Conflict,
    /// Something would be sold below its cost, or for nothing.
    BelowCost,
    /// Sign-up is closed, or requires an invitation.
    SignUpClosed,
    /// A redemption code that is unknown, used, over or taken back.
    CodeInvalid,
    /// The database is away, or too slow.
    Unavailable,
}

/// The error.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) kind: ConsoleErrorCode,
    pub(crate) message: String,
    pub(crate) param: Option<&'static str>,
    /// After how many seconds it may be tried again, where that is known.
    pub(crate) retry_after: Option<i64>,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// The error.
    error: ErrorFacts,
}

/// Details of an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorFacts {
    /// Human-readable message.
    message: String,
    /// Error type.
    #[serde(rename = "type")]
    #[schema(example = "invalid_request_error")]
    family: &'static str,
    /// The invalid parameter.
    #[schema(required)]
    param: Option<&'static str>,
    /// Error code.
    #[schema(example = "invalid_request")]
    code: &'static str,
    /// Request id for support.
    request_id: String,
    /// Whether the request was charged; always false here.
    charged: bool,
    /// Whether a retry of the same request may succeed.
    retryable: bool,
    /// Documentation of the code.
    doc_url: String,
}

/// What the error table says of a code.
struct Row {
    status: StatusCode,
    code: &'static str,
    family: &'static str,
    is_retryable: bool,
}

// === impl ConsoleErrorCode ===

impl ConsoleErrorCode {
    /// The table.
    const fn row(self) -> Row {
        match self {
            Self::Invalid => Row::invalid(StatusCode::BAD_REQUEST, "invalid_request"),
            Self::MethodNotAllowed => {
                Row::invalid(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed")
            }
            Self::TooLarge => Row::invalid(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large"),
            Self::TokenInvalid => Row::invalid(StatusCode::BAD_REQUEST, "token_invalid"),
            Self::CodeInvalid => Row::invalid(StatusCode::BAD_REQUEST, "code_invalid"),
            Self::Conflict => Row::invalid(StatusCode::CONFLICT, "conflict"),
            Self::BelowCost => Row::invalid(StatusCode::CONFLICT, "below_cost"),
            Self::UnknownKey => Row::authentication("invalid_api_key"),
            Self::NotSignedIn => Row::authentication("not_signed_in"),
            Self::SignInFailed => Row::authentication("sign_in_failed"),
            Self::StepUpRequired => Row::permission("step_up_required"),
            Self::SecondFactorRequired => Row::permission("second_factor_required"),
            Self::RoleNotAllowed => Row::permission("role_not_allowed"),
            Self::CrossSite => Row::permission("cross_site"),
            Self::SignUpClosed => Row::permission("sign_up_closed"),
            Self::NotFound => Row {
                status: StatusCode::NOT_FOUND,
                code: "not_found",
                family: "not_found_error",
                is_retryable: false,
            },
            Self::TooManyAttempts => Row {
                status: StatusCode::TOO_MANY_REQUESTS,
                code: "too_many_attempts",
                family: "rate_limit_error",
                is_retryable: true,
            },
            Self::Unavailable => Row {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "temporarily_unavailable",
                family: "server_error",
                is_retryable: true,
            },
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        self.row().status
    }

    /// Whether a retry of the same request may succeed.
    pub(crate) const fn is_retryable(self) -> bool {
        self.row().is_retryable
    }
}

// === impl Row ===

impl Row {
    const fn invalid(status: StatusCode, code: &'static str) -> Self {
        Self {
            status,
            code,
            family: "invalid_request_error",
            is_retryable: false,
        }
    }

    const fn authentication(code: &'static str) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            code,
            family: "authentication_error",
            is_retryable: false,
        }
    }

    const fn permission(code: &'static str) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            code,
            family: "permission_error",
            is_retryable: false,
        }
    }
}

// === impl ApiError ===

impl ApiError {
    pub(crate) fn new(kind: ConsoleErrorCode, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            retry_after: None,
        }
    }

    /// A parameter is wrong.
    pub(crate) fn invalid_param(param: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: ConsoleErrorCode::Invalid,
            message: message.into(),
            param: Some(param),
            retry_after: None,
        }
    }

    /// Not found, or of another organisation: the response does not tell which.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(ConsoleErrorCode::NotFound, format!("{what} not found"))
    }

    /// A link that is unknown, used or expired: the response does not tell which.
    pub(crate) fn token_invalid() -> Self {
        let text = "this link has expired or was already used; request a new one";
        Self::new(ConsoleErrorCode::TokenInvalid, text)
    }

    /// Too many tries; how long to wait.
    pub(crate) fn too_many_attempts(after_seconds: i64) -> Self {
        Self {
            retry_after: Some(after_seconds.max(1)),
            ..Self::new(
                ConsoleErrorCode::TooManyAttempts,
                "too many attempts; wait and try again",
            )
        }
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(
            ConsoleErrorCode::Unavailable,
            "the database is temporarily unavailable; try again",
        )
    }

    /// The body that a caller reads; `pages` is where errors are explained.
    pub(crate) fn body(&self, request: RequestId, pages: &str) -> ErrorBody {
        let row = self.kind.row();
        ErrorBody {
            error: ErrorFacts {
                message: self.message.clone(),
                family: row.family,
                param: self.param,
                code: row.code,
                request_id: request.to_string(),
                charged: false,
                retryable: row.is_retryable,
                doc_url: format!("{pages}#{}", row.code),
            },
        }
    }
}

impl From<DbError> for ApiError {
    fn from(error: DbError) -> Self {
        tracing::warn!(%error, "database read failed");
        Self::unavailable()
    }
}

impl From<FieldError> for ApiError {
    fn from(error: FieldError) -> Self {
        Self::invalid_param(error.field, error.problem.to_string())
    }
}

impl From<RandomError> for ApiError {
    fn from(error: RandomError) -> Self {
        tracing::error!(%error, "reading random bytes failed");
        Self::unavailable()
    }
}

/// The status with the fault beside it; the front writes the body.
impl IntoResponse for ApiError {
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
        let page = include_str!("../../../docs/guide/errors.md");
        for kind in [
            ConsoleErrorCode::Invalid,
            ConsoleErrorCode::UnknownKey,
            ConsoleErrorCode::NotFound,
            ConsoleErrorCode::MethodNotAllowed,
            ConsoleErrorCode::TooLarge,
            ConsoleErrorCode::NotSignedIn,
            ConsoleErrorCode::SignInFailed,
            ConsoleErrorCode::StepUpRequired,
            ConsoleErrorCode::SecondFactorRequired,
            ConsoleErrorCode::BelowCost,
            ConsoleErrorCode::RoleNotAllowed,
            ConsoleErrorCode::CrossSite,
            ConsoleErrorCode::TooManyAttempts,
            ConsoleErrorCode::TokenInvalid,
            ConsoleErrorCode::Conflict,
            ConsoleErrorCode::SignUpClosed,
            ConsoleErrorCode::CodeInvalid,
            ConsoleErrorCode::Unavailable,
        ] {
            let (code, status) = (kind.row().code, kind.status().as_u16());
            let entry = format!("\n### `{code}`\n\n- **HTTP** {status}\n");
            assert!(page.contains(&entry), "{entry}");
        }
    }
}

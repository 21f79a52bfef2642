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

/// Code in the error table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
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
    pub(crate) kind: ErrorCode,
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

// === impl ErrorCode ===

impl ErrorCode {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotSignedIn => StatusCode::UNAUTHORIZED,
            Self::SignInFailed => StatusCode::UNAUTHORIZED,
            Self::StepUpRequired => StatusCode::FORBIDDEN,
            Self::RoleNotAllowed => StatusCode::FORBIDDEN,
            Self::CrossSite => StatusCode::FORBIDDEN,
            Self::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
            Self::TokenInvalid => StatusCode::BAD_REQUEST,
            Self::Conflict => StatusCode::CONFLICT,
            Self::SignUpClosed => StatusCode::FORBIDDEN,
            Self::CodeInvalid => StatusCode::BAD_REQUEST,
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
            Self::NotSignedIn => "not_signed_in",
            Self::SignInFailed => "sign_in_failed",
            Self::StepUpRequired => "step_up_required",
            Self::RoleNotAllowed => "role_not_allowed",
            Self::CrossSite => "cross_site",
            Self::TooManyAttempts => "too_many_attempts",
            Self::TokenInvalid => "token_invalid",
            Self::Conflict => "conflict",
            Self::SignUpClosed => "sign_up_closed",
            Self::CodeInvalid => "code_invalid",
            Self::Unavailable => "temporarily_unavailable",
        }
    }

    const fn family(self) -> &'static str {
        match self {
            Self::Invalid
            | Self::MethodNotAllowed
            | Self::TooLarge
            | Self::TokenInvalid
            | Self::CodeInvalid
            | Self::Conflict => "invalid_request_error",
            Self::UnknownKey | Self::NotSignedIn | Self::SignInFailed => "authentication_error",
            Self::StepUpRequired | Self::RoleNotAllowed | Self::CrossSite | Self::SignUpClosed => {
                "permission_error"
            }
            Self::TooManyAttempts => "rate_limit_error",
            Self::NotFound => "not_found_error",
            Self::Unavailable => "server_error",
        }
    }

    /// Whether a retry of the same request may succeed.
    pub(crate) const fn is_retryable(self) -> bool {
        match self {
            Self::Unavailable | Self::TooManyAttempts => true,
            Self::Invalid
            | Self::UnknownKey
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::TooLarge
            | Self::NotSignedIn
            | Self::SignInFailed
            | Self::StepUpRequired
            | Self::RoleNotAllowed
            | Self::CrossSite
            | Self::TokenInvalid
            | Self::SignUpClosed
            | Self::CodeInvalid
            | Self::Conflict => false,
        }
    }
}

// === impl ApiError ===

impl ApiError {
    pub(crate) fn new(kind: ErrorCode, message: impl Into<String>) -> Self {
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
            kind: ErrorCode::Invalid,
            message: message.into(),
            param: Some(param),
            retry_after: None,
        }
    }

    /// Not found, or of another organisation: the response does not tell which.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("{what} not found"))
    }

    /// A link that is unknown, used or expired: the response does not tell which.
    pub(crate) fn token_invalid() -> Self {
        let text = "this link has expired or was already used; request a new one";
        Self::new(ErrorCode::TokenInvalid, text)
    }

    /// Too many tries; how long to wait.
    pub(crate) fn too_many_attempts(after_seconds: i64) -> Self {
        Self {
            retry_after: Some(after_seconds.max(1)),
            ..Self::new(
                ErrorCode::TooManyAttempts,
                "too many attempts; wait and try again",
            )
        }
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(
            ErrorCode::Unavailable,
            "the database is temporarily unavailable; try again",
        )
    }

    /// The body that a caller reads; `pages` is where errors are explained.
    pub(crate) fn body(&self, request: RequestId, pages: &str) -> ErrorBody {
        ErrorBody {
            error: ErrorFacts {
                message: self.message.clone(),
                family: self.kind.family(),
                param: self.param,
                code: self.kind.code(),
                request_id: request.to_string(),
                charged: false,
                retryable: self.kind.is_retryable(),
                doc_url: format!("{pages}#{}", self.kind.code()),
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
            ErrorCode::Invalid,
            ErrorCode::UnknownKey,
            ErrorCode::NotFound,
            ErrorCode::MethodNotAllowed,
            ErrorCode::TooLarge,
            ErrorCode::NotSignedIn,
            ErrorCode::SignInFailed,
            ErrorCode::StepUpRequired,
            ErrorCode::RoleNotAllowed,
            ErrorCode::CrossSite,
            ErrorCode::TooManyAttempts,
            ErrorCode::TokenInvalid,
            ErrorCode::Conflict,
            ErrorCode::SignUpClosed,
            ErrorCode::CodeInvalid,
            ErrorCode::Unavailable,
        ] {
            let (code, status) = (kind.code(), kind.status().as_u16());
            let entry = format!("\n### `{code}`\n\n- **HTTP** {status}\n");
            assert!(page.contains(&entry), "{entry}");
        }
    }
}

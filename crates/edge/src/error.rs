//! Everything that can go wrong with a call, as one value with four facts: which kind, whose mistake,
//! may it be tried again, was anything charged. The status is chosen here and nowhere else.

use http::StatusCode;
use serde_json::{Map, Value};
use trunkline_db::DbError;
use trunkline_types::{Money, RequestId};
use trunkline_wire::{ErrorBody, RequestError};

use crate::duplicate::Duplicate;

/// Which row of the error table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorCode {
    /// No key, or one we do not know.
    InvalidKey,
    /// The key's time is over.
    ExpiredKey,
    /// The key was revoked or switched off.
    RevokedKey,
    /// The operator has suspended the account.
    AccountSuspended,
    /// The caller's address is not on the key's list.
    AddressNotAllowed,
    /// The model is not on the key's list.
    ModelNotAllowed,
    /// No channel has the attributes that the key demands.
    RouteNotAllowed,
    /// The operator's guardrail refused the request or the answer.
    GuardrailRefused,
    /// The operator's guardrail does not answer, and refuses what it does not see.
    GuardrailUnavailable,
    /// The endpoint is not on the key's list.
    EndpointNotAllowed,
    /// Only accounts with a completed top-up may call this.
    NeverToppedUp,
    SocialNoResult,
    /// The capacity of the day is used up, or the platform is busy.
    SocialCapacity,
    SocialPaused,
    InsufficientBalance,
    /// A budget is used up.
    BudgetExceeded,
    /// The caller's own limit for this call.
    MaxCostExceeded,
    /// No route has a price that the key pays.
    PriceAboveLimit,
    /// No such model.
    ModelNotFound,
    /// The vendor shut the model down.
    ModelShutDown,
    /// No such path or thing.
    NotFound,
    /// No such task of this account.
    TaskNotFound,
    /// A link that does not hold, or not any more.
    LinkRefused,
    /// The task cannot be stopped.
    NotCancellable,
    /// The workflow is not verified, or cannot be followed.
    WorkflowNotRunnable,
    /// The workflow asks for a person's yes first.
    ConfirmationRequired,
    /// The same run of a workflow is under way.
    RunInProgress,
    /// It is not known yet whether the same run was charged.
    ChargeStateUnknown,
    /// The key of this call named another one.
    IdempotencyConflict,
    /// A call with this key is under way.
    IdempotencyInFlight,
    /// The answer of the call with this key is larger than what is kept.
    IdempotencyTooLarge,
    /// The same call is known already. Never shown: the edge turns it into that call's answer.
    SameCall(Box<Duplicate>),
    /// Over a rate limit of the key, the account, the model or the platform.
    RateLimited,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The path is not spoken to over a WebSocket.
    NoWebSocket,
    /// The model does not take this format.
    EndpointNotSupported,
    /// The request itself is wrong; the code of the rule.
    Invalid(&'static str),
    /// The request breaks a rule that a record or strict mode has; its code.
    Rule(String),
    /// The quote's time is over.
    QuoteExpired,
    /// The quote is not for this call.
    QuoteMismatch,
    /// The body is too large.
    TooLarge,
    /// The body is of a kind we do not read.
    UnsupportedMedia,
    /// The body did not come in time.
    SlowBody,
    /// The upstream refused the request for what it says: its status and its code.
    UpstreamRefused(StatusCode, Option<String>),
    /// Every upstream was at its limit.
    UpstreamRateLimited,
    UpstreamFailed,
    /// The upstream did not answer in time.
    UpstreamTimeout,
    /// No channel serves the model now.
    NoRoute,
    Overloaded,
    /// Our own database cannot be reached.
    Unavailable,
    Draining,
}

#[derive(Debug, Clone)]
pub struct ApiError {
    /// Which row of the table.
    pub kind: ErrorCode,
    /// For the person that has to act.
    pub message: String,
    pub param: Option<String>,
    /// Further keys of the error.
    pub extras: Map<String, Value>,
    /// Seconds after which it is worth another try.
    pub retry_after: Option<u64>,
}

/// What the error table says of a code. The `family` is the `type` that OpenAI's clients know.
struct Row {
    status: StatusCode,
    code: &'static str,
    family: &'static str,
    is_retryable: bool,
}

// === impl ErrorCode ===

impl ErrorCode {
    /// The table.
    const fn row(&self) -> Row {
        match self {
            Self::InvalidKey => Row::authentication("invalid_api_key"),
            Self::ExpiredKey => Row::authentication("expired_api_key"),
            Self::RevokedKey => Row::authentication("revoked_api_key"),
            Self::AccountSuspended => Row::permission("account_suspended"),
            Self::AddressNotAllowed => Row::permission("ip_not_allowed"),
            Self::ModelNotAllowed => Row::permission("model_not_allowed"),
            Self::RouteNotAllowed => Row::permission("route_not_allowed"),
            Self::EndpointNotAllowed => Row::permission("endpoint_not_allowed"),
            Self::GuardrailRefused => Row::permission("guardrail_refused"),
            Self::GuardrailUnavailable => Row::server("guardrail_unavailable").retryable(),
            Self::NeverToppedUp => Row::permission("model_requires_topup"),
            Self::LinkRefused => Row::permission("link_refused"),
            Self::InsufficientBalance => Row::quota("insufficient_balance"),
            Self::BudgetExceeded => Row::quota("budget_exceeded"),
            Self::MaxCostExceeded => Row::quota("max_cost_exceeded"),
            Self::PriceAboveLimit => Row::quota("price_above_limit"),
            Self::ModelNotFound => Row::not_found("model_not_found"),
            Self::ModelShutDown => Row::not_found("model_shut_down"),
            Self::NotFound => Row::not_found("not_found"),
            Self::TaskNotFound => Row::not_found("task_not_found"),
            Self::SocialNoResult => Row::not_found("social_data_no_result"),
            Self::NotCancellable => Row::conflict("not_cancellable"),
            Self::WorkflowNotRunnable => Row::conflict("workflow_not_runnable"),
            Self::ConfirmationRequired => Row::conflict("confirmation_required"),
            Self::RunInProgress => Row::conflict("run_in_progress").retryable(),
            Self::ChargeStateUnknown => Row::conflict("charge_state_unknown").retryable(),
            Self::IdempotencyConflict => Row::conflict("idempotency_conflict"),
            Self::IdempotencyInFlight | Self::SameCall(_) => {
                Row::conflict("idempotency_in_flight").retryable()
            }
            Self::IdempotencyTooLarge => Row::conflict("idempotency_result_too_large"),
            Self::QuoteExpired => Row::conflict("quote_expired"),
            Self::QuoteMismatch => Row::conflict("quote_mismatch"),
            Self::Invalid(code) => Row::invalid(StatusCode::BAD_REQUEST, code),
            Self::Rule(_) => Row::invalid(StatusCode::BAD_REQUEST, "invalid_request"),
            Self::EndpointNotSupported => {
                Row::invalid(StatusCode::BAD_REQUEST, "endpoint_not_supported")
            }
            Self::MethodNotAllowed => {
                Row::invalid(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed")
            }
            Self::NoWebSocket => {
                Row::invalid(StatusCode::UPGRADE_REQUIRED, "websocket_not_supported")
            }
            Self::TooLarge => Row::invalid(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large"),
            Self::UnsupportedMedia => {
                Row::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type")
            }
            Self::SlowBody => {
                Row::invalid(StatusCode::REQUEST_TIMEOUT, "request_timeout").retryable()
            }
            Self::UpstreamRefused(status, _) => Row::invalid(*status, "upstream_refused"),
            Self::RateLimited => Row::rate_limit("rate_limit_exceeded"),
            Self::UpstreamRateLimited => Row::rate_limit("upstream_rate_limited"),
            Self::SocialCapacity => Row::rate_limit("social_data_capacity_reached"),
            Self::UpstreamFailed => Row::upstream(StatusCode::BAD_GATEWAY, "upstream_error"),
            Self::UpstreamTimeout => Row::upstream(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout"),
            Self::NoRoute => Row::upstream(StatusCode::SERVICE_UNAVAILABLE, "no_available_route"),
            Self::Overloaded => Row::server("overloaded").retryable(),
            Self::Unavailable | Self::Draining => {
                Row::server("temporarily_unavailable").retryable()
            }
            Self::SocialPaused => Row::server("social_data_unavailable"),
        }
    }

    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.row().status
    }

    /// The code. It may be an upstream's own.
    #[must_use]
    pub fn code(&self) -> &str {
        if let Self::UpstreamRefused(_, code) = self {
            return code.as_deref().unwrap_or("invalid_request");
        }
        if let Self::Rule(code) = self {
            return code;
        }
        self.as_str()
    }

    /// Where it is explained on the page of errors. An upstream's own codes are not listed there; what
    /// they have in common is.
    #[must_use]
    pub fn anchor(&self) -> &str {
        if let Self::UpstreamRefused(_, _) = self {
            return self.as_str();
        }
        self.code()
    }

    /// The same as a code of a closed list, for logs and counters.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.row().code
    }

    /// The `type` that OpenAI's clients know.
    #[must_use]
    pub const fn family(&self) -> &'static str {
        self.row().family
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        self.row().is_retryable
    }

    fn retry_after(&self) -> Option<u64> {
        let waits = matches!(
            self,
            Self::Overloaded
                | Self::Unavailable
                | Self::Draining
                | Self::IdempotencyInFlight
                | Self::RunInProgress
                | Self::SameCall(_)
        );
        waits.then_some(1)
    }
}

// === impl Row ===

impl Row {
    const fn new(status: StatusCode, code: &'static str, family: &'static str) -> Self {
        Self {
            status,
            code,
            family,
            is_retryable: false,
        }
    }

    const fn authentication(code: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code, "authentication_error")
    }

    const fn permission(code: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, "permission_error")
    }

    const fn quota(code: &'static str) -> Self {
        Self::new(StatusCode::PAYMENT_REQUIRED, code, "insufficient_quota")
    }

    const fn not_found(code: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, "not_found_error")
    }

    const fn conflict(code: &'static str) -> Self {
        Self::invalid(StatusCode::CONFLICT, code)
    }

    const fn invalid(status: StatusCode, code: &'static str) -> Self {
        Self::new(status, code, "invalid_request_error")
    }

    const fn rate_limit(code: &'static str) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, "rate_limit_error").retryable()
    }

    const fn upstream(status: StatusCode, code: &'static str) -> Self {
        Self::new(status, code, "upstream_error").retryable()
    }

    const fn server(code: &'static str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, "server_error")
    }

    const fn retryable(self) -> Self {
        Self {
            is_retryable: true,
            ..self
        }
    }
}

// === impl ApiError ===

/// The database did not answer, whatever the reason.
impl From<DbError> for ApiError {
    fn from(_: DbError) -> Self {
        Self::unavailable()
    }
}

impl ApiError {
    /// An error with nothing but its message.
    #[must_use]
    pub fn new(kind: ErrorCode, message: impl Into<String>) -> Self {
        let retry_after = kind.retry_after();
        Self {
            kind,
            message: message.into(),
            param: None,
            extras: Map::new(),
            retry_after,
        }
    }

    /// The same with the field to blame.
    #[must_use]
    pub fn at(mut self, param: &str) -> Self {
        self.param = Some(param.to_owned());
        self
    }

    /// The same with one more key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extras.insert(key.to_owned(), value.into());
        self
    }

    /// The same with an amount of money, as decimal text.
    #[must_use]
    pub fn with_money(self, key: &str, amount: Money) -> Self {
        self.with(key, amount.to_string())
    }

    /// The same call is known already.
    pub fn duplicate(same: Duplicate) -> Self {
        let text = "a call with this idempotency key is in progress; retry later";
        Self::new(ErrorCode::SameCall(Box::new(same)), text).at("idempotency-key")
    }

    #[must_use]
    pub fn unavailable() -> Self {
        Self::new(
            ErrorCode::Unavailable,
            "the ledger is unavailable; retry later; nothing was charged",
        )
    }

    /// The facts that every format's error is written from; `pages` is where errors are explained. A
    /// request that ends in an error was not charged.
    #[must_use]
    pub fn error_body(&self, request: RequestId, pages: &str) -> ErrorBody {
        ErrorBody {
            status: self.kind.status().as_u16(),
            code: self.kind.code().to_owned(),
            family: self.kind.family(),
            message: self.message.clone(),
            param: self.param.clone(),
            request_id: request.to_string(),
            retryable: self.kind.is_retryable(),
            doc_url: format!("{pages}#{}", self.kind.anchor()),
            retry_after: self.retry_after,
            extras: self.extras.clone(),
        }
    }
}

/// A validation error of a crate that reads requests, as an API error.
pub fn refused(refusal: trunkline_catalog::RequestError) -> ApiError {
    let text = if refusal.fix.is_empty() {
        refusal.message
    } else {
        format!("{}; {}", refusal.message, refusal.fix)
    };
    let error = ApiError::new(ErrorCode::Rule(refusal.code.to_owned()), text);
    if refusal.param.is_empty() {
        error
    } else {
        error.at(&refusal.param)
    }
}

impl From<RequestError> for ApiError {
    fn from(refusal: RequestError) -> Self {
        let mut error = Self::new(ErrorCode::Invalid(refusal.code), refusal.message);
        error.param = refusal.param;
        error
    }
}

#[cfg(test)]
mod tests;

//! Classifies vendors' error responses for failover. One function per vendor, for all its APIs: each knows the
//! format of the vendor's errors and the codes that are more specific than the status.
//!
//! Where no code is known the status decides. A timeout does not tell whether the vendor did the work.

use crate::vendor_http::{VendorError, VendorResponse, filled_at, text_at};
use serde_json::Value;

use crate::vendor_failure::VendorFailure;

/// A vendor's text is cut here before it goes on.
const MAX_WORDS: usize = 2_000;
/// The caller's status for an error that came with a success status.
const UNDER_SUCCESS: u16 = 400;
/// The name of a field is cut here.
const MAX_NAME: usize = 64;

/// `{"error": {"message", "type", "param", "code"}}`, where the code may be missing. An exhausted
/// balance and a rate limit have the same status. Its field names are the caller's.
pub(crate) fn openai(response: &VendorResponse<'_>) -> VendorFailure {
    let body = response.json();
    let param = filled_at(&body, "/error/param");
    let param = param.map(|name| name.chars().take(MAX_NAME).collect());
    let error = error_at(response, &body, "/error").about(param);
    let broke = [
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "account_deactivated",
        "invalid_api_key",
    ];
    if broke.contains(&error.code.as_str()) {
        return VendorFailure::Credential(error);
    }
    by_status(response, error)
}

/// Ark, in OpenAI's form with codes of its own. A model that is missing or not activated is a
/// problem of the account.
pub(crate) fn ark(response: &VendorResponse<'_>) -> VendorFailure {
    let error = error_at(response, &response.json(), "/error");
    let code = error.code.as_str();
    let full = ["ServerOverloaded", "RequestBurstTooFast", "QuotaExceeded"];
    if full.contains(&code) || code.contains("RateLimitExceeded") {
        return limited(response);
    }
    let account = ["AuthenticationError", "AccountOverdueError", "ModelNotOpen"];
    if account.contains(&code) || matches!(response.status, 401..=404) {
        return VendorFailure::Credential(error);
    }
    by_status(response, error)
}

/// `{"code", "message"}`, or OpenAI's form below `/compatible-mode`; in a stream with a success status.
pub(crate) fn dashscope(response: &VendorResponse<'_>) -> VendorFailure {
    let body = response.json();
    let place = if body.get("error").is_some_and(Value::is_object) {
        "/error"
    } else {
        ""
    };
    dashscope_by_code(response, error_at(response, &body, place))
}

/// The same for an error found deeper in a response.
pub(crate) fn dashscope_by_code(
    response: &VendorResponse<'_>,
    mut error: VendorError,
) -> VendorFailure {
    if error.message.starts_with("Model not exist") {
        // It has the code of any wrong parameter.
        "ModelNotFound".clone_into(&mut error.code);
    }
    let code = error.code.as_str();
    if code.starts_with("Throttling") || response.status == 429 {
        return limited(response);
    }
    let account = [
        "InvalidApiKey",
        "invalid_api_key",
        "Arrearage",
        "InvalidModel",
        "ModelNotFound",
        "model_not_found",
    ];
    let is_account = account.contains(&code)
        || code.contains("AccessDenied")
        || code.starts_with("AllocationQuota");
    if is_account || matches!(response.status, 401..=404) {
        return VendorFailure::Credential(error);
    }
    if code.starts_with("InternalError") || code == "SystemError" {
        return VendorFailure::Failed(error);
    }
    // Errors of the request also come with a success status, where the response is a stream or a task.
    let request = ["Invalid", "DataInspection", "BadRequest", "IPInfringement"];
    if response.status < 400 && request.iter().any(|word| code.contains(word)) {
        return VendorFailure::Refused(error);
    }
    by_status(response, error)
}

/// `base_resp` with a number under status 200; elsewhere `{"error": {"type", "message"}}` with the number
/// at the end of the text: `… (2013)`.
pub(crate) fn minimax(response: &VendorResponse<'_>) -> VendorFailure {
    let body = response.json();
    let Some(code) = minimax_number(&body) else {
        let error = error_at(response, &body, "/error");
        let Some(code) = trailing_number(&error.message).map(str::to_owned) else {
            return by_status(response, error);
        };
        return minimax_by_number(response, VendorError { code, ..error });
    };
    let message = text_at(&body, "/base_resp/status_msg").unwrap_or_default();
    let error = VendorError::new(shown_status(response), code, cut(&message));
    minimax_by_number(response, error)
}

/// The number of an error in `base_resp`; none where all is well.
pub(crate) fn minimax_number(body: &Value) -> Option<String> {
    text_at(body, "/base_resp/status_code").filter(|code| code != "0")
}

pub(crate) fn minimax_by_number(
    response: &VendorResponse<'_>,
    error: VendorError,
) -> VendorFailure {
    match error.code.as_str() {
        "1002" | "1039" | "2045" => limited(response),
        "1004" | "1008" | "2049" | "2056" | "2061" => VendorFailure::Credential(error),
        "1026" | "1027" | "1042" | "2013" => VendorFailure::Refused(error),
        _ => VendorFailure::Failed(error),
    }
}

/// OpenAI's form with numbers for codes.
pub(crate) fn zhipu(response: &VendorResponse<'_>) -> VendorFailure {
    let error = error_at(response, &response.json(), "/error");
    match error.code.as_str() {
        "1302" | "1303" | "1304" | "1305" | "1308" => limited(response),
        "1000" | "1001" | "1002" | "1003" | "1004" | "1110" | "1111" | "1112" | "1113" | "1120"
        | "1121" | "1220" => VendorFailure::Credential(error),
        "1301" => VendorFailure::Refused(error),
        _ => by_status(response, error),
    }
}

/// A response that cannot be read.
pub(crate) fn garbage(response: &VendorResponse<'_>, why: &str) -> VendorFailure {
    let code = "unreadable_answer";
    VendorFailure::Failed(VendorError::new(shown_status(response), code, why))
}

/// The vendor's error at a place of its response. It always has a code and a text.
pub(crate) fn error_at(response: &VendorResponse<'_>, body: &Value, place: &str) -> VendorError {
    let word = |name: &str| filled_at(body, &format!("{place}/{name}"));
    let code = word("code").or_else(|| word("type"));
    let code = code.unwrap_or_else(|| format!("http_{}", response.status));
    let message = word("message").unwrap_or_else(|| "the vendor says no more".to_owned());
    VendorError::new(shown_status(response), cut(&code), cut(&message))
}

/// Classifies by the status alone.
fn by_status(response: &VendorResponse<'_>, error: VendorError) -> VendorFailure {
    match response.status {
        401..=403 => VendorFailure::Credential(error),
        429 => limited(response),
        400..=407 | 409..=498 => VendorFailure::Refused(error),
        503 | 529 => VendorFailure::Busy(error),
        _ => VendorFailure::Failed(error),
    }
}

const fn limited(response: &VendorResponse<'_>) -> VendorFailure {
    VendorFailure::Limited {
        retry_after: response.retry_after,
    }
}

pub(crate) const fn shown_status(response: &VendorResponse<'_>) -> u16 {
    if response.status < 400 {
        UNDER_SUCCESS
    } else {
        response.status
    }
}

pub(crate) fn trailing_number(text: &str) -> Option<&str> {
    let (_, number) = text.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(number)
}

pub(crate) fn cut(text: &str) -> String {
    text.chars().take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_in_openais_form_names_the_field_it_is_about() {
        let long = "x".repeat(MAX_NAME + 1);
        for (param, named) in [
            (Value::from("speed"), Some("speed".to_owned())),
            (Value::Null, None),
            (Value::from(""), None),
            (Value::from(long), Some("x".repeat(MAX_NAME))),
        ] {
            let error = serde_json::json!({ "message": "no", "code": null, "param": param });
            let body = serde_json::json!({ "error": error }).to_string();
            let response = VendorResponse {
                status: 400,
                retry_after: None,
                body: body.as_bytes(),
            };
            let VendorFailure::Refused(error) = openai(&response) else {
                panic!("{body}");
            };
            assert_eq!(error.param, named);
        }
    }
}

//! How the vendor says no: a number, a text and the request's id, under the status that the number
//! goes with. The texts of most are recalled: `[unverified]`.

use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KlingError {
    pub(super) status: u16,
    code: u32,
    message: String,
}

/// Every number with its status and its text.
const CODES: [(u32, u16, &str); 19] = [
    (1000, 401, "authentication failed"),
    (1001, 401, "Authorization is empty"),
    (1002, 401, "Authorization is invalid"),
    (1003, 401, "Authorization is not yet valid"),
    (1004, 401, "Authorization has expired"),
    (1100, 429, "account exception"),
    (1101, 429, "Account in arrears"),
    (1102, 429, "Account balance not enough"),
    (1103, 403, "no access to the requested resource"),
    (1200, 400, "invalid request parameters"),
    (1201, 400, "invalid parameters"),
    (1202, 404, "the requested method is invalid"),
    (1203, 404, "the requested resource does not exist"),
    (1300, 400, "trigger strategy of the platform"),
    (1301, 400, "content security policy of the platform"),
    (1302, 429, "the API request is too fast"),
    (1303, 429, "parallel task over resource pack limit"),
    (1304, 429, "trigger the IP whitelisting policy"),
    (5000, 500, "server internal error"),
];
const MAINTENANCE: (u32, u16, &str) = (5001, 503, "server temporarily unavailable");
const TIMEOUT: (u32, u16, &str) = (5002, 504, "server internal timeout");

// === impl KlingError ===

impl KlingError {
    pub(super) fn parameter(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            ..Self::of(1201)
        }
    }

    pub(super) fn path() -> Self {
        Self::of(1202)
    }

    pub(super) fn not_there() -> Self {
        Self::of(1203)
    }

    pub(super) fn full() -> Self {
        Self::of(1303)
    }

    /// The newer paths take API keys alone.
    pub(super) fn token_here() -> Self {
        Self {
            message: "this API requires an API key".to_owned(),
            ..Self::of(1002)
        }
    }

    /// A number that a prompt asked for; what is none of the vendor's is a wrong parameter.
    pub(super) fn coded(code: &str) -> Self {
        code.parse()
            .map_or_else(|_| Self::parameter(code), Self::of)
    }

    pub(super) fn of(code: u32) -> Self {
        let mut all = CODES.into_iter().chain([MAINTENANCE, TIMEOUT]);
        let known = all.find(|(known, _, _)| *known == code);
        let (code, status, message) = known.unwrap_or((1200, 400, "invalid request parameters"));
        Self {
            status,
            code,
            message: message.to_owned(),
        }
    }

    pub(super) fn body(&self, request_id: &str) -> Value {
        json!({ "code": self.code, "message": self.message, "request_id": request_id })
    }
}

//! What the vendor tells of itself: prices, the account and its health. None of it is charged.

use http::Method;
use serde_json::{Value, json};

use super::answer::{Context, Reply};
use super::params::{Arguments, decoded};
use super::rows::{self, Row};
use crate::recorded_request::RecordedRequest;

const USER: &str = "/api/v1/tikhub/user/";
const HEALTH: &str = "/api/v1/health/check";
/// What an account begins with: a hundred dollars.
const FIRST_BALANCE_MICROS: u64 = 100_000_000;

/// A question about the vendor itself.
#[derive(Clone, Copy)]
enum Question {
    Health,
    OneEndpoint,
    AllEndpoints,
    Account,
}

/// The answer, if the path is one of these.
pub(super) fn answer(recorded: &RecordedRequest, path: &str) -> Option<Reply> {
    let question = match path.strip_prefix(USER) {
        Some("get_endpoint_info") => Question::OneEndpoint,
        Some("get_all_endpoints_info") => Question::AllEndpoints,
        Some("get_user_info") => Question::Account,
        Some(_) => return None,
        None if path == HEALTH => Question::Health,
        None => return None,
    };
    if recorded.parts.method != Method::GET {
        return Some(Reply::wrong_method());
    }
    let arguments = Arguments::default();
    let context = Context::new(recorded, path, &arguments);
    let is_known = !recorded.key.is_empty() && recorded.state.accepts(&recorded.key);
    // Whether it lives may be asked without a token.
    if !is_known && !matches!(question, Question::Health) {
        return Some(context.refused(401, "Invalid or missing API token."));
    }
    let view = match question {
        Question::Health => json!({ "code": 200, "status": "ok", "router": path }),
        Question::AllEndpoints => {
            let all: Vec<Value> = rows::all().map(row_view).collect();
            json!({ "code": 200, "router": path, "total": all.len(), "data": all })
        }
        Question::Account => account(recorded, path),
        Question::OneEndpoint => match requested_path(recorded) {
            None => {
                let missing = json!([{ "type": "missing", "loc": ["query", "endpoint"],
                    "msg": "Field required", "input": null }]);
                return Some(Reply::invalid(&missing));
            }
            Some(endpoint) => match rows::at(&endpoint) {
                Ok(Some(row)) => json!({ "code": 200, "router": path, "data": row_view(row) }),
                Ok(None) | Err(_) => {
                    return Some(context.refused(404, "There is no such endpoint."));
                }
            },
        },
    };
    Some(Reply::json(200, &view))
}

fn requested_path(recorded: &RecordedRequest) -> Option<String> {
    let query = recorded.parts.uri.query()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == "endpoint")?;
    Some(decoded(value))
}

fn row_view(row: &Row) -> Value {
    json!({
        "endpoint_uri": row.path,
        "endpoint_method": row.method.as_str(),
        "endpoint_cost": dollars(row.price_micros),
        "allow_free_credit": false,
        "allow_discount": true,
    })
}

fn account(recorded: &RecordedRequest, path: &str) -> Value {
    let spent = recorded.state.social.spent_micros();
    json!({
        "code": 200,
        "router": path,
        "api_key_data": {
            "api_key_name": "simulated",
            "api_key_scopes": ["/api/v1/"],
            "api_key_status": 1,
        },
        "user_data": {
            "email": "account@example.com",
            "balance": dollars(FIRST_BALANCE_MICROS.saturating_sub(spent)),
            "free_credit": 0,
            "email_verified": true,
            "account_disabled": false,
            "is_active": true,
        },
    })
}

/// An amount as a JSON number of dollars.
fn dollars(micros: u64) -> Value {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    // Digits and a point are a number.
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_a_number_of_dollars() {
        assert_eq!(dollars(1_000).to_string(), "0.001");
        assert_eq!(dollars(99_990_000).to_string(), "99.99");
    }
}

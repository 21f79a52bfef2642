//! The request to the vendor for a checked query.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::cell::{Kind, Method};
use crate::check::CheckedQuery;

/// All but what never needs an escape (RFC 3986, unreserved).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorRequest {
    pub method: Method,
    pub target: String,
    /// The JSON body of a POST.
    pub body: Option<String>,
}

// === impl CheckedQuery ===

impl CheckedQuery {
    /// The vendor request. Parameters that are not given are not sent; cursors are sent as they came.
    #[must_use]
    pub fn vendor_request(&self) -> VendorRequest {
        let cell = &self.cell;
        match cell.method {
            Method::Get => {
                let fixed = cell
                    .fixed
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()));
                let given = self
                    .given()
                    .map(|(param, value)| (param.name.as_str(), value));
                let pairs: Vec<String> = fixed
                    .chain(given)
                    .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
                    .collect();
                let mark = if pairs.is_empty() { "" } else { "?" };
                VendorRequest {
                    method: Method::Get,
                    target: format!("{}{mark}{}", cell.path, pairs.join("&")),
                    body: None,
                }
            }
            Method::Post => {
                let fixed = cell.fixed.iter();
                let mut body: Map<String, Value> = fixed
                    .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
                    .collect();
                for (param, value) in self.given() {
                    if let Some(value) = typed(&param.kind, value) {
                        body.insert(param.name.clone(), value);
                    }
                }
                VendorRequest {
                    method: Method::Post,
                    target: cell.path.clone(),
                    body: Some(Value::Object(body).to_string()),
                }
            }
        }
    }
}

/// A body has types; an empty value that is no text says nothing.
fn typed(kind: &Kind, value: &str) -> Option<Value> {
    let number = || value.parse().ok().map(|number: i64| Value::from(number));
    match kind {
        Kind::Text => Some(Value::from(value)),
        Kind::Integer => number(),
        Kind::Boolean => Some(Value::Bool(value == "true")),
        Kind::IntegerOrWord(_) if value.is_empty() => None,
        Kind::IntegerOrWord(_) => number().or_else(|| Some(Value::from(value))),
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

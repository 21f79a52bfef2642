//! Classifies the vendor's response. A status alone does not suffice: a success may hold no data, and an error
//! may be about the item, about the operator's account there, or about an endpoint that was removed.

use serde_json::Value;

use crate::cell::{Cell, On400};
use crate::json::{at, elements, is_empty, members, towards};

/// The codes inside an envelope that mark a success.
const SUCCESS: [i64; 2] = [200, 0];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseClass {
    /// Data, to be delivered and charged.
    Data(Data),
    /// The platform has nothing for these parameters.
    Nothing,
    /// The vendor failed, or responded without data; why, for the log.
    Failed(&'static str),
    /// The vendor is rate limiting.
    Busy,
    /// The vendor refuses the operator's account: its status.
    Account(u16),
    /// The vendor's endpoint does not exist any more.
    Gone,
}

/// Data of a platform: a JSON object, as the source sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    pub(crate) object: String,
}

// === impl Data ===

impl Data {
    /// The object, byte by byte as it came.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.object
    }
}

#[must_use]
pub fn read(cell: &Cell, status: u16, body: &[u8]) -> ResponseClass {
    let text = std::str::from_utf8(body).unwrap_or_default();
    match status {
        200 => opened(cell, text),
        401..=403 => ResponseClass::Account(status),
        404 => not_there(text),
        429 => ResponseClass::Busy,
        400 | 410 => match cell.on_400 {
            On400::NotFound => ResponseClass::Nothing,
            On400::TryAgain => ResponseClass::Failed("refused"),
        },
        405..=499 => ResponseClass::Failed("misunderstood"),
        500..=599 => ResponseClass::Failed("failed"),
        _ => ResponseClass::Failed("unexpected status"),
    }
}

fn opened(cell: &Cell, text: &str) -> ResponseClass {
    let Some(envelope) = members(text) else {
        return ResponseClass::Failed("unreadable");
    };
    let code = envelope.get("code").map(|raw| raw.get());
    let code: Option<i64> = code.and_then(|raw| serde_json::from_str(raw).ok());
    if !code.is_some_and(|code| SUCCESS.contains(&code)) {
        return ResponseClass::Failed("no success marker");
    }
    match envelope.get("data") {
        None => ResponseClass::Failed("no data"),
        Some(data) => found(cell, data.get()),
    }
}

/// Data that are something, as an object.
fn found(cell: &Cell, data: &str) -> ResponseClass {
    if is_empty(data) {
        return ResponseClass::Nothing;
    }
    let object = match data.as_bytes().first() {
        Some(b'{') if has_something(cell, data) => data.to_owned(),
        Some(b'{') => return ResponseClass::Nothing,
        Some(b'[') => format!("{{\"items\":{data}}}"),
        Some(_) | None => format!("{{\"value\":{data}}}"),
    };
    ResponseClass::Data(Data { object })
}

/// The cell's rule. Where the answer has none of the places that the rule names, it has a shape that we
/// do not know, and is something if anything in it holds more than one value.
fn has_something(cell: &Cell, data: &str) -> bool {
    for inner in &cell.inner {
        let Some(raw) = at(data, &inner.at) else {
            continue;
        };
        let value: Option<Value> = serde_json::from_str(raw).ok();
        if !value.is_some_and(|value| inner.is.contains(&value)) {
            return false;
        }
    }
    let pointers = cell.some_of.iter();
    let places = pointers.filter_map(|pointer| towards(data, pointer));
    let mut known = false;
    for place in places {
        known = true;
        if !is_empty(place) {
            return true;
        }
    }
    if known {
        return false;
    }
    let holds = |raw: &str| matches!(raw.as_bytes().first(), Some(b'{' | b'[')) && !is_empty(raw);
    members(data).is_some_and(|members| members.values().any(|raw| holds(raw.get())))
}

/// A missing item is reported as an object with its route; a removed endpoint as `Not Found`.
fn not_there(text: &str) -> ResponseClass {
    let Some(body) = members(text) else {
        return ResponseClass::Failed("404 without a JSON body");
    };
    let detail = body.get("detail").map(|raw| raw.get());
    match detail.map(serde_json::from_str::<Value>) {
        Some(Ok(Value::String(words))) if words == "Not Found" => ResponseClass::Gone,
        Some(Ok(Value::Object(_))) => ResponseClass::Nothing,
        None if body.contains_key("router") => ResponseClass::Nothing,
        Some(_) | None => ResponseClass::Failed("404 without a known detail"),
    }
}

/// The list that a page consists of: the first place of the rule that is a list with something in it.
pub(crate) fn items<'a>(cell: &Cell, data: &'a str) -> Option<Vec<&'a str>> {
    let places = cell.some_of.iter().filter_map(|pointer| at(data, pointer));
    let lists = places.chain(at(data, "/items")).filter_map(elements);
    let mut filled = lists.filter(|list| !list.is_empty());
    let list = filled.next()?;
    Some(list.into_iter().map(|raw| raw.get()).collect())
}

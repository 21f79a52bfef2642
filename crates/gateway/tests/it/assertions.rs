//! What tests of formats look for: units and prices of a row, the ends and errors of streams.

use std::fmt;

use serde_json::Value;
use trunkline_ledger::usage::UsageRow;
use trunkline_types::Money;

use crate::client_decode::Sse;
use crate::client_encode::ClientFormat;
use crate::test_gateway::GatewayResponse;

/// What each face costs in pico-USD: no two the same, so that a token under a wrong face is seen.
pub(crate) const PRICES: [(&str, u64); 9] = [
    ("input", 2_000_000),
    ("output", 8_000_000),
    ("cache_read", 200_000),
    ("cache_write", 2_500_000),
    ("cache_write_1h", 4_000_000),
    ("image_input", 3_000_000),
    ("audio_input", 5_000_000),
    ("image_output", 30_000_000),
    ("audio_output", 20_000_000),
];

pub(crate) fn unit(row: &UsageRow, face: &str) -> u64 {
    row.units[face].as_u64().unwrap_or(0)
}

pub(crate) fn charged(row: &UsageRow) -> i64 {
    row.paid.nanos() + row.trial.nanos()
}

/// What the units of a row cost, by hand.
pub(crate) fn price(row: &UsageRow) -> i64 {
    price_of(&row.units)
}

pub(crate) fn price_of(units: &Value) -> i64 {
    let units = units.as_object().unwrap().iter();
    let pico: u64 = units
        .map(|(face, count)| {
            let price = PRICES.iter().find(|(name, _)| name == face);
            price.unwrap_or_else(|| panic!("{face}")).1 * count.as_u64().unwrap()
        })
        .sum();
    i64::try_from((pico + 500) / 1_000).unwrap()
}

pub(crate) fn nanos(usd: &str) -> i64 {
    usd.parse::<Money>().unwrap().nanos()
}

pub(crate) fn cost_of(frame: &Sse) -> Option<String> {
    let comment = frame.comment.as_deref()?;
    Some(comment.strip_prefix("trunkline-cost-usd=")?.to_owned())
}

/// Whether a frame is the last of a whole answer.
pub(crate) fn is_terminal(client_format: ClientFormat, frame: &Sse) -> bool {
    let data = frame.data.as_deref();
    let json = || frame.json().unwrap_or_default();
    match client_format {
        ClientFormat::Chat => data == Some("[DONE]"),
        ClientFormat::Messages => json()["type"] == "message_stop",
        ClientFormat::Responses => matches!(
            json()["type"].as_str(),
            Some("response.completed" | "response.incomplete")
        ),
        ClientFormat::Gemini => json()["candidates"][0]["finishReason"].is_string(),
    }
}

/// Whether a frame may leave only behind the charge.
pub(crate) fn is_ending(client_format: ClientFormat, frame: &Sse) -> bool {
    let json = || frame.json().unwrap_or_default();
    is_terminal(client_format, frame)
        || match client_format {
            ClientFormat::Messages => json()["type"] == "message_delta",
            ClientFormat::Chat | ClientFormat::Responses | ClientFormat::Gemini => false,
        }
}

/// The error event of a stream, if it has one.
pub(crate) fn error_inside(got: &GatewayResponse) -> Option<Value> {
    let frames = Sse::all(&got.text());
    let mut data = frames.iter().filter_map(Sse::json);
    data.find(|data| data["error"].is_object())
}

pub(crate) fn same<T: PartialEq + fmt::Debug>(what: &str, is: T, wants: T) -> Result<(), String> {
    if is == wants {
        return Ok(());
    }
    Err(format!("{what} is {is:?}, expected {wants:?}"))
}

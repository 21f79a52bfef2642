//! Parameters of the key endpoints, read and checked. An unknown field is refused: a client that sends
//! one believes that it has an effect.

use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use trunkline_edge::error::ApiError;
use trunkline_store::keys::{OVERLAP_DEFAULT_SECONDS, OVERLAP_MAX_SECONDS, PAGE_MAX_ROWS};
use trunkline_store::{MaxPrice, OnDisconnect, Policy, PolicyFields, RoutePolicy};
use trunkline_types::{KeyId, Money, Timestamp};

use super::invalid;
use crate::resources::read_body;

/// Keys of a page if the query names no limit.
const USUAL_PAGE: u32 = 100;
/// The longest life that can be asked for, a hundred years.
const MAX_LIFE_SECONDS: i64 = 36_500 * 86_400;

pub(super) struct CreateKey {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) cap: Option<Money>,
}

pub(super) struct Change {
    pub(super) name: Option<String>,
    pub(super) expires_at: Option<Option<Timestamp>>,
}

pub(super) struct Page {
    pub(super) after: Option<KeyId>,
    pub(super) limit: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBody {
    name: String,
    models: Option<Vec<String>>,
    endpoints: Option<Vec<String>>,
    platforms: Option<Vec<String>>,
    addresses: Option<Vec<String>>,
    regions: Option<Vec<String>>,
    residencies: Option<Vec<String>>,
    #[serde(default)]
    upstream_zero_retention: bool,
    policy: Option<String>,
    max_price: Option<MaxPriceBody>,
    requests_per_minute: Option<i64>,
    tokens_per_minute: Option<i64>,
    concurrent_calls: Option<i64>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    zero_retention: bool,
    on_disconnect: Option<String>,
    cap_usd: Option<Box<RawValue>>,
    expires_in_seconds: Option<i64>,
    expires_at: Option<i64>,
}

/// Amounts in USD, as texts or numbers. One that is not there has no limit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MaxPriceBody {
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
    unit: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    name: Option<String>,
    expires_in_seconds: Option<i64>,
    /// Null is "never", and not the same as nothing.
    #[serde(default, deserialize_with = "there")]
    expires_at: Option<Option<i64>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RotateBody {
    overlap_seconds: Option<u32>,
}

fn there<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Option<i64>>, D::Error> {
    Option::deserialize(reader).map(Some)
}

// === impl CreateKey ===

impl CreateKey {
    pub(super) fn read(body: &Bytes, now: Timestamp) -> Result<Self, ApiError> {
        let body: NewBody = read_body(body)?;
        let ends = end_of(body.expires_in_seconds, body.expires_at.map(Some), now)?;
        let policy = Policy::new(PolicyFields {
            models: body.models,
            endpoints: body.endpoints,
            platforms: body.platforms,
            addresses: body.addresses,
            regions: body.regions,
            residencies: body.residencies,
            upstream_zero_retention: body.upstream_zero_retention,
            policy: body.policy.as_deref().map(route_policy_of).transpose()?,
            max_price: max_price_of(body.max_price.as_ref())?,
            requests_per_minute: body.requests_per_minute,
            tokens_per_minute: body.tokens_per_minute,
            concurrent_calls: body.concurrent_calls,
            strict: body.strict,
            zero_retention: body.zero_retention,
            on_disconnect: body
                .on_disconnect
                .as_deref()
                .map(on_disconnect_of)
                .transpose()?,
            expires_at: ends.flatten(),
            ..PolicyFields::default()
        });
        Ok(Self {
            name: body.name,
            policy: policy.map_err(|error| invalid(error.field, error.to_string()))?,
            cap: body.cap_usd.as_deref().map(cap_of).transpose()?,
        })
    }
}

// === impl Change ===

impl Change {
    pub(super) fn read(body: &Bytes, now: Timestamp) -> Result<Self, ApiError> {
        let body: ChangeBody = read_body(body)?;
        let expires_at = end_of(body.expires_in_seconds, body.expires_at, now)?;
        if body.name.is_none() && expires_at.is_none() {
            let text = "nothing to change: send `name`, `expires_at` or `expires_in_seconds`";
            return Err(invalid("body", text.to_owned()));
        }
        Ok(Self {
            name: body.name,
            expires_at,
        })
    }
}

// === impl Page ===

impl Page {
    pub(super) fn read(query: Option<&str>) -> Result<Self, ApiError> {
        let mut page = Self {
            after: None,
            limit: USUAL_PAGE,
        };
        let pairs = query.unwrap_or_default().split('&');
        for (name, value) in pairs.filter_map(|pair| pair.split_once('=')) {
            match name {
                "after" => {
                    let number: Option<i64> = value.parse().ok();
                    let text = "`after` must be a key id, such as the `next_after` of a page";
                    let number = number.ok_or_else(|| invalid("after", text.to_owned()))?;
                    page.after = Some(KeyId::new(number));
                }
                "limit" => {
                    let number: Option<u32> = value.parse().ok();
                    let number = number.filter(|number| (1..=PAGE_MAX_ROWS).contains(number));
                    let text = || format!("`limit` must be from 1 to {PAGE_MAX_ROWS}");
                    page.limit = number.ok_or_else(|| invalid("limit", text()))?;
                }
                _ => {}
            }
        }
        Ok(page)
    }
}

/// How long the secret before a rotation is good. The body may be empty.
pub(super) fn overlap(body: &Bytes) -> Result<u32, ApiError> {
    let body = if body.is_empty() {
        RotateBody::default()
    } else {
        read_body(body)?
    };
    let seconds = body.overlap_seconds.unwrap_or(OVERLAP_DEFAULT_SECONDS);
    if seconds > OVERLAP_MAX_SECONDS {
        let text = format!("`overlap_seconds` must be from 0 to {OVERLAP_MAX_SECONDS}");
        return Err(invalid("overlap_seconds", text));
    }
    Ok(seconds)
}

/// The end that was asked for, by a length or by a moment; none if nothing was said of it.
fn end_of(
    seconds: Option<i64>,
    at: Option<Option<i64>>,
    now: Timestamp,
) -> Result<Option<Option<Timestamp>>, ApiError> {
    match (seconds, at) {
        (Some(_), Some(_)) => {
            let text = "send `expires_in_seconds` or `expires_at`, not both";
            Err(invalid("expires_at", text.to_owned()))
        }
        (Some(seconds), None) if (1..=MAX_LIFE_SECONDS).contains(&seconds) => {
            Ok(Some(Some(now.plus_seconds(seconds))))
        }
        (Some(_), None) => {
            let text = format!("`expires_in_seconds` must be from 1 to {MAX_LIFE_SECONDS}");
            Err(invalid("expires_in_seconds", text))
        }
        (None, Some(Some(at))) => {
            let latest = now.plus_seconds(MAX_LIFE_SECONDS).seconds();
            if !(0..=latest).contains(&at) {
                let text =
                    "`expires_at` must be a unix time in seconds within the next hundred years";
                return Err(invalid("expires_at", text.to_owned()));
            }
            Ok(Some(Some(Timestamp::from_micros(0).plus_seconds(at))))
        }
        (None, Some(None)) => Ok(Some(None)),
        (None, None) => Ok(None),
    }
}

fn on_disconnect_of(word: &str) -> Result<OnDisconnect, ApiError> {
    let text = "`on_disconnect` must be \"cancel\" or \"finish\"";
    OnDisconnect::of_word(word).ok_or_else(|| invalid("on_disconnect", text.to_owned()))
}

fn route_policy_of(word: &str) -> Result<RoutePolicy, ApiError> {
    let text = "`policy` must be \"priority\", \"cheapest\" or \"fastest\"";
    RoutePolicy::of_word(word).ok_or_else(|| invalid("policy", text.to_owned()))
}

fn max_price_of(body: Option<&MaxPriceBody>) -> Result<MaxPrice, ApiError> {
    let Some(body) = body else {
        return Ok(MaxPrice::default());
    };
    let digits = |raw: &Option<Box<RawValue>>| {
        let text = raw.as_deref().map(RawValue::get);
        text.map(|text| text.trim().trim_matches('"').to_owned())
    };
    let (input, output) = (digits(&body.input), digits(&body.output));
    let unit = digits(&body.unit);
    MaxPrice::read(input.as_deref(), output.as_deref(), unit.as_deref())
        .map_err(|error| invalid(error.field, error.to_string()))
}

/// An amount as a text or a number, read from its digits: no float touches money.
fn cap_of(raw: &RawValue) -> Result<Money, ApiError> {
    let wrong = || {
        let text = "`cap_usd` must be an amount above 0 such as \"5.00\", with at most nine decimal places";
        invalid("cap_usd", text.to_owned())
    };
    let digits = raw.get().trim().trim_matches('"');
    let cap: Money = digits.parse().map_err(|_| wrong())?;
    if cap <= Money::ZERO {
        return Err(wrong());
    }
    Ok(cap)
}

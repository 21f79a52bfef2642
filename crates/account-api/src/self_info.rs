//! What a key can ask about itself: its balance, what a call cost, what it may do.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};
use trunkline_catalog::audio_tokens_shown;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{Response, json as answer};
use trunkline_ledger::{accounts, unconfirmed, usage};
use trunkline_store::keys;
use trunkline_types::{Bucket, Money, RequestId, Usage};

use crate::resources::key_view;
use crate::state::AccountApi;

/// What is measured beside the faces and shown by its name.
const BESIDE_FACES: [(&str, Bucket); 2] = [
    ("connection_seconds", Bucket::ConnectionSeconds),
    ("cached_audio_tokens", Bucket::CachedAudio),
];

/// What is in the wallets.
pub async fn balance(api: &AccountApi, caller: &Caller) -> Result<Response, ApiError> {
    let balance = accounts::balance(&api.data, caller.account.id).await?;
    let balance = balance.ok_or_else(ApiError::unavailable)?;
    let free =
        |posted: Money, held: Money| posted.checked_sub(held).unwrap_or(Money::ZERO).to_string();
    let body = json!({
        "object": "balance",
        "paid_usd": balance.paid.to_string(),
        "trial_usd": balance.trial.to_string(),
        "reserved_usd": sum(balance.paid_held, balance.trial_held),
        "available_paid_usd": free(balance.paid, balance.paid_held),
        "available_trial_usd": free(balance.trial, balance.trial_held),
    });
    Ok(answer(StatusCode::OK, &body))
}

/// What the key is and may do. Its name is not in memory.
pub async fn key(api: &AccountApi, caller: &Caller) -> Result<Response, ApiError> {
    let mut session = api.data.session().await?;
    let found = keys::find(&mut session, caller.key.id).await;
    drop(session);
    let key = found?.ok_or_else(ApiError::unavailable)?;
    let body = key_view(&key, &caller.account, api.edge.now());
    Ok(answer(StatusCode::OK, &body))
}

/// What a call of this account cost.
pub async fn usage(api: &AccountApi, caller: &Caller, id: &str) -> Result<Response, ApiError> {
    let unknown = || {
        let text = "this account has no finished call with this id";
        ApiError::new(ErrorCode::NotFound, text).at("request_id")
    };
    let request: RequestId = id.parse().map_err(|_| unknown())?;
    let body = usage_view(api, caller, request).await?;
    Ok(answer(StatusCode::OK, &body.ok_or_else(unknown)?))
}

/// What a call of this account cost, as it is shown; none while it runs, or if there is none.
pub async fn usage_view(
    api: &AccountApi,
    caller: &Caller,
    request: RequestId,
) -> Result<Option<Value>, ApiError> {
    let Some(row) = usage::find(&api.data, caller.account.id, request).await? else {
        return Ok(None);
    };
    let unconfirmed = unconfirmed::is_unconfirmed(&api.data, caller.account.id, request).await?;
    let mut body = json!({
        "object": "usage",
        "request_id": request.to_string(),
        "model": row.model,
        "endpoint": row.endpoint,
        "group": row.group,
        "outcome": row.outcome,
        "charged": row.paid > Money::ZERO || row.trial > Money::ZERO,
        "cost_usd": sum(row.paid, row.trial),
        "paid_usd": row.paid.to_string(),
        "trial_usd": row.trial.to_string(),
        "refunded_usd": row.refunded.to_string(),
        "units": row.units,
        "prompt_tokens": prompt_tokens(&row.measured),
        "completion_tokens": completion_tokens(&row.measured),
        "tier": row.tier,
        "estimated": row.estimated,
        "pricing_version": row.price_version,
        "warnings": row.warnings,
    });
    let tools: BTreeMap<&str, u64> = row.measured.tool_calls().collect();
    if let Some(body) = body.as_object_mut().filter(|_| !tools.is_empty()) {
        body.insert("tool_calls".to_owned(), json!(tools));
    }
    for (name, bucket) in BESIDE_FACES {
        let measured = row.measured.reported(bucket).filter(|count| *count > 0);
        if let (Some(body), Some(count)) = (body.as_object_mut(), measured) {
            body.insert(name.to_owned(), json!(count));
        }
    }
    // Its node failed right after the charge: the customer may have it refunded.
    if unconfirmed && let Some(body) = body.as_object_mut() {
        body.insert("delivery".to_owned(), json!("unconfirmed"));
    }
    Ok(Some(body))
}

fn sum(one: Money, other: Money) -> String {
    one.checked_add(other).unwrap_or(one).to_string()
}

/// What went in as tokens: those that were counted, a character of speech as one, a minute of a recording
/// as a thousand.
fn prompt_tokens(measured: &Usage) -> u64 {
    let tokens = [
        Bucket::PlainInput,
        Bucket::CacheRead,
        Bucket::CachedAudio,
        Bucket::CacheWrite5m,
        Bucket::CacheWrite1h,
        Bucket::ImageInput,
        Bucket::AudioInput,
        Bucket::Characters,
    ];
    let seconds = measured.reported(Bucket::AudioSeconds).unwrap_or(0);
    total(measured, &tokens).saturating_add(audio_tokens_shown(seconds))
}

/// What came out as tokens.
fn completion_tokens(measured: &Usage) -> u64 {
    let tokens = [
        Bucket::PlainOutput,
        Bucket::ImageOutput,
        Bucket::AudioOutput,
    ];
    total(measured, &tokens)
}

fn total(measured: &Usage, buckets: &[Bucket]) -> u64 {
    let counts = buckets
        .iter()
        .filter_map(|bucket| measured.reported(*bucket));
    counts.fold(0, u64::saturating_add)
}

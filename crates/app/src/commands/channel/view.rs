//! A channel as people and programs see it: nothing sealed, and of extra headers only the names.

use serde_json::{Value, json};
use trunkline_store::channels::{Channel, CostBook, Credential};
use trunkline_types::Timestamp;

use crate::{table, times};

/// Models named in a line; more are counted.
const MODELS_IN_A_LINE: usize = 4;

/// A channel as JSON.
pub(super) fn channel(channel: &Channel, now: Timestamp) -> Value {
    let credentials: Vec<Value> = channel
        .credentials
        .iter()
        .map(|one| credential(one, now))
        .collect();
    let headers: Vec<&String> = channel.extra_headers.keys().collect();
    json!({
        "id": channel.id.number(),
        "name": channel.name,
        "provider": channel.provider,
        "base_url": channel.base_url,
        "state": channel.state.as_str(),
        "priority": channel.priority,
        "weight": channel.weight,
        "region": channel.region,
        "residency": channel.residency,
        "zero_retention": channel.zero_retention,
        "models": channel.models,
        "groups": channel.groups,
        "extra_headers": headers,
        "has_proxy": channel.proxy.is_some(),
        "requests_per_minute": channel.requests_per_minute,
        "concurrent_calls": channel.concurrent_calls,
        "cost": channel.cost,
        "credentials": credentials,
        "revision": channel.revision,
    })
}

pub(super) fn table(channels: &[Channel], now: Timestamp) -> String {
    let heads = [
        "name",
        "provider",
        "state",
        "priority",
        "weight",
        "region",
        "groups",
        "models",
        "cost",
        "credentials",
    ];
    let cells: Vec<Vec<String>> = channels.iter().map(|one| cells(one, now)).collect();
    table::aligned(&heads, &[3, 4], &cells)
}

fn credential(credential: &Credential, now: Timestamp) -> Value {
    json!({
        "id": credential.id.number(),
        "label": credential.label,
        "hint": credential.hint,
        "usable": credential.is_usable(now),
        "disabled": credential.disabled,
        "cool_until": credential.cool_until.map(times::rfc3339),
        "paused_reason": credential.paused_reason,
    })
}

fn cells(channel: &Channel, now: Timestamp) -> Vec<String> {
    let credentials: Vec<String> = channel
        .credentials
        .iter()
        .map(|one| credential_words(one, now))
        .collect();
    let groups = if channel.groups.is_empty() {
        "all".to_owned()
    } else {
        channel.groups.join(", ")
    };
    vec![
        channel.name.clone(),
        channel.provider.clone(),
        channel.state.to_string(),
        channel.priority.to_string(),
        channel.weight.to_string(),
        channel.region.clone().unwrap_or_default(),
        groups,
        model_words(channel),
        cost_words(channel),
        credentials.join("; "),
    ]
}

fn model_words(channel: &Channel) -> String {
    let mut words: Vec<String> = channel
        .models
        .iter()
        .take(MODELS_IN_A_LINE)
        .map(|(ours, theirs)| {
            if ours == theirs {
                ours.clone()
            } else {
                format!("{ours}={theirs}")
            }
        })
        .collect();
    let more = channel.models.len().saturating_sub(MODELS_IN_A_LINE);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

fn cost_words(channel: &Channel) -> String {
    match channel.cost.as_ref().map(CostBook::from_json) {
        None => "not known".to_owned(),
        Some(Ok(book)) => format!(
            "{} at {} of {}",
            book.currency(),
            book.rate(),
            times::short(book.as_of())
                .chars()
                .take_while(|character| *character != 'T')
                .collect::<String>()
        ),
        Some(Err(_)) => "not usable".to_owned(),
    }
}

fn credential_words(credential: &Credential, now: Timestamp) -> String {
    let state = match (&credential.paused_reason, credential.cool_until) {
        _ if credential.disabled => " disabled".to_owned(),
        (Some(reason), _) => format!(" paused: {reason}"),
        (None, Some(until)) if now < until => {
            format!(" cooling down until {}", times::short(until))
        }
        (None, Some(_) | None) => String::new(),
    };
    format!("{} {}{state}", credential.label, credential.hint)
}

//! How rows look in JSON and in text: money as decimal USD in a string, times in RFC 3339.

use serde_json::{Value, json};
use trunkline_ledger::accounts::Balance;
use trunkline_ledger::statement::{Budget, Entry, EntryDetail};
use trunkline_store::account_routes::AccountRoutes;
use trunkline_store::accounts::Account;
use trunkline_store::keys::Key;
use trunkline_store::{MaxPrice, OnDisconnect, RoutePolicy};
use trunkline_types::{Money, Timestamp};

use crate::times;

pub(super) fn account(account: &Account, balance: &Balance) -> Value {
    json!({
        "id": account.id,
        "name": account.name,
        "kind": balance.kind.as_str(),
        "group": account.group,
        "allowed_groups": account.allowed_groups,
        "shard": account.shard.number(),
        "created_at": times::rfc3339(account.created_at),
        "closed_at": account.closed_at.map(times::rfc3339),
        "suspended_at": account.suspended_at.map(times::rfc3339),
        "routes": {
            "policy": account.routes.policy.map(RoutePolicy::as_str),
            "max_price": max_price(account.routes.max_price),
            "residencies": account.routes.residencies,
            "upstream_zero_retention": account.routes.upstream_zero_retention,
        },
    })
}

/// Which routes an account is served by, in words.
pub(super) fn routes_text(routes: &AccountRoutes) -> String {
    let parts = [
        routes
            .policy
            .map(|policy| format!("policy {}", policy.as_str())),
        max_price_words(routes.max_price),
        routes
            .residencies
            .as_ref()
            .map(|words| format!("residencies {}", words.join(","))),
        routes
            .upstream_zero_retention
            .then(|| "upstream_zero_retention".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "no demands on routes".to_owned();
    }
    parts.join("; ")
}

pub(super) fn balance(balance: &Balance) -> Value {
    json!({
        "paid_usd": usd(balance.paid),
        "paid_held_usd": usd(balance.paid_held),
        "trial_usd": usd(balance.trial),
        "trial_held_usd": usd(balance.trial_held),
        "topped_up": balance.topped_up,
    })
}

pub(super) fn budget(budget: &Budget) -> Value {
    json!({
        "key": budget.key.map(|key| key.number()),
        "period": budget.period,
        "timezone": budget.timezone,
        "limit_usd": usd(budget.limit),
        "used_usd": usd(budget.used),
        "ends_at": budget.ends_at.map(times::rfc3339),
    })
}

pub(super) fn budget_line(budget: &Budget) -> String {
    let end = budget.ends_at.map_or_else(String::new, |end| {
        format!(", until {} ({})", times::short(end), budget.timezone)
    });
    format!(
        "{}: {} of {} USD used{end}",
        budget.period, budget.used, budget.limit
    )
}

/// A key by its hint, with its policy. Nothing here can hold the key itself: the row does not.
pub(super) fn key(key: &Key, now: Timestamp, budgets: &[Budget]) -> Value {
    let fields = key.policy.fields();
    let own = budgets
        .iter()
        .filter(|budget| budget.key.is_some_and(|id| id == key.id));
    json!({
        "id": key.id.number(),
        "account": key.account,
        "parent": key.parent.map(|parent| parent.number()),
        "name": key.name,
        "hint": key.hint,
        "state": key.state(now).as_str(),
        "group": fields.group.name(),
        "models": fields.models,
        "endpoints": fields.endpoints,
        "platforms": fields.platforms,
        "addresses": fields.addresses,
        "regions": fields.regions,
        "residencies": fields.residencies,
        "upstream_zero_retention": fields.upstream_zero_retention,
        "policy": fields.policy.map(RoutePolicy::as_str),
        "max_price": max_price(fields.max_price),
        "requests_per_minute": fields.requests_per_minute,
        "tokens_per_minute": fields.tokens_per_minute,
        "concurrent_calls": fields.concurrent_calls,
        "strict": fields.strict,
        "fit_to_balance": fields.fit_to_balance,
        "zero_retention": fields.zero_retention,
        "on_disconnect": fields.on_disconnect.map(OnDisconnect::as_str),
        "budgets": own.map(budget).collect::<Vec<Value>>(),
        "expires_at": fields.expires_at.map(times::rfc3339),
        "created_at": times::rfc3339(key.created_at),
        "revoked_at": key.revoked_at.map(times::rfc3339),
        "disabled_at": key.disabled_at.map(times::rfc3339),
        "revision": key.revision,
    })
}

fn max_price(limits: MaxPrice) -> Value {
    if !limits.is_set() {
        return Value::Null;
    }
    json!({
        "input": limits.input.map(usd),
        "output": limits.output.map(usd),
        "unit": limits.unit.map(usd),
    })
}

fn max_price_words(limits: MaxPrice) -> Option<String> {
    let parts = [
        ("input", limits.input),
        ("output", limits.output),
        ("unit", limits.unit),
    ];
    let parts = parts.into_iter();
    let words = parts.filter_map(|(name, most)| most.map(|most| format!("{name}={most}")));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("max_price {}", words.join(",")))
}

/// What of a key's policy is not the default, in words.
pub(super) fn policy_words(key: &Key) -> String {
    let fields = key.policy.fields();
    let list = |name: &str, words: &Option<Vec<String>>| {
        let words = words.as_ref()?;
        Some(format!("{name} {}", words.join(",")))
    };
    let limit = |name: &str, limit: Option<i64>| limit.map(|limit| format!("{limit} {name}"));
    let switch = |name: &str, on: bool| on.then(|| name.to_owned());
    let parts = [
        fields.group.name().map(|group| format!("group {group}")),
        list("models", &fields.models),
        list("endpoints", &fields.endpoints),
        list("platforms", &fields.platforms),
        list("addresses", &fields.addresses),
        list("regions", &fields.regions),
        list("residencies", &fields.residencies),
        switch("upstream_zero_retention", fields.upstream_zero_retention),
        fields
            .policy
            .map(|policy| format!("policy {}", policy.as_str())),
        max_price_words(fields.max_price),
        limit("requests/min", fields.requests_per_minute),
        limit("tokens/min", fields.tokens_per_minute),
        limit("concurrent", fields.concurrent_calls),
        switch("strict", fields.strict),
        fields
            .fit_to_balance
            .map(|fit| format!("fit_to_balance {fit}")),
        switch("zero_retention", fields.zero_retention),
        fields
            .on_disconnect
            .map(|then| format!("on_disconnect {}", then.as_str())),
        fields
            .expires_at
            .map(|end| format!("until {}", times::short(end))),
    ];
    let policy: Vec<String> = parts.into_iter().flatten().collect();
    policy.join("; ")
}

/// An entry of a statement.
pub(super) fn entry(entry: &Entry) -> Value {
    let details = match &entry.detail {
        EntryDetail::Call {
            key,
            model,
            endpoint,
            group,
            outcome,
            estimated,
            warnings,
        } => json!({
            "key": key.map(|key| key.number()),
            "model": model,
            "endpoint": endpoint,
            "group": group,
            "outcome": outcome,
            "estimated": estimated,
            "warnings": warnings,
        }),
        EntryDetail::Refund
        | EntryDetail::SettlementAdjustment
        | EntryDetail::Undelivered
        | EntryDetail::DayTotal => {
            json!({})
        }
        EntryDetail::TopUp(payment) | EntryDetail::TrialGrant(payment) => {
            json!({ "provider": payment.provider, "event": payment.event })
        }
        EntryDetail::Adjustment { reason, actor } => json!({ "reason": reason, "actor": actor }),
    };
    json!({
        "request": entry.request.to_string(),
        "at": times::rfc3339(entry.at),
        "what": entry.detail.as_str(),
        "paid_usd": usd(entry.paid),
        "trial_usd": usd(entry.trial),
        "paid_after_usd": usd(entry.paid_after),
        "trial_after_usd": usd(entry.trial_after),
        "details": details,
    })
}

/// The same as cells of a table.
pub(super) fn entry_cells(entry: &Entry) -> Vec<String> {
    let details = match &entry.detail {
        EntryDetail::Call {
            model,
            endpoint,
            outcome,
            key,
            ..
        } => {
            let by = key.map_or_else(String::new, |key| format!(" by key {}", key));
            format!("{model} ({endpoint}){by}: {outcome}")
        }
        EntryDetail::Refund
        | EntryDetail::SettlementAdjustment
        | EntryDetail::Undelivered
        | EntryDetail::DayTotal => String::new(),
        EntryDetail::TopUp(payment) | EntryDetail::TrialGrant(payment) => {
            format!("{} {}", payment.provider, payment.event)
        }
        EntryDetail::Adjustment { reason, actor } => format!("{reason} ({actor})"),
    };
    vec![
        times::short(entry.at),
        entry.detail.as_str().to_owned(),
        usd(entry.paid),
        usd(entry.trial),
        usd(entry.paid_after),
        usd(entry.trial_after),
        entry.request.to_string(),
        details,
    ]
}

/// Decimal USD. A number in JSON would be read as a float by most programs.
pub(super) fn usd(money: Money) -> String {
    money.to_string()
}

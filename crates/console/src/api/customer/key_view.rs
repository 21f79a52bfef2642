//! A key as it is shown, with its budgets and its use; and a key as it is asked for.

use serde::Serialize;
use trunkline_ledger::statement;
use trunkline_ledger::usage_report::{self, KeyUse};
use trunkline_store::keys::{Key, KeyState};
use trunkline_store::{
    FieldError, KeyGroup, MaxPrice, OnDisconnect, Policy, PolicyFields, RoutePolicy,
};
use trunkline_types::{KeyId, Money, Timestamp};
use utoipa::ToSchema;

use super::amounts::BudgetView;
use super::query;
use crate::error::ApiError;
use crate::request_bodies::{MaxPriceBody, NewKey, OnDisconnectName, RoutePolicyName};
use crate::session::MemberSession;
use crate::shared::Shared;
use crate::times::rfc3339;

/// State of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = KeyState)]
pub(crate) enum KeyStateName {
    /// It does.
    Active,
    /// Switched off; may be switched on again.
    Disabled,
    /// Its time is over.
    Expired,
    /// Gone for good.
    Revoked,
}

/// A key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyView {
    /// Key id.
    id: i64,
    /// Parent key; null if there is none.
    #[schema(required)]
    parent_id: Option<i64>,
    /// Display name.
    name: String,
    /// Prefix and last four characters of the secret.
    hint: String,
    /// Whether the key is usable.
    #[schema(inline = false)]
    state: KeyStateName,
    /// Pricing group, `auto` for the catalog's choice; null for the organisation's group.
    #[schema(required)]
    group: Option<String>,
    /// Allowed models; null for all.
    #[schema(required)]
    models: Option<Vec<String>>,
    /// Allowed endpoints; null for all.
    #[schema(required)]
    endpoints: Option<Vec<String>>,
    /// Allowed social platforms; null for all.
    #[schema(required)]
    platforms: Option<Vec<String>>,
    /// Allowed client networks; null for all.
    #[schema(required)]
    addresses: Option<Vec<String>>,
    /// Allowed upstream regions; null for all.
    #[schema(required)]
    regions: Option<Vec<String>>,
    /// Where upstreams may keep data; null for anywhere.
    #[schema(required)]
    residencies: Option<Vec<String>>,
    /// Whether only upstreams that keep nothing are used.
    upstream_zero_retention: bool,
    /// In which order routes are tried; null for `priority`.
    #[schema(required, inline = false)]
    policy: Option<RoutePolicyName>,
    /// The highest price; null for any.
    #[schema(required, inline = false)]
    max_price: Option<MaxPriceBody>,
    /// Requests per minute; null for the instance's limit.
    #[schema(required)]
    requests_per_minute: Option<i64>,
    /// Tokens per minute; null for the instance's limit.
    #[schema(required)]
    tokens_per_minute: Option<i64>,
    /// Concurrent calls; null for the instance's limit.
    #[schema(required)]
    concurrent_calls: Option<i64>,
    /// Whether calls with ignored or rewritten fields are rejected.
    strict: bool,
    /// Whether a call's maximum is lowered to what the balance covers; null for only while trial credit pays.
    #[schema(required)]
    fit_to_balance: Option<bool>,
    /// Whether prompts and results are not stored.
    zero_retention: bool,
    /// What becomes of a stream whose client leaves; null for `cancel`.
    #[schema(required, inline = false)]
    on_disconnect: Option<OnDisconnectName>,
    /// Expiry; null for never.
    #[schema(required, format = DateTime)]
    expires_at: Option<String>,
    /// Creation time.
    #[schema(format = DateTime)]
    created_at: String,
    /// Until when the previous secret is valid; null if it is not.
    #[schema(required, format = DateTime)]
    previous_until: Option<String>,
    /// Budgets.
    budgets: Vec<BudgetView>,
    /// Completed calls started in the last hour; 1,000 means 1,000 or more.
    calls_last_hour: i64,
    /// Charges minus refunds of the last 30 days.
    spent_30_days_usd: String,
    /// Start of its latest call in the last 30 days; null if there is none.
    #[schema(required, format = DateTime)]
    last_used_at: Option<String>,
}

/// Keys as they are shown, with two questions for all of them.
pub(super) async fn key_views(
    shared: &Shared,
    own: &MemberSession,
    found: &[Key],
) -> Result<Vec<KeyView>, ApiError> {
    let ids: Vec<KeyId> = found.iter().map(|key| key.id).collect();
    let budgets = statement::budgets(&shared.people, own.account, &ids).await?;
    let uses = usage_report::of_keys(&shared.people, own.account, &ids).await?;
    let views = found.iter().map(|key| {
        let budgets = budgets.iter().filter(|one| one.key == Some(key.id));
        let budgets = budgets.filter_map(BudgetView::of).collect();
        let used = uses.iter().find(|one| one.key == key.id);
        KeyView::of(key, own.now, budgets, used)
    });
    Ok(views.collect())
}

/// One of them.
pub(super) async fn one(
    shared: &Shared,
    own: &MemberSession,
    key: Key,
) -> Result<KeyView, ApiError> {
    let views = key_views(shared, own, std::slice::from_ref(&key)).await?;
    views.into_iter().next().ok_or_else(ApiError::unavailable)
}

// === impl KeyView ===

impl KeyView {
    fn of(key: &Key, now: Timestamp, budgets: Vec<BudgetView>, used: Option<&KeyUse>) -> Self {
        let policy = key.policy.fields().clone();
        let previous = key.previous.map(|(_, until)| until);
        let spent = used.map_or(0, |used| used.spent.nanos().max(0));
        Self {
            id: key.id.number(),
            parent_id: key.parent.map(KeyId::number),
            name: key.name.clone(),
            hint: key.hint.clone(),
            state: KeyStateName::of(key.state(now)),
            group: policy.group.name().map(str::to_owned),
            models: policy.models,
            endpoints: policy.endpoints,
            platforms: policy.platforms,
            addresses: policy.addresses,
            regions: policy.regions,
            residencies: policy.residencies,
            upstream_zero_retention: policy.upstream_zero_retention,
            policy: policy.policy.map(RoutePolicyName::of),
            max_price: MaxPriceBody::of(policy.max_price),
            requests_per_minute: policy.requests_per_minute,
            tokens_per_minute: policy.tokens_per_minute,
            concurrent_calls: policy.concurrent_calls,
            strict: policy.strict,
            fit_to_balance: policy.fit_to_balance,
            zero_retention: policy.zero_retention,
            on_disconnect: policy.on_disconnect.map(OnDisconnectName::of),
            expires_at: policy.expires_at.map(rfc3339),
            created_at: rfc3339(key.created_at),
            previous_until: previous.filter(|until| *until > now).map(rfc3339),
            budgets,
            calls_last_hour: used.map_or(0, |used| used.calls_last_hour),
            spent_30_days_usd: Money::from_nanos(spent).to_string(),
            last_used_at: used.and_then(|used| used.last_used_at).map(rfc3339),
        }
    }
}

// === impl KeyStateName ===

impl KeyStateName {
    pub(crate) const fn of(state: KeyState) -> Self {
        match state {
            KeyState::Live => Self::Active,
            KeyState::Disabled => Self::Disabled,
            KeyState::Expired => Self::Expired,
            KeyState::Revoked => Self::Revoked,
        }
    }
}

// === impl OnDisconnectName ===

impl OnDisconnectName {
    const fn of(value: OnDisconnect) -> Self {
        match value {
            OnDisconnect::Cancel => Self::Cancel,
            OnDisconnect::Finish => Self::Finish,
        }
    }

    const fn value(self) -> OnDisconnect {
        match self {
            Self::Cancel => OnDisconnect::Cancel,
            Self::Finish => OnDisconnect::Finish,
        }
    }
}

// === impl RoutePolicyName ===

impl RoutePolicyName {
    pub(super) const fn of(value: RoutePolicy) -> Self {
        match value {
            RoutePolicy::Priority => Self::Priority,
            RoutePolicy::Cheapest => Self::Cheapest,
            RoutePolicy::Fastest => Self::Fastest,
        }
    }

    pub(super) const fn value(self) -> RoutePolicy {
        match self {
            Self::Priority => RoutePolicy::Priority,
            Self::Cheapest => RoutePolicy::Cheapest,
            Self::Fastest => RoutePolicy::Fastest,
        }
    }
}

// === impl MaxPriceBody ===

impl MaxPriceBody {
    pub(crate) fn of(value: MaxPrice) -> Option<Self> {
        let text = |amount: Option<Money>| amount.map(|amount| amount.to_string());
        value.is_set().then(|| Self {
            input: text(value.input),
            output: text(value.output),
            unit: text(value.unit),
        })
    }

    pub(super) fn value(&self) -> Result<MaxPrice, FieldError> {
        let (input, output) = (self.input.as_deref(), self.output.as_deref());
        MaxPrice::read(input, output, self.unit.as_deref())
    }
}

// === impl NewKey ===

impl NewKey {
    /// What it may be used for, checked.
    pub(super) fn policy(&self) -> Result<Policy, ApiError> {
        let ends = self.expires_at.as_deref();
        let ends = ends.map(|text| query::moment("expires_at", text));
        Ok(Policy::new(PolicyFields {
            group: KeyGroup::of_word(self.group.clone()),
            models: self.models.clone(),
            endpoints: self.endpoints.clone(),
            platforms: self.platforms.clone(),
            addresses: self.addresses.clone(),
            regions: self.regions.clone(),
            residencies: self.residencies.clone(),
            upstream_zero_retention: self.upstream_zero_retention,
            policy: self.policy.map(RoutePolicyName::value),
            max_price: match &self.max_price {
                Some(limits) => limits.value()?,
                None => MaxPrice::default(),
            },
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            concurrent_calls: self.concurrent_calls,
            strict: self.strict,
            fit_to_balance: self.fit_to_balance,
            zero_retention: self.zero_retention,
            on_disconnect: self.on_disconnect.map(OnDisconnectName::value),
            expires_at: ends.transpose()?,
        })?)
    }
}

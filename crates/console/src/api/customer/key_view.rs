//! A key as it is shown, with its budgets and its use; and a key as it is asked for.

use serde::{Deserialize, Serialize};
use trunkline_ledger::statement;
use trunkline_ledger::usage_report::{self, KeyUse};
use trunkline_store::keys::{Key, KeyState};
use trunkline_store::{KeyGroup, Policy, PolicyFields};
use trunkline_types::{KeyId, Timestamp};
use utoipa::ToSchema;

use super::amounts::{BudgetPeriod, BudgetView};
use super::query;
use crate::api::Shared;
use crate::error::ApiError;
use crate::session::MemberSession;
use crate::times::rfc3339;

/// Whether a key opens the door.
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
    /// The key's number.
    id: i64,
    /// The key above it; null if there is none.
    #[schema(required)]
    parent_id: Option<i64>,
    /// What people call it.
    name: String,
    /// The prefix and the last four characters of its secret.
    hint: String,
    /// Whether it opens the door.
    #[schema(inline = false)]
    state: KeyStateName,
    /// The group it is priced in, `auto` for the book's choice; null for the organisation's.
    #[schema(required)]
    group: Option<String>,
    /// The only models it may use; null for all.
    #[schema(required)]
    models: Option<Vec<String>>,
    /// The only interfaces it may use; null for all.
    #[schema(required)]
    endpoints: Option<Vec<String>>,
    /// The only platforms of social data it may use; null for all.
    #[schema(required)]
    platforms: Option<Vec<String>>,
    /// The only networks it may be used from; null for all.
    #[schema(required)]
    addresses: Option<Vec<String>>,
    /// The only regions upstreams may work in; null for all.
    #[schema(required)]
    regions: Option<Vec<String>>,
    /// Requests in a minute; null for the house's limit.
    #[schema(required)]
    requests_per_minute: Option<i64>,
    /// Tokens in a minute; null for the house's limit.
    #[schema(required)]
    tokens_per_minute: Option<i64>,
    /// Calls at once; null for the house's limit.
    #[schema(required)]
    concurrent_calls: Option<i64>,
    /// Whether what would be ignored or rewritten is refused.
    strict: bool,
    /// Whether a call's maximum is lowered to what the balance covers; null for while trial money pays.
    #[schema(required)]
    fit_to_balance: Option<bool>,
    /// Whether nothing of what passes is stored.
    zero_retention: bool,
    /// When it ends; null for never.
    #[schema(required, format = DateTime)]
    expires_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
    /// Until when the secret before this one opens the door; null if it does not.
    #[schema(required, format = DateTime)]
    previous_until: Option<String>,
    /// What it may spend.
    budgets: Vec<BudgetView>,
    /// Calls that began in the last hour and are over; 1,000 means as many or more.
    calls_last_hour: i64,
    /// Charged in the last 30 days, less what went back.
    spent_30_days_usd: String,
    /// When its newest call of the last 30 days began; null if there is none.
    #[schema(required, format = DateTime)]
    last_used_at: Option<String>,
}

/// A budget to set.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBudget {
    /// Which stretch of time; each at most once.
    #[schema(inline = false)]
    pub(super) period: BudgetPeriod,
    /// The place whose calendar counts, by its IANA name; UTC if left out. Not for a total.
    #[schema(nullable = false)]
    pub(super) timezone: Option<String>,
    /// How much may be spent in it.
    #[schema(example = "5")]
    pub(super) limit_usd: String,
}

/// A key to make. A list that is left out allows everything.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// What people call it.
    #[schema(max_length = 100)]
    pub(super) name: String,
    /// The group it is priced in, one that the organisation may use, or `auto`.
    #[schema(nullable = false)]
    group: Option<String>,
    /// The only models it may use.
    #[schema(nullable = false)]
    models: Option<Vec<String>>,
    /// The only interfaces it may use.
    #[schema(nullable = false)]
    endpoints: Option<Vec<String>>,
    /// The only platforms of social data it may use.
    #[schema(nullable = false)]
    platforms: Option<Vec<String>>,
    /// The only networks it may be used from.
    #[schema(nullable = false)]
    addresses: Option<Vec<String>>,
    /// The only regions upstreams may work in.
    #[schema(nullable = false)]
    regions: Option<Vec<String>>,
    /// Requests in a minute.
    #[schema(nullable = false)]
    requests_per_minute: Option<i64>,
    /// Tokens in a minute.
    #[schema(nullable = false)]
    tokens_per_minute: Option<i64>,
    /// Calls at once.
    #[schema(nullable = false)]
    concurrent_calls: Option<i64>,
    /// Refuse what would be ignored or rewritten.
    #[serde(default)]
    strict: bool,
    /// Lower a call's maximum to what the balance covers.
    #[schema(nullable = false)]
    fit_to_balance: Option<bool>,
    /// Store nothing of what passes.
    #[serde(default)]
    zero_retention: bool,
    /// When it ends.
    #[schema(nullable = false, format = DateTime)]
    expires_at: Option<String>,
    /// What it may spend.
    #[serde(default)]
    pub(super) budgets: Vec<NewBudget>,
}

/// Keys as they are shown, with two questions for all of them.
pub(super) async fn shown(
    shared: &Shared,
    own: &MemberSession,
    found: &[Key],
) -> Result<Vec<KeyView>, ApiError> {
    let ids: Vec<KeyId> = found.iter().map(|key| key.id).collect();
    let budgets = statement::budgets(&shared.data, own.account, &ids).await?;
    let uses = usage_report::of_keys(&shared.data, own.account, &ids).await?;
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
    let views = shown(shared, own, std::slice::from_ref(&key)).await?;
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
            group: policy.group.word().map(str::to_owned),
            models: policy.models,
            endpoints: policy.endpoints,
            platforms: policy.platforms,
            addresses: policy.addresses,
            regions: policy.regions,
            requests_per_minute: policy.requests_per_minute,
            tokens_per_minute: policy.tokens_per_minute,
            concurrent_calls: policy.concurrent_calls,
            strict: policy.strict,
            fit_to_balance: policy.fit_to_balance,
            zero_retention: policy.zero_retention,
            expires_at: policy.expires_at.map(rfc3339),
            created_at: rfc3339(key.created_at),
            previous_until: previous.filter(|until| *until > now).map(rfc3339),
            budgets,
            calls_last_hour: used.map_or(0, |used| used.calls_last_hour),
            spent_30_days_usd: trunkline_types::Money::from_nanos(spent).to_string(),
            last_used_at: used.and_then(|used| used.last_used_at).map(rfc3339),
        }
    }
}

// === impl KeyStateName ===

impl KeyStateName {
    const fn of(state: KeyState) -> Self {
        match state {
            KeyState::Live => Self::Active,
            KeyState::Disabled => Self::Disabled,
            KeyState::Expired => Self::Expired,
            KeyState::Revoked => Self::Revoked,
        }
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
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            concurrent_calls: self.concurrent_calls,
            strict: self.strict,
            fit_to_balance: self.fit_to_balance,
            zero_retention: self.zero_retention,
            expires_at: ends.transpose()?,
        })?)
    }
}

//! The keys of a customer, seen and switched by operators.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_ledger::usage_report::{self, KeyUse};
use trunkline_store::action_log::NewAction;
use trunkline_store::keys::{self as key_store, Key, KeysQuery};
use trunkline_types::{AccountId, KeyId, Money, Timestamp};
use utoipa::ToSchema;

use super::views::{customer, customer_id, reason, subject_of};
use crate::api::customer::key_view::KeyStateName;
use crate::api::customer::keys::change_fault;
use crate::api::customer::query;
use crate::error::ApiError;
use crate::json_body::JsonBody;
use crate::operator_bodies::ReasonBody;
use crate::operator_session::{CustomersWrite, May, Operator};
use crate::shared::Shared;
use crate::times::rfc3339;

/// Keys of one list.
const KEYS_MAX: u32 = 200;

/// A customer and one of its keys.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct KeyPath {
    id: i64,
    key: i64,
}

/// The keys of a customer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerKeys {
    /// Newest first, at most 200.
    data: Vec<CustomerKey>,
}

/// A key of a customer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerKey {
    /// Key id.
    id: i64,
    /// Display name.
    name: String,
    /// Prefix and last four characters.
    hint: String,
    /// Parent key; null if there is none.
    #[schema(required)]
    parent_id: Option<i64>,
    /// State.
    #[schema(inline = false)]
    state: KeyStateName,
    /// Pricing group; null for the customer's.
    #[schema(required)]
    group: Option<String>,
    /// Time of creation.
    #[schema(format = DateTime)]
    created_at: String,
    /// Expiry; null for never.
    #[schema(required, format = DateTime)]
    expires_at: Option<String>,
    /// Last call of the last 30 days; null if there was none.
    #[schema(required, format = DateTime)]
    last_used_at: Option<String>,
    /// Charged in the last 30 days, less refunds.
    #[schema(example = "1.5")]
    spent_30_days_usd: String,
}

/// Lists the keys of a customer.
#[utoipa::path(get, path = "/api/operator/customers/{id}/keys", operation_id = "customer_keys", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    responses((status = 200, description = "The keys", body = CustomerKeys)))]
pub(super) async fn keys(
    State(shared): State<Shared>,
    operator: Operator,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Json<CustomerKeys>, ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let keys_query = KeysQuery {
        account: account.id,
        text: None,
        before: None,
        limit: KEYS_MAX,
    };
    let mut session = shared.data.session().await?;
    let page = key_store::search(&mut session, &keys_query).await?;
    drop(session);
    let ids: Vec<KeyId> = page.keys.iter().map(|key| key.id).collect();
    let uses = usage_report::of_keys(&shared.data, account.id, &ids).await?;
    let view = |key: &Key| {
        let used = uses.iter().find(|used| used.key == key.id);
        CustomerKey::of(key, used, operator.now)
    };
    Ok(Json(CustomerKeys {
        data: page.keys.iter().map(view).collect(),
    }))
}

/// Disables a key of a customer.
#[utoipa::path(post, path = "/api/operator/customers/{id}/keys/{key}/disable", operation_id = "disable_customer_key",
    tag = "customers",
    params(("id" = i64, Path, description = "The customer"), ("key" = i64, Path, description = "The key")),
    request_body = ReasonBody,
    responses((status = 200, description = "The key", body = CustomerKey)))]
pub(super) async fn disable_key(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    ids: Result<Path<KeyPath>, PathRejection>,
    JsonBody(body): JsonBody<ReasonBody>,
) -> Result<Json<CustomerKey>, ApiError> {
    switch_key(&shared, &operator, ids, &body.reason, true).await
}

/// Enables a key of a customer.
#[utoipa::path(post, path = "/api/operator/customers/{id}/keys/{key}/enable", operation_id = "enable_customer_key",
    tag = "customers",
    params(("id" = i64, Path, description = "The customer"), ("key" = i64, Path, description = "The key")),
    request_body = ReasonBody,
    responses((status = 200, description = "The key", body = CustomerKey)))]
pub(super) async fn enable_key(
    State(shared): State<Shared>,
    operator: May<CustomersWrite>,
    ids: Result<Path<KeyPath>, PathRejection>,
    JsonBody(body): JsonBody<ReasonBody>,
) -> Result<Json<CustomerKey>, ApiError> {
    switch_key(&shared, &operator, ids, &body.reason, false).await
}

async fn switch_key(
    shared: &Shared,
    operator: &Operator,
    ids: Result<Path<KeyPath>, PathRejection>,
    why: &str,
    off: bool,
) -> Result<Json<CustomerKey>, ApiError> {
    let unknown = || ApiError::not_found("key");
    let Path(ids) = ids.map_err(|_| unknown())?;
    let account = customer(shared, AccountId::new(ids.id)).await?;
    let why = reason(why)?;
    let action = if off {
        "disable_customer_key"
    } else {
        "enable_customer_key"
    };
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let changed = async {
        let known = key_store::of_account(&mut tx, account.id, KeyId::new(ids.key)).await?;
        let known = known.ok_or_else(unknown)?;
        let changed = key_store::set_disabled(&mut tx, known.id, off).await;
        let changed = changed.map_err(change_fault)?;
        let action = NewAction {
            action,
            account: Some(account.id),
            subject: &format!(
                "key {} {} of {}",
                known.id,
                known.hint,
                subject_of(&account)
            ),
            before: Some(json!({ "disabled": known.disabled_at.is_some() })),
            after: Some(json!({ "disabled": off })),
            reason: Some(&why),
        };
        operator.log(&mut tx, &action).await?;
        Ok::<_, ApiError>(changed)
    };
    let changed = changed.await;
    let key = tx.finish(changed).await?;
    shared.gateway.refresh_keys().await;
    Ok(Json(CustomerKey::of(&key, None, operator.now)))
}

// === impl CustomerKey ===

impl CustomerKey {
    fn of(key: &Key, used: Option<&KeyUse>, now: Timestamp) -> Self {
        let fields = key.policy.fields();
        Self {
            id: key.id.number(),
            name: key.name.clone(),
            hint: key.hint.clone(),
            parent_id: key.parent.map(KeyId::number),
            state: KeyStateName::of(key.state(now)),
            group: fields.group.name().map(str::to_owned),
            created_at: rfc3339(key.created_at),
            expires_at: fields.expires_at.map(rfc3339),
            last_used_at: used.and_then(|used| used.last_used_at).map(rfc3339),
            spent_30_days_usd: used.map_or(Money::ZERO, |used| used.spent).to_string(),
        }
    }
}

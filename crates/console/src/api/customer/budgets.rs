//! `PUT /api/keys/{id}/budgets`: what a key may spend. All of them at once, so that none is forgotten.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use trunkline_db::Tx;
use trunkline_ledger::{accounts, statement};
use trunkline_store::action_log::NewAction;
use trunkline_store::time_zones;
use trunkline_types::{AccountId, KeyId, Money};

use super::amounts::BudgetPeriod;
use super::key_view::{self, KeyView};
use super::keys::{finish, own_key};
use super::query;
use crate::error::ApiError;
use crate::json_body::JsonBody;
use crate::request_bodies::{BudgetsBody, NewBudget};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;

const DEFAULT_ZONE: &str = "UTC";
/// Longest name of a place.
const MAX_ZONE: usize = 64;
const PARAM: &str = "budgets";

/// Budgets that were asked for, each period once.
pub(super) struct CheckedBudgets(Vec<(BudgetPeriod, Option<String>, Money)>);

/// Sets the budgets of a key and its child keys. A budget that stays keeps its usage.
#[utoipa::path(put, path = "/api/keys/{id}/budgets", operation_id = "set_key_budgets", tag = "keys",
    params(("id" = i64, Path, description = "The key")),
    request_body = BudgetsBody,
    responses((status = 200, description = "The key", body = KeyView)))]
pub(super) async fn set(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<BudgetsBody>,
) -> Result<Json<KeyView>, ApiError> {
    own.require(Right::KeysWrite)?;
    own.require_step_up()?;
    let key = own_key(&shared, &own, id).await?;
    let checked = CheckedBudgets::read(&body.budgets)?;
    checked.check_zones(&shared, own.account, key.id).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let written = async {
        write(&mut tx, own.account, key.id, &checked).await?;
        let limits = body
            .budgets
            .iter()
            .map(|budget| json!({ "period": budget.period, "limit_usd": budget.limit_usd }));
        let action = NewAction {
            action: "set_budgets",
            subject: &format!("key {} {}", key.id, key.hint),
            after: Some(json!({ "budgets": limits.collect::<Vec<Value>>() })),
            ..NewAction::default()
        };
        let logged = own.log(&mut tx, &action).await;
        logged.map_err(query::unwritten)
    };
    let written = written.await;
    finish(tx, written).await?;
    Ok(Json(key_view::one(&shared, &own, key).await?))
}

/// Writes them in the caller's transaction; what is not wished for is taken away.
pub(super) async fn write(
    tx: &mut Tx,
    account: AccountId,
    key: KeyId,
    budgets: &CheckedBudgets,
) -> Result<(), ApiError> {
    for (_, zone, _) in &budgets.0 {
        let Some(zone) = zone else { continue };
        let known = time_zones::is_known(tx, zone).await;
        if !known.map_err(query::unwritten)? {
            let text = "must be an IANA time zone such as Europe/Berlin";
            return Err(ApiError::invalid_param(PARAM, text));
        }
    }
    for period in BudgetPeriod::ALL {
        let budget = budgets.0.iter().find(|(of, _, _)| *of == period);
        let zone = budget.and_then(|(_, zone, _)| zone.as_deref());
        let limit = budget.map(|(_, _, limit)| *limit);
        let zone = zone.unwrap_or(DEFAULT_ZONE);
        let set = accounts::set_budget(tx, account, Some(key), period.ledger(), zone, limit).await;
        if !set.map_err(query::unwritten)? {
            tracing::error!(
                key.id = key.number(),
                "setting key budgets failed: key missing in the ledger"
            );
            return Err(ApiError::unavailable());
        }
    }
    Ok(())
}

// === impl CheckedBudgets ===

impl CheckedBudgets {
    pub(super) fn read(budgets: &[NewBudget]) -> Result<Self, ApiError> {
        let mut checked: Vec<(BudgetPeriod, Option<String>, Money)> = Vec::new();
        for budget in budgets {
            if checked
                .iter()
                .any(|(period, _, _)| *period == budget.period)
            {
                let text = "each period may appear at most once";
                return Err(ApiError::invalid_param(PARAM, text));
            }
            let zone = budget.timezone.clone();
            if budget.period == BudgetPeriod::Total && zone.is_some() {
                let text = "a total budget has no time zone; omit `timezone`";
                return Err(ApiError::invalid_param(PARAM, text));
            }
            if zone.as_ref().is_some_and(|zone| zone.len() > MAX_ZONE) {
                let text = "must be an IANA time zone such as Europe/Berlin";
                return Err(ApiError::invalid_param(PARAM, text));
            }
            let limit = query::usd(PARAM, &budget.limit_usd)?;
            checked.push((budget.period, zone, limit));
        }
        Ok(Self(checked))
    }

    /// A budget keeps the zone that it was made with: its stretches would not meet in another.
    async fn check_zones(
        &self,
        shared: &Shared,
        account: AccountId,
        key: KeyId,
    ) -> Result<(), ApiError> {
        let stand = statement::budgets(&shared.people, account, &[key]).await?;
        for (period, zone, _) in &self.0 {
            let word = period.ledger().as_str();
            let mut own = stand.iter().filter(|one| one.key == Some(key));
            let stands = own.find(|one| one.period == word);
            let requested = zone.as_deref();
            if let Some(stands) = stands
                && requested.is_some_and(|requested| requested != stands.timezone)
            {
                let text = format!(
                    "the {word} budget uses time zone {}, which cannot be changed; remove the budget, then set it again",
                    stands.timezone
                );
                return Err(ApiError::invalid_param(PARAM, text));
            }
        }
        Ok(())
    }
}

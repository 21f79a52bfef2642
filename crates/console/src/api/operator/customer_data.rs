//! The data of a customer: exported, closed and erased by policy, and seen as the customer sees it.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use trunkline_ledger::statement as books;
use trunkline_ledger::usage_report::{self, Grouping, UsageFilter};
use trunkline_store::account_close::{self, CloseAnswer};
use trunkline_store::accounts::Account;
use trunkline_store::action_log::{self, NewAction};
use trunkline_store::keys::{self, KeysQuery};
use trunkline_store::{account_notes, payments, people};
use trunkline_types::{AccountId, Money};

use super::customers::{CustomerDetail, detail};
use super::views::{customer, customer_id, reason, subject_of, unknown_customer};
use crate::api::customer::{amounts, query};
use crate::api::session::{self, Session};
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operator_bodies::CloseBody;
use crate::operator_session::{
    CustomersErase, CustomersExport, CustomersView, May, Operator, OperatorRight,
};
use crate::request_bodies::EmptyBody;
use crate::shared::Shared;
use crate::times::rfc3339;
use crate::tokens::Token;

/// Days of usage that an export has: all that are kept.
const EXPORTED_DAYS: i64 = 400;
const EXPORTED_LINES: u32 = 5_000;
const EXPORTED_KEYS: u32 = 1_000;
const EXPORTED_ACTIONS: i64 = 1_000;
const EXPORTED_PAYMENTS: i64 = 1_000;
const RUNNING: &str = "calls of the customer are running; suspend it and wait. Nothing was changed";

/// Exports a customer's data as one JSON document. Secrets are not in it.
#[utoipa::path(post, path = "/api/operator/customers/{id}/export", operation_id = "export_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = EmptyBody,
    responses((status = 200, description = "The data, as a file", body = Object)))]
pub(super) async fn export(
    State(shared): State<Shared>,
    operator: May<CustomersExport>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let document = exported(&shared, &account).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let action = NewAction {
        action: "export_customer",
        account: Some(account.id),
        subject: &subject_of(&account),
        ..NewAction::default()
    };
    let logged = operator.log(&mut tx, &action).await;
    tx.finish(logged).await.map_err(query::unwritten)?;
    let mut answered = Response::new(Body::from(format!("{document:#}\n")));
    let headers: &mut HeaderMap = answered.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let saved = format!("attachment; filename=\"customer-{}.json\"", account.id);
    if let Ok(value) = HeaderValue::from_str(&saved) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    Ok(answered)
}

/// Closes a customer for good; with `erase`, what names people is erased. The ledger is kept.
#[utoipa::path(post, path = "/api/operator/customers/{id}/close", operation_id = "close_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = CloseBody,
    responses(
        (status = 200, description = "The customer", body = CustomerDetail),
        (status = 409, description = "It has paid credit or running calls, or is closed", body = ErrorBody)
    ))]
pub(super) async fn close(
    State(shared): State<Shared>,
    operator: May<CustomersErase>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<CloseBody>,
) -> Result<Json<CustomerDetail>, ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let why = reason(&body.reason)?;
    let (balance, _) = amounts::balance(&shared, account.id).await?;
    let conflict = |text: &str| ApiError::new(ConsoleErrorCode::Conflict, text);
    if balance.paid > Money::ZERO {
        return Err(conflict(
            "the customer has paid credit; refund or adjust it first. Nothing was changed",
        ));
    }
    if balance.paid_held > Money::ZERO || balance.trial_held > Money::ZERO {
        return Err(conflict(RUNNING));
    }
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let closed = async {
        match account_close::close(&mut tx, account.id, keys::OPERATOR).await? {
            CloseAnswer::Done { .. } => {}
            // What was closed can still be erased.
            CloseAnswer::Before | CloseAnswer::UnknownAccount if body.erase => {}
            CloseAnswer::Before | CloseAnswer::UnknownAccount => {
                return Err(conflict(
                    "the customer is closed already. Nothing was changed",
                ));
            }
            CloseAnswer::Running(_) => return Err(conflict(RUNNING)),
        }
        if body.erase {
            account_close::erase(&mut tx, account.id).await?;
        }
        let action = NewAction {
            action: "close_customer",
            account: Some(account.id),
            // The name of who asked to be forgotten is not kept here either.
            subject: &format!("customer {}", account.id),
            before: Some(json!({ "state": account.state().as_str() })),
            after: Some(json!({ "state": "closed", "erased": body.erase })),
            reason: Some(&why),
        };
        Ok(operator.log(&mut tx, &action).await?)
    };
    let closed = closed.await;
    tx.finish(closed).await?;
    shared.gateway.refresh_keys().await;
    Ok(Json(detail(&shared, account.id).await?))
}

/// Shows the console as a customer sees it, read-only, until it is ended.
#[utoipa::path(post, path = "/api/operator/customers/{id}/view", operation_id = "view_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = EmptyBody,
    responses((status = 200, description = "The session, with `viewing`; the cookie is renewed", body = Session)))]
pub(super) async fn view(
    State(shared): State<Shared>,
    operator: May<CustomersView>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let subject = subject_of(&account);
    set_view(
        &shared,
        &operator,
        Some(account.id),
        "view_customer",
        &subject,
    )
    .await
}

/// Ends the view as a customer.
#[utoipa::path(post, path = "/api/operator/view/end", operation_id = "end_view", tag = "customers",
    request_body = EmptyBody,
    responses((status = 200, description = "The session; the cookie is renewed", body = Session)))]
pub(super) async fn end_view(
    State(shared): State<Shared>,
    operator: Operator,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    // Without step-up: who looks too long must still be able to stop.
    operator.require(OperatorRight::CustomersView)?;
    set_view(&shared, &operator, None, "end_view", "session").await
}

async fn set_view(
    shared: &Shared,
    operator: &Operator,
    account: Option<AccountId>,
    action: &str,
    subject: &str,
) -> Result<Response, ApiError> {
    let token = Token::fresh(shared.random.as_ref())?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let set = async {
        if !people::set_viewing(&mut tx, operator.sign_in, account, &token.hash).await? {
            return Err(unknown_customer());
        }
        let action = NewAction {
            action,
            account,
            subject,
            ..NewAction::default()
        };
        Ok(operator.log(&mut tx, &action).await?)
    };
    let set = set.await;
    tx.finish(set).await?;
    session::answer(shared, &token).await
}

async fn exported(shared: &Shared, account: &Account) -> Result<Value, ApiError> {
    let profile = detail(shared, account.id).await?;
    let statement = books::read(&shared.data, account.id, books::MAX_ENTRIES).await?;
    let entries = statement.map(|statement| statement.entries);
    let usage = exported_usage(shared, account.id).await?;
    let keys_query = KeysQuery {
        account: account.id,
        text: None,
        before: None,
        limit: EXPORTED_KEYS,
    };
    let mut session = shared.people.session().await?;
    let keys = keys::search(&mut session, &keys_query).await?.keys;
    let keys = keys.iter().map(|key| {
        json!({
            "id": key.id.number(), "name": key.name, "hint": key.hint, "created_at": rfc3339(key.created_at),
        })
    });
    let payments = payments::list(&mut session, Some(account.id), EXPORTED_PAYMENTS).await?;
    let payments = payments.iter().map(|one| {
        json!({
            "id": one.id, "amount_usd": one.amount.to_string(), "state": one.state.as_str(),
            "created_at": rfc3339(one.created_at), "provider_payment": one.provider_payment,
        })
    });
    let notes = account_notes::list(&mut session, account.id).await?;
    let notes = notes.iter().map(|note| note.text.clone());
    let of_account = action_log::Filter {
        account: Some(account.id),
        ..action_log::Filter::default()
    };
    let actions = action_log::list(&mut session, &of_account, None, EXPORTED_ACTIONS).await?;
    let actions = actions.iter().map(|action| {
        json!({ "at": rfc3339(action.at), "actor": action.actor, "action": action.action })
    });
    let entries = entries.unwrap_or_default();
    let entries = entries.iter().map(|entry| {
        json!({
            "at": rfc3339(entry.at), "request_id": entry.request.to_string(),
            "paid_usd": entry.paid.to_string(), "trial_usd": entry.trial.to_string(),
        })
    });
    Ok(json!({
        "customer": profile,
        "keys": keys.collect::<Vec<Value>>(),
        "payments": payments.collect::<Vec<Value>>(),
        "notes": notes.collect::<Vec<String>>(),
        "statement": entries.collect::<Vec<Value>>(),
        "usage": usage,
        "actions": actions.collect::<Vec<Value>>(),
    }))
}

async fn exported_usage(shared: &Shared, account: AccountId) -> Result<Vec<Value>, ApiError> {
    let to = usage_report::today(&shared.data).await?;
    let filter = UsageFilter {
        account,
        below: None,
        key: None,
        model: None,
        from: to.earlier(EXPORTED_DAYS.saturating_sub(1)),
        to,
    };
    let by = Grouping {
        day: true,
        model: true,
        ..Grouping::default()
    };
    let usage = usage_report::read(&shared.data, &filter, by, None, EXPORTED_LINES).await?;
    let usage = usage.lines.iter().map(|line| {
        json!({
            "day": line.group_key.day.to_string(),
            "model": line.group_key.model,
            "calls": line.totals.calls,
            "spent_usd": line.totals.spent().to_string(),
        })
    });
    Ok(usage.collect())
}

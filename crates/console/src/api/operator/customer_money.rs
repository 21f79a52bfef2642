//! The money of a customer: its statement, corrections with a reason, credit by hand.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_db::{Tx, database_now};
use trunkline_ledger::accounts::{self, Adjust, AdjustAnswer, TopUp, TopUpAnswer, Wallet};
use trunkline_ledger::partitions;
use trunkline_ledger::statement::{self as books, Entry, EntryDetail};
use trunkline_store::accounts::Account;
use trunkline_store::action_log::NewAction;
use trunkline_types::{AccountId, Money, RANDOM_BYTES, RequestId};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::views::{customer, customer_id, reason, signed_usd, subject_of, unknown_customer};
use crate::api::customer::amounts::{self, BalanceView};
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operator_bodies::{AdjustBody, TopUpBody, WalletChoice};
use crate::operator_session::{May, MoneyWrite, Operator};
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 50;
const MOST_PER_PAGE: u32 = 500;
/// The provider of money that a person books.
const MANUAL: &str = "manual";
const EVENT_MAX_CHARACTERS: usize = 200;

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatementQuery {
    /// The newest so many; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// What happened to a customer's money.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerStatement {
    /// Newest first.
    data: Vec<StatementEntry>,
}

/// A movement of money, or a call that cost nothing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatementEntry {
    /// Time.
    #[schema(format = DateTime)]
    at: String,
    /// `call`, `refund`, `settlement_adjustment`, `undelivered`, `day_total`, `top_up`, `trial_grant` or `adjustment`.
    #[schema(example = "call")]
    kind: &'static str,
    /// Change of the paid wallet.
    #[schema(example = "-0.002")]
    paid_usd: String,
    /// Change of the trial wallet.
    #[schema(example = "0")]
    trial_usd: String,
    /// Paid wallet after it.
    paid_after_usd: String,
    /// Trial wallet after it.
    trial_after_usd: String,
    /// Id of the call or movement.
    request_id: String,
    /// Model, payment or reason.
    details: String,
}

/// A balance after a movement.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MovedMoney {
    /// Balances.
    balance: BalanceView,
    /// Whether it was booked now, and not by an earlier request with the same id.
    booked_now: bool,
}

/// Returns what happened to a customer's money, newest first.
#[utoipa::path(get, path = "/api/operator/customers/{id}/statement", operation_id = "customer_statement",
    tag = "customers",
    params(("id" = i64, Path, description = "The customer"), StatementQuery),
    responses((status = 200, description = "The statement", body = CustomerStatement)))]
pub(super) async fn statement(
    State(shared): State<Shared>,
    _operator: Operator,
    id: Result<Path<i64>, PathRejection>,
    params: Result<Query<StatementQuery>, QueryRejection>,
) -> Result<Json<CustomerStatement>, ApiError> {
    let id = customer_id(id)?;
    let limit = query::limit(query::query(params)?.limit, USUAL_PAGE, MOST_PER_PAGE)?;
    let found = books::read(&shared.data, id, limit).await?;
    let found = found.ok_or_else(unknown_customer)?;
    Ok(Json(CustomerStatement {
        data: found.entries.iter().map(StatementEntry::of).collect(),
    }))
}

/// Corrects a balance, with a reason. It never goes below what is held.
#[utoipa::path(post, path = "/api/operator/customers/{id}/adjust", operation_id = "adjust_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = AdjustBody,
    responses(
        (status = 200, description = "The balance", body = MovedMoney),
        (status = 409, description = "There is less than that to take", body = ErrorBody)
    ))]
pub(super) async fn adjust(
    State(shared): State<Shared>,
    operator: May<MoneyWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<AdjustBody>,
) -> Result<Json<MovedMoney>, ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let why = reason(&body.reason)?;
    let amount = signed_usd("amount_usd", &body.amount_usd)?;
    if amount == Money::ZERO {
        return Err(ApiError::invalid_param("amount_usd", "must not be zero"));
    }
    let named = body.id.as_deref().map(named_request).transpose()?;
    partitions::ensure(&shared.people).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let moved = async {
        let adjust = Adjust {
            request: match named {
                Some(request) => request,
                None => fresh_request(&shared, &mut tx).await?,
            },
            account: account.id,
            wallet: body.wallet.ledger(),
            amount,
            reason: why.clone(),
            actor: operator.email.clone(),
        };
        let booked_now = match accounts::adjust(&mut tx, &adjust).await? {
            AdjustAnswer::Done => true,
            AdjustAnswer::Before => false,
            AdjustAnswer::TooLittle(free) => {
                let text = format!("{free} USD are free in that wallet. Nothing was changed");
                return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
            }
            AdjustAnswer::Refused => return Err(unknown_customer()),
        };
        let action = moved_action("adjust_customer", &account, &why, body.wallet, amount);
        let action = NewAction {
            subject: &subject_of(&account),
            ..action
        };
        operator.log(&mut tx, &action).await?;
        Ok(booked_now)
    };
    let moved = moved.await;
    let booked_now = tx.finish(moved).await?;
    moved_money(&shared, account.id, booked_now).await
}

/// Credits a wallet by hand, such as for a bank transfer. The same event is booked once.
#[utoipa::path(post, path = "/api/operator/customers/{id}/top-up", operation_id = "top_up_customer", tag = "customers",
    params(("id" = i64, Path, description = "The customer")),
    request_body = TopUpBody,
    responses(
        (status = 200, description = "The balance", body = MovedMoney),
        (status = 409, description = "The event was booked with other values", body = ErrorBody)
    ))]
pub(super) async fn top_up(
    State(shared): State<Shared>,
    operator: May<MoneyWrite>,
    id: Result<Path<i64>, PathRejection>,
    JsonBody(body): JsonBody<TopUpBody>,
) -> Result<Json<MovedMoney>, ApiError> {
    let account = customer(&shared, customer_id(id)?).await?;
    let why = reason(&body.reason)?;
    let amount = query::usd("amount_usd", &body.amount_usd)?;
    let is_visible = |c: char| !c.is_control() && !c.is_whitespace();
    let length = body.event.chars().count();
    if !(1..=EVENT_MAX_CHARACTERS).contains(&length) || !body.event.chars().all(is_visible) {
        let text = format!("must have 1 to {EVENT_MAX_CHARACTERS} characters and no blanks");
        return Err(ApiError::invalid_param("event", text));
    }
    if amount == Money::ZERO {
        let text = "must be greater than zero";
        return Err(ApiError::invalid_param("amount_usd", text));
    }
    partitions::ensure(&shared.people).await?;
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let moved = async {
        let top_up = TopUp {
            request: fresh_request(&shared, &mut tx).await?,
            account: account.id,
            wallet: body.wallet.ledger(),
            amount,
            provider: MANUAL.to_owned(),
            event: body.event.clone(),
        };
        let booked_now = match accounts::top_up(&mut tx, &top_up).await? {
            TopUpAnswer::Done => true,
            TopUpAnswer::Before => false,
            TopUpAnswer::Different => {
                let text = "this event was booked before with another customer, wallet or amount. \
                            Nothing was changed";
                return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
            }
            TopUpAnswer::Refused => return Err(unknown_customer()),
        };
        let action = moved_action("top_up_customer", &account, &why, body.wallet, amount);
        let action = NewAction {
            subject: &format!("event {} of {}", body.event, subject_of(&account)),
            ..action
        };
        operator.log(&mut tx, &action).await?;
        Ok(booked_now)
    };
    let moved = moved.await;
    let booked_now = tx.finish(moved).await?;
    moved_money(&shared, account.id, booked_now).await
}

fn moved_action<'a>(
    action: &'a str,
    account: &Account,
    why: &'a str,
    wallet: WalletChoice,
    amount: Money,
) -> NewAction<'a> {
    NewAction {
        action,
        account: Some(account.id),
        subject: "",
        before: None,
        after: Some(json!({ "wallet": wallet, "amount_usd": amount.to_string() })),
        reason: Some(why),
    }
}

async fn moved_money(
    shared: &Shared,
    account: AccountId,
    booked_now: bool,
) -> Result<Json<MovedMoney>, ApiError> {
    let (balance, trial_ends) = amounts::balance(shared, account).await?;
    Ok(Json(MovedMoney {
        balance: BalanceView::of(&balance, trial_ends),
        booked_now,
    }))
}

/// The id of a movement of money, of the database's day.
async fn fresh_request(shared: &Shared, tx: &mut Tx) -> Result<RequestId, ApiError> {
    let mut random = [0; RANDOM_BYTES];
    shared.random.fill(&mut random)?;
    Ok(RequestId::new(database_now(tx).await?, random))
}

/// The id that a caller chose: a UUID of version 7, because its time says where it is kept.
fn named_request(text: &str) -> Result<RequestId, ApiError> {
    let uuid = Uuid::try_parse(text).ok();
    let request = uuid.and_then(|uuid| RequestId::from_uuid(uuid).ok());
    request.ok_or_else(|| ApiError::invalid_param("id", "is a UUID of version 7, made just now"))
}

// === impl StatementEntry, WalletChoice ===

impl StatementEntry {
    fn of(entry: &Entry) -> Self {
        let (kind, details) = match &entry.detail {
            EntryDetail::Call { model, outcome, .. } => ("call", format!("{model} {outcome}")),
            EntryDetail::Refund => ("refund", String::new()),
            EntryDetail::SettlementAdjustment => ("settlement_adjustment", String::new()),
            EntryDetail::Undelivered => ("undelivered", String::new()),
            EntryDetail::DayTotal => ("day_total", String::new()),
            EntryDetail::TopUp(paid) => ("top_up", format!("{} {}", paid.provider, paid.event)),
            EntryDetail::TrialGrant(paid) => {
                ("trial_grant", format!("{} {}", paid.provider, paid.event))
            }
            EntryDetail::Adjustment { reason, actor } => {
                ("adjustment", format!("{actor}: {reason}"))
            }
        };
        Self {
            at: rfc3339(entry.at),
            kind,
            paid_usd: entry.paid.to_string(),
            trial_usd: entry.trial.to_string(),
            paid_after_usd: entry.paid_after.to_string(),
            trial_after_usd: entry.trial_after.to_string(),
            request_id: entry.request.to_string(),
            details,
        }
    }
}

impl WalletChoice {
    pub(super) const fn ledger(self) -> Wallet {
        match self {
            Self::Paid => Wallet::Paid,
            Self::Trial => Wallet::Trial,
        }
    }
}

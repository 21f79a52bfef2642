//! `/api/payments`: pay, payments and their receipts, automatic top-up.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use trunkline_payments::{
    Cents, MAX_AMOUNT, MIN_AMOUNT, PaymentError, Payments, ProviderError, StartCheckout,
};
use trunkline_store::action_log::NewAction;
use trunkline_store::attempt_counters::{self, Attempt};
use trunkline_store::payments::profiles::{self, MAX_FAILURES, Profile, TopUpRule};
use trunkline_store::payments::{self, Payment, PaymentKind, PaymentState};
use trunkline_types::{AccountId, Money};
use utoipa::ToSchema;

use super::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::request_bodies::{AutomaticTopUpBody, CheckoutBody};
use crate::session::{MemberSession, Right};
use crate::shared::Shared;
use crate::times::rfc3339;

/// Payments of the list.
const LISTED: i64 = 100;
/// After so long who started too many payments may start another, at the latest.
const HOUR_SECONDS: i64 = 3_600;

/// Payments of the organisation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payments)]
pub(crate) struct PaymentsView {
    /// Whether payments are accepted on this instance.
    is_available: bool,
    /// Smallest payment in USD.
    #[schema(example = "5")]
    min_usd: String,
    /// Largest payment in USD.
    #[schema(example = "10000")]
    max_usd: String,
    /// Whether a payment method is saved.
    has_saved_method: bool,
    /// Automatic top-up; null if it is off.
    #[schema(required)]
    automatic_top_up: Option<AutomaticTopUpView>,
    /// The newest payments, at most 100.
    payments: Vec<PaymentView>,
}

/// Automatic top-up.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AutomaticTopUp)]
pub(crate) struct AutomaticTopUpView {
    /// The saved payment method is charged when the available balance is below this amount.
    #[schema(example = "5")]
    below_usd: String,
    /// Amount of each payment.
    #[schema(example = "25")]
    amount_usd: String,
    /// Most that is charged automatically in a calendar month (UTC).
    #[schema(example = "100")]
    month_max_usd: String,
    /// Whether it stopped after repeated failures; set it again to resume.
    is_paused: bool,
}

/// A payment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
pub(crate) struct PaymentView {
    /// Payment id.
    id: String,
    /// How it was started.
    #[schema(inline = false)]
    kind: PaymentKindName,
    /// State.
    #[schema(inline = false)]
    state: PaymentStateName,
    /// Amount in USD.
    #[schema(example = "25")]
    amount_usd: String,
    /// Amount that was refunded or disputed and taken from the wallet.
    #[schema(example = "0")]
    returned_usd: String,
    /// Hosted receipt; null if there is none yet.
    #[schema(required)]
    receipt_url: Option<String>,
    /// Why it failed; null if it did not.
    #[schema(required)]
    failure: Option<String>,
    /// Time of creation.
    #[schema(format = DateTime)]
    created_at: String,
    /// Time of payment; null if it was not paid.
    #[schema(required, format = DateTime)]
    paid_at: Option<String>,
}

/// How a payment was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PaymentKind)]
pub(crate) enum PaymentKindName {
    /// By a person.
    Checkout,
    /// By automatic top-up.
    Automatic,
}

/// State of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PaymentState)]
pub(crate) enum PaymentStateName {
    /// Not paid yet.
    Open,
    /// Paid and in the wallet.
    Paid,
    /// Not paid.
    Failed,
}

/// A payment that was started.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checkout {
    /// Payment id.
    id: String,
    /// The page on which it is paid.
    url: String,
}

/// Returns the payments of the organisation and its automatic top-up.
#[utoipa::path(get, path = "/api/payments", operation_id = "payments", tag = "payments",
    responses((status = 200, description = "The payments", body = PaymentsView)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<PaymentsView>, ApiError> {
    view(&shared, own.account).await
}

/// Starts a payment and returns the page on which it is paid. The amount is in the wallet when the payment provider
/// confirms it.
#[utoipa::path(post, path = "/api/payments/checkout", operation_id = "start_checkout", tag = "payments",
    request_body = CheckoutBody,
    responses(
        (status = 201, description = "Started", body = Checkout),
        (status = 429, description = "Too many payments were started", body = ErrorBody)
    ))]
pub(super) async fn checkout(
    State(shared): State<Shared>,
    own: MemberSession,
    JsonBody(body): JsonBody<CheckoutBody>,
) -> Result<(StatusCode, Json<Checkout>), ApiError> {
    own.require(Right::WalletWrite)?;
    let payments = available(&shared)?;
    let amount = amount("amount_usd", &body.amount_usd)?;
    let own_bytes = own.account.number().to_be_bytes();
    if !attempt_counters::take(&shared.people, Attempt::CheckoutByAccount, &own_bytes).await? {
        return Err(ApiError::too_many_attempts(HOUR_SECONDS));
    }
    let page = |outcome: &str| format!("{}/wallet?payment={outcome}", shared.settings.dash_url);
    let start = StartCheckout {
        account: own.account,
        amount,
        description: &format!("{} credit", shared.settings.name),
        success_url: &page("done"),
        cancel_url: &page("cancelled"),
        saves_method: body.save_method,
    };
    let started = payments.start_checkout(&shared.people, &start).await;
    let started = started.map_err(|error| unpaid(&error))?;
    let action = NewAction {
        action: "start_checkout",
        subject: &format!("payment {}", started.id),
        after: Some(json!({ "amount_usd": body.amount_usd, "save_method": body.save_method })),
        ..NewAction::default()
    };
    own.log_apart(&shared, &action).await?;
    let checkout = Checkout {
        id: started.id.to_string(),
        url: started.url,
    };
    Ok((StatusCode::CREATED, Json(checkout)))
}

/// Sets automatic top-up. It needs a saved payment method: start a payment with `save_method` first.
#[utoipa::path(put, path = "/api/payments/automatic-top-up", operation_id = "set_automatic_top_up", tag = "payments",
    request_body = AutomaticTopUpBody,
    responses((status = 200, description = "The payments", body = PaymentsView)))]
pub(super) async fn set_automatic(
    State(shared): State<Shared>,
    own: MemberSession,
    JsonBody(body): JsonBody<AutomaticTopUpBody>,
) -> Result<Json<PaymentsView>, ApiError> {
    own.require(Right::WalletWrite)?;
    own.require_step_up()?;
    available(&shared)?;
    let below = query::usd("below_usd", &body.below_usd)?;
    let amount = amount("amount_usd", &body.amount_usd)?.money();
    let month_max = query::usd("month_max_usd", &body.month_max_usd)?;
    if below == Money::ZERO {
        let text = "must be greater than zero";
        return Err(ApiError::invalid_param("below_usd", text));
    }
    if month_max < amount {
        let text = "must not be below amount_usd";
        return Err(ApiError::invalid_param("month_max_usd", text));
    }
    let rule = TopUpRule {
        below,
        amount,
        month_max,
    };
    if !set_rule(&shared, &own, Some(rule)).await? {
        let text = "no payment method is saved; start a payment with save_method first. Nothing was changed";
        return Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    }
    view(&shared, own.account).await
}

/// Turns automatic top-up off. Idempotent.
#[utoipa::path(delete, path = "/api/payments/automatic-top-up", operation_id = "remove_automatic_top_up",
    tag = "payments",
    responses((status = 200, description = "The payments", body = PaymentsView)))]
pub(super) async fn remove_automatic(
    State(shared): State<Shared>,
    own: MemberSession,
) -> Result<Json<PaymentsView>, ApiError> {
    own.require(Right::WalletWrite)?;
    set_rule(&shared, &own, None).await?;
    view(&shared, own.account).await
}

async fn set_rule(
    shared: &Shared,
    own: &MemberSession,
    rule: Option<TopUpRule>,
) -> Result<bool, ApiError> {
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let set = async {
        let is_set = profiles::set_rule(&mut tx, own.account, rule).await?;
        let action = NewAction {
            action: match rule {
                Some(_) => "set_automatic_top_up",
                None => "remove_automatic_top_up",
            },
            subject: "automatic top-up",
            after: rule.map(|rule| {
                json!({
                    "below_usd": rule.below.to_string(), "amount_usd": rule.amount.to_string(),
                    "month_max_usd": rule.month_max.to_string(),
                })
            }),
            ..NewAction::default()
        };
        own.log(&mut tx, &action).await?;
        Ok(is_set)
    };
    let set = set.await;
    tx.finish(set).await.map_err(query::unwritten)
}

async fn view(shared: &Shared, account: AccountId) -> Result<Json<PaymentsView>, ApiError> {
    let mut session = shared.people.session().await?;
    let listed = payments::list(&mut session, Some(account), LISTED).await?;
    let profile = profiles::find(&mut session, account).await?;
    Ok(Json(PaymentsView {
        is_available: shared.payments.is_some(),
        min_usd: MIN_AMOUNT.to_string(),
        max_usd: MAX_AMOUNT.to_string(),
        has_saved_method: profile.is_some(),
        automatic_top_up: profile.as_ref().and_then(AutomaticTopUpView::of),
        payments: listed.iter().map(PaymentView::of).collect(),
    }))
}

fn available(shared: &Shared) -> Result<&Payments, ApiError> {
    let text = "payments are not set up on this instance";
    let payments = shared.payments.as_ref();
    payments.ok_or_else(|| ApiError::new(ConsoleErrorCode::NotFound, text))
}

/// An amount that can be paid.
fn amount(name: &'static str, text: &str) -> Result<Cents, ApiError> {
    let amount = query::usd(name, text)?;
    let cents = Cents::of(amount).filter(|_| (MIN_AMOUNT..=MAX_AMOUNT).contains(&amount));
    let words = format!("must be whole cents from {MIN_AMOUNT} to {MAX_AMOUNT} USD");
    cents.ok_or_else(|| ApiError::invalid_param(name, words))
}

/// The error of a payment that was not started. Nothing was paid yet.
fn unpaid(error: &PaymentError) -> ApiError {
    match error {
        PaymentError::Provider(
            ProviderError::Unavailable(_) | ProviderError::Declined(_) | ProviderError::Rejected(_),
        ) => {
            tracing::warn!(%error, "payment not started");
            let text =
                "the payment provider is temporarily unavailable; nothing was charged, try again";
            ApiError::new(ConsoleErrorCode::Unavailable, text)
        }
        PaymentError::Db(_)
        | PaymentError::Random(_)
        | PaymentError::Different(_)
        | PaymentError::NotMoved(_) => {
            tracing::warn!(%error, "payment not started");
            ApiError::unavailable()
        }
    }
}

// === impl AutomaticTopUpView ===

impl AutomaticTopUpView {
    fn of(profile: &Profile) -> Option<Self> {
        let rule = profile.rule?;
        Some(Self {
            below_usd: rule.below.to_string(),
            amount_usd: rule.amount.to_string(),
            month_max_usd: rule.month_max.to_string(),
            is_paused: profile.failures >= MAX_FAILURES,
        })
    }
}

// === impl PaymentView ===

impl PaymentView {
    fn of(payment: &Payment) -> Self {
        Self {
            id: payment.id.to_string(),
            kind: match payment.kind {
                PaymentKind::Checkout => PaymentKindName::Checkout,
                PaymentKind::Automatic => PaymentKindName::Automatic,
            },
            state: match payment.state {
                PaymentState::Open => PaymentStateName::Open,
                PaymentState::Paid => PaymentStateName::Paid,
                PaymentState::Failed => PaymentStateName::Failed,
            },
            amount_usd: payment.amount.to_string(),
            returned_usd: payment.taken.to_string(),
            receipt_url: payment.receipt_url.clone(),
            failure: payment.failure.clone(),
            created_at: rfc3339(payment.created_at),
            paid_at: payment.paid_at.map(rfc3339),
        }
    }
}

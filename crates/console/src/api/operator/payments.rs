//! Payments of all customers, refunds by hand, and disputes.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of the query"
)]

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_ledger::partitions;
use trunkline_payments::{Cents, PaymentError, Payments, Reconciled, RefundAnswer, RefundRequest};
use trunkline_store::accounts::{self, Account};
use trunkline_store::action_log::NewAction;
use trunkline_store::payments::{
    self as store, Dispute, Payment, PaymentState, Reversal, ReversalState,
};
use trunkline_types::{AccountId, Money};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::customers::CustomerStateName;
use super::views::reason;
use crate::api::customer::query;
use crate::error::{ApiError, ConsoleErrorCode, ErrorBody};
use crate::json_body::JsonBody;
use crate::operator_bodies::RefundBody;
use crate::operator_session::{May, MoneyWrite, Operator};
use crate::request_bodies::EmptyBody;
use crate::shared::Shared;
use crate::times::rfc3339;

const USUAL_PAGE: u32 = 100;
const MOST_PER_PAGE: u32 = 1_000;

/// Which payments.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PaymentsQuery {
    /// Of this customer.
    #[param(nullable = false)]
    customer: Option<i64>,
    /// `open`, `paid` or `failed`.
    #[param(nullable = false)]
    state: Option<String>,
    /// The newest so many; 100 by default.
    #[param(nullable = false, minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// Which disputes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DisputesQuery {
    /// `inquiry`, `open`, `won` or `lost`.
    #[param(nullable = false)]
    state: Option<String>,
    /// The newest so many; 100 by default.
    #[param(nullable = false, minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// Payments of customers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorPayments {
    /// Whether a payment provider is configured.
    is_available: bool,
    /// Newest first.
    data: Vec<OperatorPayment>,
}

/// A payment of a customer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorPayment {
    /// Payment id.
    id: String,
    /// The customer.
    customer_id: i64,
    /// Name of the customer.
    customer_name: String,
    /// Provider.
    #[schema(example = "stripe")]
    provider: String,
    /// The provider's id of the payment; null until it has one.
    #[schema(required)]
    provider_payment: Option<String>,
    /// `checkout` or `automatic`.
    #[schema(example = "checkout")]
    kind: &'static str,
    /// `open`, `paid` or `failed`.
    #[schema(example = "paid")]
    state: &'static str,
    /// Amount in USD.
    #[schema(example = "25")]
    amount_usd: String,
    /// Taken out of the wallet for refunds and disputes.
    #[schema(example = "0")]
    returned_usd: String,
    /// Hosted receipt; null if there is none.
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

/// A payment with what the provider took back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OperatorPaymentDetail {
    #[serde(flatten)]
    payment: OperatorPayment,
    /// Refunds and disputes, newest first.
    reversals: Vec<ReversalView>,
    /// What can still be refunded.
    #[schema(example = "25")]
    refundable_usd: String,
}

/// A refund or a dispute.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reversal)]
pub(crate) struct ReversalView {
    /// The provider's id.
    id: String,
    /// `refund` or `dispute`.
    #[schema(example = "dispute")]
    kind: String,
    /// `inquiry`, `open`, `won` or `lost`.
    #[schema(example = "open")]
    state: String,
    /// Amount in USD.
    #[schema(example = "25")]
    amount_usd: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    changed_at: String,
}

/// Disputes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Disputes {
    /// Newest first.
    data: Vec<DisputeView>,
}

/// A dispute. Its outcome comes from the provider; a person resumes the customer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Dispute)]
pub(crate) struct DisputeView {
    #[serde(flatten)]
    reversal: ReversalView,
    /// Provider.
    #[schema(example = "stripe")]
    provider: String,
    /// The provider's id of the payment.
    provider_payment: String,
    /// Payment; null if it is not one of this instance.
    #[schema(required)]
    payment_id: Option<String>,
    /// Customer; null if the payment is unknown.
    #[schema(required)]
    customer_id: Option<i64>,
    /// Name of the customer.
    #[schema(required)]
    customer_name: Option<String>,
    /// State of the customer.
    #[schema(required, inline = false)]
    customer_state: Option<CustomerStateName>,
    /// Taken out of the wallet for reversals of the payment.
    #[schema(example = "10")]
    taken_usd: String,
    /// What the customer still owes, of all payments.
    #[schema(example = "15")]
    owed_usd: String,
}

/// What a reconciliation found.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reconciliation)]
pub(crate) struct ReconciliationView {
    /// Events that were compared.
    events: u64,
    /// Events that were missed and are booked now.
    missed: u64,
    /// Open payments that were closed.
    closed: u64,
}

/// Lists payments of all customers.
#[utoipa::path(get, path = "/api/operator/payments", operation_id = "list_payments", tag = "payments",
    params(PaymentsQuery),
    responses((status = 200, description = "The payments", body = OperatorPayments)))]
pub(super) async fn list(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<PaymentsQuery>, QueryRejection>,
) -> Result<Json<OperatorPayments>, ApiError> {
    let params = query::query(params)?;
    let states = [PaymentState::Open, PaymentState::Paid, PaymentState::Failed];
    let state = params.state.as_deref().map(|word| {
        let known = states.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| ApiError::invalid_param("state", "must be open, paid or failed"))
    });
    let limit = query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?;
    let customer = params.customer.map(AccountId::new);
    let mut session = shared.people.session().await?;
    let state = state.transpose()?;
    let found = store::list_in_state(&mut session, customer, state, i64::from(limit)).await?;
    let ids: Vec<AccountId> = found.iter().map(|payment| payment.account).collect();
    let names = accounts::names(&mut session, &ids).await?;
    let data = found.iter().map(|payment| {
        let name = names.get(&payment.account).cloned();
        OperatorPayment::of(payment, name.unwrap_or_default())
    });
    Ok(Json(OperatorPayments {
        is_available: shared.payments.is_some(),
        data: data.collect(),
    }))
}

/// Returns a payment with its refunds and disputes.
#[utoipa::path(get, path = "/api/operator/payments/{id}", operation_id = "show_payment", tag = "payments",
    params(("id" = String, Path, description = "The payment", max_length = 36)),
    responses((status = 200, description = "The payment", body = OperatorPaymentDetail)))]
pub(super) async fn show(
    State(shared): State<Shared>,
    _operator: Operator,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<OperatorPaymentDetail>, ApiError> {
    Ok(Json(detail(&shared, payment_id(id)?).await?))
}

/// Refunds a payment, whole or in part, as far as the customer has not spent it.
#[utoipa::path(post, path = "/api/operator/payments/{id}/refund", operation_id = "refund_payment", tag = "payments",
    params(("id" = String, Path, description = "The payment", max_length = 36)),
    request_body = RefundBody,
    responses(
        (status = 200, description = "The payment", body = OperatorPaymentDetail),
        (status = 409, description = "It was spent, refunded or not paid", body = ErrorBody)
    ))]
pub(super) async fn refund(
    State(shared): State<Shared>,
    operator: May<MoneyWrite>,
    id: Result<Path<String>, PathRejection>,
    JsonBody(body): JsonBody<RefundBody>,
) -> Result<Json<OperatorPaymentDetail>, ApiError> {
    let id = payment_id(id)?;
    let why = reason(&body.reason)?;
    let payments = available(&shared)?;
    let before = detail(&shared, id).await?;
    let amount = body.amount_usd.as_deref().map(|text| {
        let cents = Cents::of(query::usd("amount_usd", text)?);
        cents.ok_or_else(|| ApiError::invalid_param("amount_usd", "must be whole cents"))
    });
    let request = RefundRequest {
        payment: id,
        amount: amount.transpose()?,
    };
    // The provider is intent in between, so the intent is written first and the outcome after.
    let account = AccountId::new(before.payment.customer_id);
    let subject = format!("payment {id}");
    let intent = NewAction {
        action: "refund_payment",
        account: Some(account),
        subject: &subject,
        before: Some(json!({ "returned_usd": before.payment.returned_usd })),
        after: Some(json!({ "requested_usd": body.amount_usd })),
        reason: Some(&why),
    };
    write(&shared, &operator, &intent).await?;
    partitions::ensure(&shared.people).await?;
    let answer = payments.refund(&shared.people, &request).await;
    let refunded = refunded(answer)?;
    let done = NewAction {
        after: Some(json!({ "refunded_usd": refunded.to_string() })),
        ..intent
    };
    write(&shared, &operator, &done).await?;
    Ok(Json(detail(&shared, id).await?))
}

/// Compares the provider's events with what is booked, and books what was missed.
#[utoipa::path(post, path = "/api/operator/payments/reconcile", operation_id = "reconcile_payments", tag = "payments",
    request_body = EmptyBody,
    responses((status = 200, description = "What was found", body = ReconciliationView)))]
pub(super) async fn reconcile(
    State(shared): State<Shared>,
    operator: May<MoneyWrite>,
    JsonBody(EmptyBody {}): JsonBody<EmptyBody>,
) -> Result<Json<ReconciliationView>, ApiError> {
    let payments = available(&shared)?;
    partitions::ensure(&shared.people).await?;
    let done = payments.reconcile(&shared.people, Duration::ZERO).await;
    let Reconciled {
        events,
        missed,
        closed,
    } = done.map_err(payment_fault)?.unwrap_or_default();
    let action = NewAction {
        action: "reconcile_payments",
        subject: "payments",
        after: Some(json!({ "events": events, "missed": missed, "closed": closed })),
        ..NewAction::default()
    };
    write(&shared, &operator, &action).await?;
    Ok(Json(ReconciliationView {
        events,
        missed,
        closed,
    }))
}

/// Lists disputes and what they took.
#[utoipa::path(get, path = "/api/operator/disputes", operation_id = "list_disputes", tag = "payments",
    params(DisputesQuery),
    responses((status = 200, description = "The disputes", body = Disputes)))]
pub(super) async fn disputes(
    State(shared): State<Shared>,
    _operator: Operator,
    params: Result<Query<DisputesQuery>, QueryRejection>,
) -> Result<Json<Disputes>, ApiError> {
    let params = query::query(params)?;
    let state = params.state.as_deref().map(|word| {
        let mut states = ReversalState::ALL.into_iter();
        let known = states.find(|state| state.as_str() == word);
        let text = "must be inquiry, open, won or lost";
        known.ok_or_else(|| ApiError::invalid_param("state", text))
    });
    let state = state.transpose()?;
    let limit = query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?;
    let mut session = shared.people.session().await?;
    let found = store::disputes(&mut session, state, i64::from(limit)).await?;
    let mut data = Vec::with_capacity(found.len());
    for dispute in found {
        let (customer, owed) = match dispute.account {
            Some(account) => (
                accounts::find(&mut session, account).await?,
                store::owed(&mut session, account).await?,
            ),
            None => (None, Money::ZERO),
        };
        data.push(DisputeView::of(dispute, customer, owed));
    }
    Ok(Json(Disputes { data }))
}

async fn write(
    shared: &Shared,
    operator: &Operator,
    action: &NewAction<'_>,
) -> Result<(), ApiError> {
    let mut tx = shared.people.begin().await.map_err(query::unwritten)?;
    let written = operator.log(&mut tx, action).await;
    tx.finish(written).await.map_err(query::unwritten)
}

async fn detail(shared: &Shared, id: Uuid) -> Result<OperatorPaymentDetail, ApiError> {
    let mut session = shared.people.session().await?;
    let found = store::find(&mut session, id).await?;
    let found = found.ok_or_else(unknown_payment)?;
    let names = accounts::names(&mut session, &[found.account]).await?;
    let reversals = match &found.provider_payment {
        Some(name) => store::of_payment(&mut session, &found.provider, name).await?,
        None => Vec::new(),
    };
    let reversed = match &found.provider_payment {
        Some(name) => store::reversed(&mut session, &found.provider, name).await?,
        None => Money::ZERO,
    };
    let refundable = match found.state {
        PaymentState::Paid => found.amount.checked_sub(reversed).unwrap_or(Money::ZERO),
        PaymentState::Open | PaymentState::Failed => Money::ZERO,
    };
    let name = names.get(&found.account).cloned().unwrap_or_default();
    Ok(OperatorPaymentDetail {
        payment: OperatorPayment::of(&found, name),
        reversals: reversals.into_iter().map(ReversalView::of).collect(),
        refundable_usd: refundable.max(Money::ZERO).to_string(),
    })
}

fn refunded(answer: Result<RefundAnswer, PaymentError>) -> Result<Money, ApiError> {
    let conflict = |text: String| Err(ApiError::new(ConsoleErrorCode::Conflict, text));
    match answer.map_err(payment_fault)? {
        RefundAnswer::Done(amount) => Ok(amount),
        RefundAnswer::NotPaid => conflict("this payment was not paid. Nothing was done".to_owned()),
        RefundAnswer::TooMuch(left) => conflict(format!(
            "{left} USD of this payment are left to refund. Nothing was done"
        )),
        RefundAnswer::Spent(free) => conflict(format!(
            "the customer has {free} USD of paid credit free, which is less. Nothing was done"
        )),
    }
}

fn payment_fault(error: PaymentError) -> ApiError {
    match error {
        PaymentError::Db(error) => query::unwritten(error),
        error @ (PaymentError::Provider(_)
        | PaymentError::Random(_)
        | PaymentError::Different(_)
        | PaymentError::NotMoved(_)) => {
            tracing::warn!(%error, "the payment provider did not confirm");
            let text = "the outcome may be unknown; it is safe to repeat this";
            ApiError::new(ConsoleErrorCode::Unavailable, text)
        }
    }
}

fn available(shared: &Shared) -> Result<&Payments, ApiError> {
    let text = "payments are not set up on this instance";
    let payments = shared.payments.as_ref();
    payments.ok_or_else(|| ApiError::new(ConsoleErrorCode::Conflict, text))
}

fn payment_id(id: Result<Path<String>, PathRejection>) -> Result<Uuid, ApiError> {
    let Path(id) = id.map_err(|_| unknown_payment())?;
    Uuid::try_parse(&id).map_err(|_| unknown_payment())
}

fn unknown_payment() -> ApiError {
    ApiError::not_found("payment")
}

// === impl OperatorPayment, ReversalView, DisputeView ===

impl OperatorPayment {
    fn of(payment: &Payment, customer_name: String) -> Self {
        Self {
            id: payment.id.to_string(),
            customer_id: payment.account.number(),
            customer_name,
            provider: payment.provider.clone(),
            provider_payment: payment.provider_payment.clone(),
            kind: payment.kind.as_str(),
            state: payment.state.as_str(),
            amount_usd: payment.amount.to_string(),
            returned_usd: payment.taken.to_string(),
            receipt_url: payment.receipt_url.clone(),
            failure: payment.failure.clone(),
            created_at: rfc3339(payment.created_at),
            paid_at: payment.paid_at.map(rfc3339),
        }
    }
}

impl ReversalView {
    fn of(reversal: Reversal) -> Self {
        Self {
            id: reversal.id,
            kind: reversal.kind,
            state: reversal.state,
            amount_usd: reversal.amount.to_string(),
            changed_at: rfc3339(reversal.changed_at),
        }
    }
}

impl DisputeView {
    fn of(dispute: Dispute, customer: Option<Account>, owed: Money) -> Self {
        Self {
            reversal: ReversalView::of(dispute.reversal),
            provider: dispute.provider,
            provider_payment: dispute.provider_payment,
            payment_id: dispute.payment.map(|id| id.to_string()),
            customer_id: dispute.account.map(AccountId::number),
            customer_state: customer.as_ref().map(|account| account.state().into()),
            customer_name: customer.map(|account| account.name),
            taken_usd: dispute.taken.to_string(),
            owed_usd: owed.to_string(),
        }
    }
}

//! `GET /api/logs/{request_id}`: one call from its attempts to its price lines and its money.
//!
//! Of attempts nothing is shown that is the operator's alone: neither which channels there are nor what
//! they are called nor what they cost. Attempts at the same one have the same name, and no more.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use trunkline_ledger::call_search::{self, Attempt, CallDetail, Transfer};
use trunkline_store::tasks;
use trunkline_types::{AccountId, RequestId};
use utoipa::ToSchema;

use super::amounts::WalletName;
use super::call_row::{LogRow, Names};
use super::prices::{self, PriceLine};
use super::task_view::task_name;
use super::warnings::WarningExplained;
use crate::error::{ApiError, ConsoleErrorCode};
use crate::session::MemberSession;
use crate::shared::Shared;
use crate::times::rfc3339;

/// The word of a task's attempt that was taken.
const ANSWERED: &str = "answered";
/// The interface whose calls are tasks.
const VIDEOS: &str = "videos";

/// A call with attempts, price and transactions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogDetail {
    #[serde(flatten)]
    row: LogRow,
    /// Pricing group.
    group: String,
    /// The price tier.
    #[schema(required)]
    tier: Option<String>,
    /// Price version of the call.
    price_version: String,
    /// Charged to the paid wallet.
    paid_usd: String,
    /// Charged to the trial wallet.
    trial_usd: String,
    /// Upstream attempts in order.
    attempts: Vec<AttemptView>,
    /// Billed units by billing dimension.
    units: Vec<Count>,
    /// All measured usage, billed or not.
    measured: Vec<Count>,
    /// Price breakdown; null where it cannot be reproduced exactly.
    #[schema(required)]
    lines: Option<Vec<PriceLine>>,
    /// What input read from a prompt cache would have cost more without one; null if none was read, or the price cannot
    /// be reproduced.
    #[schema(required)]
    cache_saving_usd: Option<String>,
    /// Transactions of the call in order.
    transfers: Vec<TransferView>,
    /// The task created by the call, if any.
    #[schema(required)]
    task_id: Option<String>,
    /// Explanations of the warnings.
    warnings_explained: Vec<WarningExplained>,
}

/// One upstream attempt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct AttemptView {
    /// Distinguishes attempts at different upstreams.
    #[schema(example = "upstream 1")]
    channel: String,
    /// Public name of the requested model.
    upstream_model: String,
    /// Result: `answered`, or an error code.
    #[schema(example = "answered")]
    outcome: String,
    /// HTTP status of the upstream; null if there was no response.
    #[schema(required)]
    status: Option<u16>,
    /// Time to the response headers; null if there was no response.
    #[schema(required)]
    latency_ms: Option<i64>,
}

/// A measured quantity.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Count {
    /// Unit.
    #[schema(example = "input")]
    name: String,
    /// Amount.
    count: u64,
}

/// A transaction of a call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Transfer)]
pub(crate) struct TransferView {
    /// `charge`, `refund`, `settlement_adjustment` or `undelivered`.
    #[schema(example = "charge")]
    kind: String,
    /// Wallet.
    #[schema(inline = false)]
    wallet: WalletName,
    /// Amount.
    amount_usd: String,
    /// Credit or debit.
    direction: Direction,
    /// Time.
    #[schema(format = DateTime)]
    at: String,
}

/// Credit or debit.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// Into it.
    In,
    /// Out of it.
    Out,
}

/// Returns one completed call. A running call is not found.
#[utoipa::path(get, path = "/api/logs/{request_id}", operation_id = "show_log", tag = "logs",
    params(("request_id" = String, Path, description = "The request", example = "req_019a5c6b7d8e7f0081828384858687aa")),
    responses((status = 200, description = "The call", body = LogDetail)))]
pub(super) async fn one(
    State(shared): State<Shared>,
    own: MemberSession,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<LogDetail>, ApiError> {
    let Path(id) = id.map_err(|_| unknown())?;
    let request: RequestId = id.parse().map_err(|_| unknown())?;
    let found = call_search::detail(&shared.people, own.account, request).await?;
    let found = found.ok_or_else(unknown)?;
    let names = Names::of(&shared, own.account, found.call.key.into_iter()).await?;
    let task_id = task_of(&shared, own.account, &found).await?;
    let explained = prices::explain(&shared, &found).await?;
    let saving = explained.as_ref().and_then(|one| one.cache_saving);
    let pages = shared.settings.error_pages();
    Ok(Json(LogDetail {
        row: LogRow::of(&found.call, &names),
        paid_usd: found.call.paid.to_string(),
        trial_usd: found.call.trial.to_string(),
        attempts: attempts(&found),
        units: counts(found.units),
        measured: counts(found.measured),
        cache_saving_usd: saving.map(|saving| saving.to_string()),
        lines: explained.map(|explained| explained.lines),
        transfers: found.transfers.iter().map(TransferView::of).collect(),
        task_id,
        warnings_explained: found
            .call
            .warnings
            .iter()
            .map(|code| WarningExplained::of(code, &pages))
            .collect(),
        group: found.group,
        tier: found.tier,
        price_version: hex(&found.price_version),
    }))
}

async fn task_of(
    shared: &Shared,
    account: AccountId,
    found: &CallDetail,
) -> Result<Option<String>, ApiError> {
    if found.call.endpoint != VIDEOS {
        return Ok(None);
    }
    let mut session = shared.people.session().await?;
    let task = tasks::of_account(&mut session, account, found.call.request.uuid()).await?;
    Ok(task.map(|task| task_name(task.id)))
}

fn attempts(found: &CallDetail) -> Vec<AttemptView> {
    let mut channels: Vec<Option<i64>> = Vec::new();
    let views = found.attempts.iter().map(|attempt| {
        let known = channels.iter().position(|one| *one == attempt.channel);
        let place = known.unwrap_or_else(|| {
            channels.push(attempt.channel);
            channels.len().saturating_sub(1)
        });
        AttemptView {
            channel: format!("upstream {}", place.saturating_add(1)),
            upstream_model: found.call.model.clone(),
            outcome: outcome_of(attempt),
            status: attempt.status,
            latency_ms: attempt.millis,
        }
    });
    views.collect()
}

fn outcome_of(attempt: &Attempt) -> String {
    let refused = attempt.status.is_some_and(|status| status >= 400);
    match &attempt.fault {
        Some(word) => word.clone(),
        None if refused => "refused".to_owned(),
        None => ANSWERED.to_owned(),
    }
}

fn counts(pairs: Vec<(String, u64)>) -> Vec<Count> {
    let counts = pairs.into_iter().map(|(name, count)| Count { name, count });
    counts.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unknown() -> ApiError {
    let text = "no completed call with this id in this organisation";
    ApiError::new(ConsoleErrorCode::NotFound, text)
}

// === impl TransferView ===

impl TransferView {
    pub(super) fn of(transfer: &Transfer) -> Self {
        Self {
            kind: transfer.kind.clone(),
            wallet: WalletName::of(transfer.wallet),
            amount_usd: transfer.amount.to_string(),
            direction: if transfer.is_in {
                Direction::In
            } else {
                Direction::Out
            },
            at: rfc3339(transfer.at),
        }
    }
}

//! Where a task's state and its money move together: taken and charged, done and adjusted, failed and
//! refunded. Each is one transaction; the second one finds the state changed and moves nothing.

use serde_json::Value;
use trunkline_account_api::events::payloads;
use trunkline_db::{DbError, Tx, events};
use trunkline_generation::video::upstreams::ReportedUsage;
use trunkline_ledger::{
    BatchError, Detail, OnCallerGone, Op, Outcome, Refund, RefundKind, Settle, Void, WriteOff,
    WriteOffReason, late_failures, run_in,
};
use trunkline_store::tasks::{self, Failed, Task, TaskState};
use trunkline_types::{AccountId, Bucket, Money, RequestId, Units, Usage};
use uuid::Uuid;

use super::WORD;
use super::prices::Prices;
use crate::channels::Channel;
use crate::services::Services;
use crate::task_id::task_name;

/// Why a step could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error("this process was replaced")]
    Replaced,
    #[error("the task's name is no request's")]
    Name,
}

impl From<BatchError> for StepError {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::StaleEpoch => Self::Replaced,
            BatchError::Db(error) => Self::Db(error),
        }
    }
}

/// How a task ends that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ending<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    pub(super) outcome: Outcome,
    /// The operator may have to pay for it.
    pub(super) write_off: Option<WriteOffReason>,
}

/// An upstream took it: charged, exactly once. False if another transaction ended it.
pub(super) async fn charge(
    services: &Services,
    task: &Task,
    channel: &Channel,
    upstream: &str,
) -> Result<bool, StepError> {
    let request = request_of(task.id)?;
    let prices = prices_of(task);
    let units = prices.as_ref().and_then(Prices::units);
    let units = units.unwrap_or_else(Units::none);
    let cost = channel.cost.as_ref();
    let detail = Detail {
        cost: cost.and_then(|book| book.cost_usd(channel.upstream_model(&task.model), &units)),
        units,
        measured: prices.as_ref().map_or_else(Usage::unknown, Prices::usage),
        estimated: !task.exact,
        tier: prices.map(|prices| prices.tier),
        attempts: attempts(channel),
        warnings: codes(&task.warnings),
        outcome: Outcome::Accepted,
    };
    let settle = Op::Settle(Box::new(Settle {
        request,
        account: task.account,
        amount: task.amount,
        unpaid: None,
        detail,
        on_caller_gone: OnCallerGone::Keep,
    }));
    let first = services.settings.video.poll_first;
    let mut tx = services.data.begin().await?;
    if !tasks::submitted(&mut tx, task.id, task.account, upstream, first).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    run_in(&mut tx, services.ledger.node_epoch(), &[&settle]).await?;
    tx.commit().await?;
    Ok(true)
}

/// It is done. What was charged beyond the price goes back.
pub(super) async fn finish_task(
    services: &Services,
    task: &Task,
    file: &[u8],
    counted: &ReportedUsage,
) -> Result<bool, StepError> {
    let request = request_of(task.id)?;
    let mut tx = services.data.begin().await?;
    let took = tasks::complete(&mut tx, task.id, task.account, file).await?;
    let Some(took) = took else {
        tx.rollback().await?;
        return Ok(false);
    };
    let difference = difference(task, counted);
    if let Some(difference) = difference {
        let refund = Op::Refund(Refund {
            request,
            account: task.account,
            kind: RefundKind::SettlementAdjustment,
            amount: Some(difference),
        });
        run_in(&mut tx, services.ledger.node_epoch(), &[&refund]).await?;
    }
    let cost = task.amount.checked_sub(difference.unwrap_or(Money::ZERO));
    let event = payloads::task_completed(&services.account_api, task, cost.unwrap_or(task.amount));
    events::append(&mut tx, &[event]).await?;
    let mut session = tx.commit_and_keep().await?;
    if let Err(error) = tasks::note_millis(&mut session, &task.model, took).await {
        tracing::warn!(%error, "video task: storing its duration failed");
    }
    count_verdict(services, task, Outcome::Complete);
    Ok(true)
}

/// It failed: what was taken or held for it goes back. False if it had ended before.
pub(super) async fn fail_task(
    services: &Services,
    task: &Task,
    ending: Ending<'_>,
) -> Result<bool, StepError> {
    let outcome = ending.outcome;
    let mut tx = services.data.begin().await?;
    let failed = fail_in(services, &mut tx, task, ending).await?;
    tx.commit().await?;
    if failed {
        count_verdict(services, task, outcome);
    }
    Ok(failed)
}

/// Counts how a task ended for the health of its model's routes.
fn count_verdict(services: &Services, task: &Task, outcome: Outcome) {
    services.route_health.count(&task.model, outcome, 0);
    let failed = match outcome {
        Outcome::Complete => false,
        Outcome::UpstreamFailed | Outcome::UpstreamTimeout | Outcome::Expired => true,
        Outcome::ClientGone
        | Outcome::BalanceExhausted
        | Outcome::NoResult
        | Outcome::Accepted
        | Outcome::Refused
        | Outcome::Interrupted
        | Outcome::Drained
        | Outcome::DatabaseAway
        | Outcome::Cancelled => return,
    };
    if let Some(channel) = task.channel {
        let health = &services.channel_health;
        health.count_task(channel, WORD, &task.model, failed);
    }
}

/// The same in a transaction that is open.
async fn fail_in(
    services: &Services,
    tx: &mut Tx,
    task: &Task,
    ending: Ending<'_>,
) -> Result<bool, StepError> {
    let (request, account) = (request_of(task.id)?, task.account);
    let before = tasks::fail(tx, task.id, ending.code, ending.message).await?;
    let back = match before {
        None => return Ok(false),
        Some(Failed::Charged) => Op::Refund(Refund {
            request,
            account,
            kind: RefundKind::Refund,
            amount: None,
        }),
        Some(Failed::Held) => void(request, account, ending.outcome),
    };
    let loss = ending.write_off.map(|reason| {
        Op::WriteOff(WriteOff {
            request,
            account,
            reason,
            sale: Some(task.amount),
            cost: None,
        })
    });
    let operations: Vec<&Op> = std::iter::once(&back).chain(loss.as_ref()).collect();
    run_in(tx, services.ledger.node_epoch(), &operations).await?;
    if let Some(Failed::Charged) = before {
        // Its usage row says that it was taken; logs and counts say how it ended.
        late_failures::record(tx, account, request, ending.outcome).await?;
    }
    let event = payloads::task_failed(&services.account_api, task, ending.code, ending.message);
    events::append(tx, &[event]).await?;
    Ok(true)
}

/// The same for a task that did not change since it was read; false if another worker moved it on.
pub(super) async fn fail_if_still(
    services: &Services,
    task: &Task,
    ending: Ending<'_>,
) -> Result<bool, StepError> {
    let outcome = ending.outcome;
    let mut tx = services.data.begin().await?;
    if !tasks::lock_in_state(&mut tx, task.id, task.state).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    let failed = fail_in(services, &mut tx, task, ending).await?;
    tx.commit().await?;
    if failed {
        count_verdict(services, task, outcome);
    }
    Ok(failed)
}

/// An upstream took what had ended here. The refund stands, and its bill is the operator's loss.
/// Nothing is lost if it was charged for this very job before.
pub(super) async fn write_off_late_result(
    services: &Services,
    task: &Task,
    upstream: &str,
) -> Result<(), StepError> {
    let mut tx = services.data.begin().await?;
    let now = tasks::find(&mut tx, task.id).await?;
    let is_late =
        |now: &Task| now.state == TaskState::Failed && now.upstream.as_deref() != Some(upstream);
    if !now.as_ref().is_some_and(is_late) {
        tx.rollback().await?;
        return Ok(());
    }
    let loss = Op::WriteOff(WriteOff {
        request: request_of(task.id)?,
        account: task.account,
        reason: WriteOffReason::LateResult,
        sale: Some(task.amount),
        cost: None,
    });
    run_in(&mut tx, services.ledger.node_epoch(), &[&loss]).await?;
    tx.commit().await?;
    let name = task_name(task.id);
    tracing::error!(
        task.id = name,
        "video submission: the vendor accepted a task that had already ended"
    );
    Ok(())
}

/// A task that waits never was: the row goes, and the hold with it.
pub(super) async fn undo(
    services: &Services,
    id: Uuid,
    account: AccountId,
) -> Result<bool, StepError> {
    undo_from(
        services,
        TaskState::Accepted,
        id,
        account,
        Outcome::Cancelled,
    )
    .await
}

/// A task that was refused never was.
pub(super) async fn undo_refused(
    services: &Services,
    id: Uuid,
    account: AccountId,
) -> Result<bool, StepError> {
    undo_from(
        services,
        TaskState::Submitting,
        id,
        account,
        Outcome::Refused,
    )
    .await
}

async fn undo_from(
    services: &Services,
    from: TaskState,
    id: Uuid,
    account: AccountId,
    outcome: Outcome,
) -> Result<bool, StepError> {
    let request = request_of(id)?;
    let mut tx = services.data.begin().await?;
    if !tasks::remove(&mut tx, id, from).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    let void = void(request, account, outcome);
    run_in(&mut tx, services.ledger.node_epoch(), &[&void]).await?;
    tx.commit().await?;
    Ok(true)
}

fn void(request: RequestId, account: AccountId, outcome: Outcome) -> Op {
    Op::Void(Box::new(Void {
        request,
        account,
        detail: Detail::nothing(outcome),
    }))
}

pub(super) fn request_of(task: Uuid) -> Result<RequestId, StepError> {
    RequestId::from_uuid(task).map_err(|_| StepError::Name)
}

fn prices_of(task: &Task) -> Option<Prices> {
    serde_json::from_value(task.prices.clone()).ok()
}

/// What a bound was above the price, now that the upstream has counted.
fn difference(task: &Task, counted: &ReportedUsage) -> Option<Money> {
    if task.exact {
        return None;
    }
    let prices = prices_of(task)?;
    let usage = prices.usage();
    let bound = usage.reported(Bucket::VideoSeconds)?;
    let made = u64::try_from(task.seconds.unwrap_or(0)).ok()?;
    let input_bound = bound.saturating_sub(made);
    // Clips that the vendor did not count stay at their bound: not reported is not zero.
    let input = counted.input_seconds;
    let input = input.map_or(input_bound, |reported| reported.min(input_bound));
    // Never raised: what the upstream counted beyond the bound is not the customer's.
    let seconds = bound.min(counted.output_seconds?.saturating_add(input));
    let price = prices.amount(&usage.with(Bucket::VideoSeconds, seconds))?;
    let difference = task.amount.checked_sub(price).ok()?;
    (difference > Money::ZERO).then_some(difference)
}

fn codes(warnings: &Value) -> Vec<String> {
    let notes = warnings.as_array().into_iter().flatten();
    let codes = notes.filter_map(|note| note.get("code")?.as_str());
    codes.map(str::to_owned).collect()
}

fn attempts(channel: &Channel) -> Value {
    serde_json::json!([{ "channel": channel.row.id.number(), "outcome": "accepted" }])
}

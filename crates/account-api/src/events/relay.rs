//! Copies on their way to other nodes: claimed, carried, and deleted when they have arrived. If a node
//! dies in between, another one goes on, and what was carried twice is stored once.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde_json::Value;
use trunkline_db::bus::{BusError, EventCopy, Health};
use trunkline_db::outbox::{self, Event};
use trunkline_db::{DbError, events};
use uuid::Uuid;

use crate::event_hub::Counts;
use crate::state::AccountApi;

/// Copies that are carried at once.
const BATCH: u32 = 500;
/// Copies that are counted, of those that wait.
const COUNTED: i64 = 10_000;

/// Why copies were not carried. They wait.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The database said no, or nothing.
    #[error(transparent)]
    Db(#[from] DbError),
    /// The way is not there.
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// Carries copies that wait, and tells how many. Without a way they are taken away: every node reads
/// the table.
pub async fn relay_events(api: &AccountApi) -> Result<u64, RelayError> {
    match api.bus.health() {
        Health::Local => {
            let mut session = api.data.session().await?;
            Ok(outbox::discard(&mut session, BATCH).await?)
        }
        Health::Down => Ok(0),
        Health::Up => relay_batch(api).await,
    }
}

async fn relay_batch(api: &AccountApi) -> Result<u64, RelayError> {
    let mut tx = api.data.begin().await?;
    let waiting = outbox::claim(&mut tx, BATCH).await?;
    if waiting.is_empty() {
        tx.rollback().await?;
        return Ok(0);
    }
    let ids: BTreeMap<(i64, i64), Uuid> = waiting.iter().map(position).collect();
    let mut copies: Vec<EventCopy> = waiting.into_iter().map(copy).collect();
    // In the order of their numbers: a jump costs its readers a look at the table.
    copies.sort_by_key(|copy| (copy.account, copy.seq));
    let carried = match api.bus.publish(&copies).await {
        Ok(carried) => carried,
        Err(error) => {
            Counts::add(&api.event_hub.counts.not_carried, 1);
            tx.rollback().await?;
            return Err(error.into());
        }
    };
    let arrived = copies.iter().zip(carried).filter(|(_, arrived)| *arrived);
    let arrived = arrived.filter_map(|(copy, _)| ids.get(&(copy.account, copy.seq)));
    let arrived: Vec<Uuid> = arrived.copied().collect();
    let gone = outbox::remove(&mut tx, &arrived).await;
    let gone = tx.finish(gone).await?;
    let counts = &api.event_hub.counts;
    Counts::add(&counts.carried, gone);
    if arrived.len() < copies.len() {
        Counts::add(&counts.not_carried, 1);
    }
    Ok(gone)
}

/// Looks how many copies wait, for the numbers.
pub async fn measure_outbox(api: &AccountApi) -> Result<(), DbError> {
    let mut session = api.data.session().await?;
    let waiting = outbox::waiting(&mut session, COUNTED).await?;
    let counts = &api.event_hub.counts;
    counts.waiting.store(waiting.rows, Ordering::Relaxed);
    let seconds = waiting.seconds.max(0);
    counts.waiting_seconds.store(seconds, Ordering::Relaxed);
    Ok(())
}

fn position(event: &Event) -> ((i64, i64), Uuid) {
    let account = event.account.unwrap_or(events::SYSTEM_ACCOUNT).number();
    ((account, event.seq), event.id)
}

fn copy(event: Event) -> EventCopy {
    let ((account, seq), id) = position(&event);
    let mut body = event.body;
    let task = body.get("task_id").and_then(Value::as_str);
    EventCopy {
        id,
        account,
        seq,
        topic: event.topic,
        task: task.and_then(|task| task.parse().ok()),
        created_at_micros: event.created_at.micros(),
        body: body.get_mut("body").map(Value::take).unwrap_or_default(),
    }
}

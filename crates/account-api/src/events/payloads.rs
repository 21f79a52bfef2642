//! Bodies of events, and live news. Never a prompt, a secret or an operator's own text.

use serde_json::{Value, json};
use trunkline_catalog::{Book, Entry};
use trunkline_db::bus::LiveNotification;
use trunkline_db::events::{NewEvent, SYSTEM_ACCOUNT};
use trunkline_store::tasks::Task;
use trunkline_types::{Money, Topic};
use uuid::Uuid;

use crate::event_hub::SseFrame;
use crate::state::AccountApi;

/// Models that one event names; the rest are counted.
const MAX_NAMED: usize = 100;
/// Characters of an upstream's error message.
const MAX_WORDS: usize = 2_000;
/// What the ids of a catalog's events begin with; its number and the topic follow.
const CATALOG_MARK: u64 = 0x6361_7461_6c6f_6700;

/// What a change of the catalog means to customers.
#[derive(Debug, Default)]
pub struct Change {
    pub(crate) priced: Vec<String>,
    pub(crate) off: Vec<String>,
    pub(crate) on: Vec<String>,
}

/// The event of a task that is done.
pub fn task_completed(api: &AccountApi, task: &Task, cost: Money) -> NewEvent {
    let body = json!({
        "object": "video",
        "model": task.model,
        "status": "completed",
        "progress": 100,
        "seconds": task.seconds.map(|seconds| seconds.to_string()),
        "size": task.size,
        "cost_usd": cost.to_string(),
    });
    task_event(api, task, Topic::TaskCompleted, body)
}

/// The event of a task that failed, and cost nothing.
pub fn task_failed(api: &AccountApi, task: &Task, code: &str, message: &str) -> NewEvent {
    let (code, message) = (bounded(code), bounded(message));
    let body = json!({
        "object": "video",
        "model": task.model,
        "status": "failed",
        "error": { "code": code, "message": message },
        "cost_usd": Money::ZERO.to_string(),
    });
    task_event(api, task, Topic::TaskFailed, body)
}

fn task_event(api: &AccountApi, task: &Task, topic: Topic, body: Value) -> NewEvent {
    NewEvent {
        id: api.edge.request_id().uuid(),
        account: task.account,
        topic,
        task: Some(task.id),
        body,
    }
}

/// A task's progress, sent to this node's readers and to the other nodes without waiting for them.
pub fn publish_progress(api: &AccountApi, task: &Task, progress: i16) {
    let news = LiveNotification {
        account: task.account.number(),
        topic: Topic::TaskProgress.name().to_owned(),
        task: Some(task.id),
        created_at_micros: api.edge.now().micros(),
        body: json!({
            "object": "video",
            "model": task.model,
            "status": "in_progress",
            "progress": progress,
        }),
    };
    api.event_hub
        .tell_live(task.account, SseFrame::of_news(&news));
    let bus = api.bus.clone();
    api.tasks.spawn(async move { bus.notify(&news).await });
}

/// An upstream's message. An event must never break the transition that it reports: neither by its
/// length nor by the one character that PostgreSQL does not store.
fn bounded(text: &str) -> String {
    let chars = text.chars().filter(|char| *char != '\0');
    chars.take(MAX_WORDS).collect()
}

// === impl Change ===

impl Change {
    /// The difference between two catalogs, among public models.
    pub fn between(before: &Book, after: &Book) -> Self {
        let mut change = Self::default();
        let seen = |book: &Book, name: &str| -> Option<Entry> {
            let entry = book.model(name)?.entry();
            is_public(book, entry).then(|| entry.clone())
        };
        for name in after.models() {
            match (seen(before, name), seen(after, name)) {
                (None, Some(_)) => change.on.push(name.to_owned()),
                (Some(_), None) => change.off.push(name.to_owned()),
                (Some(old), Some(new)) => {
                    let same_frame = before.header() == after.header();
                    if old.prices != new.prices || old.groups != new.groups || !same_frame {
                        change.priced.push(name.to_owned());
                    }
                }
                (None, None) => {}
            }
        }
        for name in before.models() {
            if after.model(name).is_none() && seen(before, name).is_some() {
                change.off.push(name.to_owned());
            }
        }
        change
    }
}

/// A model for single customers is not announced to others.
fn is_public(book: &Book, entry: &Entry) -> bool {
    let common = &book.header().auto_groups;
    let is_sold = |group: &String| common.is_empty() || common.contains(group);
    !entry.login_required && entry.groups.iter().any(is_sold)
}

/// The events of one change of the catalog: at most one of each topic.
pub fn catalog_events(number: i64, version: &str, change: &Change) -> Vec<NewEvent> {
    let kinds = [
        (Topic::ModelPaused, &change.off),
        (Topic::ModelResumed, &change.on),
        (Topic::PriceChanged, &change.priced),
    ];
    let events = kinds.iter().zip(1_u64..);
    let events = events.filter(|((_, names), _)| !names.is_empty());
    events
        .map(|((topic, names), nth)| {
            let listed: Vec<&String> = names.iter().take(MAX_NAMED).collect();
            let more = names.len().saturating_sub(listed.len());
            NewEvent {
                id: Uuid::from_u64_pair(
                    CATALOG_MARK | nth,
                    u64::try_from(number).unwrap_or_default(),
                ),
                account: SYSTEM_ACCOUNT,
                topic: *topic,
                task: None,
                body: json!({ "models": listed, "more": more, "pricing_version": version }),
            }
        })
        .collect()
}

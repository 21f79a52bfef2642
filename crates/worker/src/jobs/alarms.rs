//! Tells the operator of alarms that fire and that are over, by email and by webhook. A row for each alarm lets one
//! worker tell it; while the database is away, each worker tells of that by itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use trunkline_account_api::{AlarmMessage, AlarmReceiver};
use trunkline_db::Database;
use trunkline_gateway::{AlarmLimits, MoneyAtRisk, conditions, money_at_risk};
use trunkline_mail::Notice;
use trunkline_store::alarms::{self, Change, Condition, Ways};

use crate::job::{JobContext, JobResult, Progress};

/// How long a change stays claimed, longer than telling it takes.
const LEASE: Duration = Duration::from_secs(60);
/// The alarm that no row can hold.
const DATABASE_AWAY: &str = "database_away";

/// Whom to tell, and from when on.
#[derive(Clone)]
pub struct AlarmSettings {
    /// Addresses of operators.
    pub emails: Vec<String>,
    pub webhook: Option<AlarmReceiver>,
    /// How long a condition lasts before it is an alarm.
    pub wait: Duration,
    pub limits: AlarmLimits,
}

/// The alarms as this node sees them.
pub struct Alarms {
    node: String,
    settings: AlarmSettings,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Since when each condition holds, by name, subject and node.
    since: HashMap<[String; 3], Instant>,
    /// The alarm of the missing database, once it was told.
    away: Option<Change>,
}

pub(super) async fn run(context: &JobContext) -> JobResult {
    let alarms = &context.alarms;
    let ways = alarms.ways(context);
    if !ways.email && !ways.webhook {
        return Ok(Progress::Idle(None));
    }
    let at_risk = money_at_risk(&context.gateway);
    let present = alarms.present(context, at_risk.as_deref());
    let lasting = alarms.lasting(&present);
    let away = lasting.iter().find(|one| one.name == DATABASE_AWAY);
    alarms.tell_of_absence(context, away).await;
    if present.iter().any(|one| one.name == DATABASE_AWAY) {
        return Ok(Progress::Idle(None));
    }
    store(&context.data, &alarms.node, &present, &lasting).await?;
    let mut session = context.data.session().await?;
    let changes = alarms::claim(&mut session, ways, LEASE).await?;
    drop(session);
    for change in &changes {
        let reported = alarms.tell(context, change, ways).await;
        let mut session = context.data.session().await?;
        alarms::reported(&mut session, change, reported).await?;
    }
    Ok(Progress::Idle(None))
}

/// Writes down what fires and what is over.
async fn store(
    data: &Database,
    node: &str,
    present: &[Condition],
    lasting: &[Condition],
) -> Result<(), trunkline_db::DbError> {
    let mut tx = data.begin().await?;
    alarms::fire(&mut tx, lasting).await?;
    alarms::resolve(&mut tx, node, present).await?;
    tx.commit().await
}

// === impl Alarms ===

impl Alarms {
    #[must_use]
    pub fn new(node: &str, settings: AlarmSettings) -> Self {
        Self {
            node: node.to_owned(),
            settings,
            seen: Mutex::default(),
        }
    }

    fn ways(&self, context: &JobContext) -> Ways {
        Ways {
            email: !self.settings.emails.is_empty() && context.mail.has_server(),
            webhook: self.settings.webhook.is_some(),
        }
    }

    fn present(&self, context: &JobContext, at_risk: Option<&MoneyAtRisk>) -> Vec<Condition> {
        conditions(&context.gateway, &self.node, at_risk, self.settings.limits)
    }

    /// Those that have lasted long enough.
    fn lasting(&self, present: &[Condition]) -> Vec<Condition> {
        let now = Instant::now();
        let mut seen = self.seen();
        let held = present.iter().map(|one| {
            let key = key(one);
            let since = seen.since.get(&key).copied().unwrap_or(now);
            (key, since)
        });
        let since: HashMap<[String; 3], Instant> = held.collect();
        let lasting = present.iter().filter(|one| {
            let since = since.get(&key(one)).copied().unwrap_or(now);
            now.duration_since(since) >= self.settings.wait
        });
        let lasting = lasting.cloned().collect();
        seen.since = since;
        lasting
    }

    /// Tells once that the database is away, and once that it is back.
    async fn tell_of_absence(&self, context: &JobContext, away: Option<&Condition>) {
        let before = self.seen().away.clone();
        let change = match (away, before) {
            (Some(condition), None) => Change {
                name: condition.name.to_owned(),
                subject: condition.subject.clone(),
                node: self.node.clone(),
                summary: condition.summary.clone(),
                is_firing: true,
                changed_at: context.gateway.now(),
                is_emailed: false,
                is_posted: false,
            },
            (None, Some(before)) => Change {
                is_firing: false,
                changed_at: context.gateway.now(),
                ..before
            },
            (Some(_), Some(_)) | (None, None) => return,
        };
        let ways = self.ways(context);
        let reported = self.tell(context, &change, ways).await;
        // Untold by all ways, it is told the next time.
        if reported.email || reported.webhook {
            self.seen().away = change.is_firing.then_some(change);
        }
    }

    /// Tells of a change by the ways by which it was not told yet; gives back those that have it now.
    async fn tell(&self, context: &JobContext, change: &Change, ways: Ways) -> Ways {
        let email = change.is_emailed || (ways.email && self.email(context, change).await);
        let webhook = change.is_posted || (ways.webhook && self.post(change).await);
        Ways { email, webhook }
    }

    async fn email(&self, context: &JobContext, change: &Change) -> bool {
        let state = if change.is_firing { "ALARM" } else { "over" };
        let about = [change.subject.as_str(), change.node.as_str()];
        let about: Vec<&str> = about.into_iter().filter(|word| !word.is_empty()).collect();
        let about = about.join(" on ");
        let subject = format!("{state}: {} {about}", change.name);
        let text = format!(
            "{state}: {} {about}\n\n{}\n\nWhat to do: docs/operate/alerting.md",
            change.name, change.summary
        );
        let mut is_sent = true;
        for to in &self.settings.emails {
            let notice = Notice {
                id: change.id(),
                at: change.changed_at,
                to,
                subject: subject.trim(),
                text: &text,
            };
            if let Err(error) = context.mail.notify(&notice).await {
                tracing::warn!(%error, alarm.name = change.name, "alarm not emailed");
                is_sent = false;
            }
        }
        is_sent
    }

    async fn post(&self, change: &Change) -> bool {
        let Some(webhook) = &self.settings.webhook else {
            return false;
        };
        let kind = if change.is_firing {
            "alarm.firing"
        } else {
            "alarm.resolved"
        };
        let message = AlarmMessage {
            id: change.id(),
            at: change.changed_at,
            kind,
            facts: facts(change),
        };
        let sent = webhook.send(message).await;
        if let Err(error) = &sent {
            tracing::warn!(%error, alarm.name = change.name, "alarm not posted");
        }
        sent.is_ok()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(condition: &Condition) -> [String; 3] {
    [
        condition.name.to_owned(),
        condition.subject.clone(),
        condition.node.clone(),
    ]
}

fn facts(change: &Change) -> Map<String, Value> {
    Map::from_iter([
        ("name".to_owned(), json!(change.name)),
        ("subject".to_owned(), json!(change.subject)),
        ("node".to_owned(), json!(change.node)),
        ("summary".to_owned(), json!(change.summary)),
    ])
}

//! A task as it is shown: its row, what the ledger knows of its money, and what the gateway knows of its
//! file.

use serde::{Deserialize, Serialize};
use trunkline_ledger::call_search::Transfer;
use trunkline_store::tasks::{Stage, Task};
use trunkline_types::{KeyId, Money, Timestamp};
use utoipa::ToSchema;
use uuid::Uuid;

use super::call_row::Names;
use crate::gateway_port::{GatewayPort, TaskInspection};
use crate::times::rfc3339;

/// How the names of tasks begin.
const PREFIX: &str = "task_";
const REQUEST_PREFIX: &str = "req_";

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
    /// It waits, here or at the upstream.
    Queued,
    /// An upstream works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It failed, and cost nothing.
    Failed,
    /// It was stopped, and cost nothing.
    Cancelled,
}

/// A task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub(crate) struct TaskView {
    /// Id.
    #[schema(example = "task_019a5c6b7d8e7f0081828384858687aa")]
    id: String,
    /// Request id of the call that created it.
    #[schema(example = "req_019a5c6b7d8e7f0081828384858687aa")]
    request_id: String,
    /// Public name of the model.
    model: String,
    /// Model family; null if it is no longer known.
    #[schema(required)]
    family: Option<String>,
    /// Key id.
    #[schema(required)]
    key_id: Option<i64>,
    /// Key name.
    #[schema(required)]
    key_name: Option<String>,
    /// Current state.
    #[schema(inline = false)]
    state: TaskState,
    /// Progress in percent; null if unknown.
    #[schema(required)]
    progress: Option<u8>,
    /// Whether the progress is estimated.
    progress_is_estimate: bool,
    /// Submission time.
    #[schema(format = DateTime)]
    created_at: String,
    /// End time; null while running.
    #[schema(required, format = DateTime)]
    ended_at: Option<String>,
    /// Charged amount.
    cost_usd: String,
    /// Refunded amount.
    refunded_usd: String,
    /// Error; null if it did not fail.
    #[schema(required)]
    error: Option<TaskError>,
    /// The file; null until there is one.
    #[schema(required)]
    media: Option<TaskMedia>,
}

/// Why a task failed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskError {
    /// The code.
    code: String,
    /// Error message.
    message: String,
}

/// The file of a task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskMedia {
    /// Link for display, without a key.
    url: String,
    /// Download link: the browser saves it as a file named after the task.
    download_url: String,
    /// Size; null until the file is stored.
    #[schema(required)]
    bytes: Option<i64>,
    /// Kind.
    content_type: String,
    /// Expiry of the link; request the task again for a new one.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// A task with its timeline.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskDetail {
    #[serde(flatten)]
    task: TaskView,
    /// Timeline in order.
    timeline: Vec<TaskStep>,
    /// Prompt; null once deleted.
    #[schema(required)]
    prompt: Option<String>,
    /// Settings of the request.
    settings: Vec<TaskSetting>,
    /// Whether the task may be cancelled.
    can_cancel: bool,
}

/// One setting of a task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskSetting {
    /// Name.
    name: String,
    /// Its value.
    value: String,
}

/// A timeline step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskStep {
    /// Time.
    #[schema(format = DateTime)]
    at: String,
    /// Kind.
    #[schema(inline = false)]
    what: StepKind,
    /// Amount; null for none.
    #[schema(required)]
    amount_usd: Option<String>,
    /// Details; null for none.
    #[schema(required)]
    text: Option<String>,
}

/// Kind of a timeline step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "the pages know the words that no row tells yet")]
pub(crate) enum StepKind {
    /// It was asked for.
    Submitted,
    /// Its price was held.
    Held,
    /// An upstream took it.
    Sent,
    /// An upstream began with it.
    Started,
    /// It was done.
    Finished,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
    /// It was charged.
    Charged,
    /// Money went back.
    Refunded,
    /// Its file came to our own store.
    Mirrored,
    /// Its time was over.
    Expired,
}

/// What was charged for a task, and what went back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Paid {
    pub(super) charged: Money,
    pub(super) refunded: Money,
}

/// A task's name as customers see it.
pub(super) fn task_name(id: Uuid) -> String {
    format!("{PREFIX}{}", id.simple())
}

/// The task of a name; none if it is no name of a task.
pub(super) fn task_of(name: &str) -> Option<Uuid> {
    let hex = name.strip_prefix(PREFIX)?;
    let id = Uuid::try_parse(hex).ok()?;
    (task_name(id) == name).then_some(id)
}

// === impl TaskState ===

impl TaskState {
    pub(super) const fn of(stage: Stage) -> Self {
        match stage {
            Stage::Queued => Self::Queued,
            Stage::InProgress => Self::InProgress,
            Stage::Completed => Self::Completed,
            Stage::Failed => Self::Failed,
            Stage::Cancelled => Self::Cancelled,
        }
    }

    pub(super) const fn stage(self) -> Stage {
        match self {
            Self::Queued => Stage::Queued,
            Self::InProgress => Stage::InProgress,
            Self::Completed => Stage::Completed,
            Self::Failed => Stage::Failed,
            Self::Cancelled => Stage::Cancelled,
        }
    }
}

// === impl TaskView ===

impl TaskView {
    pub(super) fn of(
        task: &Task,
        look: &TaskInspection,
        paid: Paid,
        gateway: &dyn GatewayPort,
        names: &Names,
    ) -> Self {
        let state = TaskState::of(Stage::of(task));
        let reported = u8::try_from(task.progress).ok();
        let reported = reported.filter(|_| task.progress_reported || state == TaskState::Completed);
        let book = gateway.book();
        let entry = book.model(&task.model).map(|model| model.entry());
        let failed = matches!(state, TaskState::Failed | TaskState::Cancelled);
        Self {
            id: task_name(task.id),
            request_id: format!("{REQUEST_PREFIX}{}", task.id.simple()),
            model: task
                .requested_model
                .clone()
                .unwrap_or_else(|| task.model.clone()),
            family: entry.and_then(|entry| entry.specs.video_family.clone()),
            key_id: Some(task.key.number()),
            key_name: names.get(KeyId::new(task.key.number())),
            state,
            progress: reported.or(look.guess).filter(|_| !failed),
            progress_is_estimate: reported.is_none() && look.guess.is_some(),
            created_at: rfc3339(task.created_at),
            ended_at: task.ended_at.map(rfc3339),
            cost_usd: paid.charged.to_string(),
            refunded_usd: paid.refunded.to_string(),
            error: task
                .error
                .clone()
                .map(|(code, message)| TaskError { code, message }),
            media: look.link.clone().map(|link| TaskMedia {
                url: link.url,
                download_url: link.download_url,
                bytes: task.media_bytes,
                content_type: look.content_type.clone(),
                expires_at: rfc3339(link.ends),
            }),
        }
    }
}

// === impl TaskDetail ===

impl TaskDetail {
    pub(super) fn of(
        view: TaskView,
        task: &Task,
        look: TaskInspection,
        money: &[Transfer],
    ) -> Self {
        let settings = look.settings.into_iter();
        Self {
            timeline: timeline(task, money),
            task: view,
            prompt: look.prompt,
            settings: settings
                .map(|(name, value)| TaskSetting { name, value })
                .collect(),
            can_cancel: look.can_stop,
        }
    }
}

/// What the row and the ledger tell, in order of time.
fn timeline(task: &Task, money: &[Transfer]) -> Vec<TaskStep> {
    let mut steps: Vec<(Timestamp, TaskStep)> = Vec::new();
    let mut add = |at: Timestamp, what, amount: Option<Money>, text: Option<String>| {
        let step = TaskStep {
            at: rfc3339(at),
            what,
            amount_usd: amount.map(|amount| amount.to_string()),
            text,
        };
        steps.push((at, step));
    };
    add(task.created_at, StepKind::Submitted, None, None);
    add(task.created_at, StepKind::Held, Some(task.amount), None);
    if let Some(at) = task.submitted_at {
        add(at, StepKind::Sent, None, None);
    }
    for moved in money.iter().filter(|one| !one.is_in) {
        add(moved.at, StepKind::Charged, Some(moved.amount), None);
    }
    if let Some(at) = task.ended_at {
        let (what, text) = match Stage::of(task) {
            Stage::Completed | Stage::Queued | Stage::InProgress => (StepKind::Finished, None),
            Stage::Failed => (StepKind::Failed, task.error.clone()),
            Stage::Cancelled => (StepKind::Cancelled, task.error.clone()),
        };
        add(at, what, None, text.map(|(_, message)| message));
    }
    for moved in money.iter().filter(|one| one.is_in) {
        let text = why_back(&moved.kind).map(str::to_owned);
        add(moved.at, StepKind::Refunded, Some(moved.amount), text);
    }
    // Stable: what happened at the same moment stays in the order above.
    steps.sort_by_key(|(at, _)| *at);
    steps.into_iter().map(|(_, step)| step).collect()
}

fn why_back(kind: &str) -> Option<&'static str> {
    match kind {
        "refund" => Some("the task failed, so all of its price went back"),
        "settlement_adjustment" => {
            Some("it came out cheaper than was charged; the difference went back")
        }
        "undelivered" => Some("the result never reached its caller, so its price went back"),
        _ => None,
    }
}

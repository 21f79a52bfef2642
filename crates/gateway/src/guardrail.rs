//! The guardrail: one signed HTTP call to a service of the operator's before anything of a call is paid for or sent,
//! and one with its answer. The pipeline asks, so no operation can leave it out.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::task::TaskTracker;
use trunkline_account_api::signed_message;
use trunkline_edge::state::EdgeState;
use trunkline_types::{AccountId, KeyId, RequestId};
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::error::{ApiError, ErrorCode};
use crate::settings::{FailMode, GuardrailSettings};

/// Longest answer that is read, and longest reason that is passed on.
const MAX_ANSWER_BYTES: usize = 16_384;
const MAX_REASON_CHARACTERS: usize = 500;

pub(crate) struct Guardrail {
    settings: GuardrailSettings,
    client: Client,
    edge: Arc<EdgeState>,
    tasks: TaskTracker,
    /// The last question was not answered: that is logged once.
    is_away: AtomicBool,
}

/// The beginning of a request or an answer, and how long it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Excerpt {
    beginning: Bytes,
    total: usize,
}

/// What is shown of an answer.
pub(crate) enum AnswerExcerpt<'a> {
    /// Nothing of it has left: it can be withheld.
    Held(Cow<'a, [u8]>),
    /// The client has it, or most of it: the verdict comes too late.
    Sent(Cow<'a, [u8]>),
}

/// Whose call it is, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) id: RequestId,
    pub(crate) account: AccountId,
    pub(crate) key: KeyId,
    pub(crate) endpoint: &'a str,
    pub(crate) model: &'a str,
}

/// When it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Request,
    Response,
    /// The client has the answer already.
    Delivered,
}

/// Its answer.
#[derive(Deserialize)]
struct Verdict {
    allow: bool,
    #[serde(default)]
    reason: Option<String>,
}

// === impl Guardrail ===

impl Guardrail {
    pub(crate) const fn new(
        settings: GuardrailSettings,
        client: Client,
        edge: Arc<EdgeState>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            settings,
            client,
            edge,
            tasks,
            is_away: AtomicBool::new(false),
        }
    }

    /// What is shown of something.
    pub(crate) fn cut(&self, bytes: &[u8]) -> Excerpt {
        let beginning = bytes.get(..self.settings.max_bytes).unwrap_or(bytes);
        Excerpt {
            beginning: Bytes::copy_from_slice(beginning),
            total: bytes.len(),
        }
    }

    /// How much of something is kept to be shown.
    pub(crate) const fn max_bytes(&self) -> usize {
        self.settings.max_bytes
    }

    /// Asks, and refuses what it refuses.
    pub(crate) async fn check(
        &self,
        subject: Subject<'_>,
        stage: Stage,
        excerpt: &Excerpt,
    ) -> Result<(), ApiError> {
        let Some(call) = self.message(subject, stage, excerpt) else {
            return self.unanswered("the message cannot be signed");
        };
        // In a box: every call carries this future, and most installations have no guardrail.
        match Box::pin(ask(&self.client, call)).await {
            Ok(verdict) => {
                self.is_away.store(false, Ordering::Relaxed);
                if verdict.allow {
                    return Ok(());
                }
                tracing::info!(
                    request.id = %subject.id,
                    stage = stage.as_str(),
                    "guardrail: call refused"
                );
                Err(refused(stage, verdict.reason))
            }
            Err(why) => self.unanswered(&why),
        }
    }

    /// Shows what the client has already. The verdict is not waited for.
    pub(crate) fn tell(&self, subject: Subject<'_>, excerpt: &Excerpt) {
        let Some(call) = self.message(subject, Stage::Delivered, excerpt) else {
            return;
        };
        let (client, id) = (self.client.clone(), subject.id);
        self.tasks.spawn(async move {
            match ask(&client, call).await {
                Ok(verdict) if !verdict.allow => {
                    tracing::warn!(request.id = %id, "guardrail: an answer that was delivered is refused");
                }
                Ok(_) => {}
                Err(why) => tracing::debug!(why, "guardrail: no verdict on a delivered answer"),
            }
        });
    }

    /// There is no verdict.
    fn unanswered(&self, why: &str) -> Result<(), ApiError> {
        if !self.is_away.swap(true, Ordering::Relaxed) {
            let mode = match self.settings.fail {
                FailMode::Closed => "calls are refused",
                FailMode::Open => "calls pass",
            };
            tracing::error!(why, mode, "guardrail: no verdict");
        }
        match self.settings.fail {
            FailMode::Open => Ok(()),
            FailMode::Closed => {
                let text = "the service that checks calls does not answer; nothing was charged";
                Err(ApiError::new(ErrorCode::GuardrailUnavailable, text))
            }
        }
    }

    fn message(
        &self,
        subject: Subject<'_>,
        stage: Stage,
        excerpt: &Excerpt,
    ) -> Option<Outgoing<'static>> {
        let settings = &self.settings;
        let mut facts = Map::from_iter([
            ("stage".to_owned(), json!(stage.as_str())),
            ("request_id".to_owned(), json!(subject.id.to_string())),
            ("account_id".to_owned(), json!(subject.account.number())),
            ("key_id".to_owned(), json!(subject.key.number())),
            ("endpoint".to_owned(), json!(subject.endpoint)),
            ("model".to_owned(), json!(subject.model)),
            ("bytes".to_owned(), json!(excerpt.total)),
        ]);
        let truncated = excerpt.total > excerpt.beginning.len();
        facts.insert("truncated".to_owned(), json!(truncated));
        let (name, content) = excerpt.content();
        facts.insert(name.to_owned(), content);
        // Each message has an id of its own, so that a receiver that drops duplicates drops none of them.
        let id = self.edge.request_id().uuid();
        let now = self.edge.now();
        let (headers, body) =
            signed_message(&settings.secret, id, now, stage.message_type(), facts)?;
        Some(Outgoing {
            method: Method::POST,
            uri: settings.uri.clone(),
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: settings.timeout,
                idle: settings.timeout,
                total: settings.timeout,
            },
            proxy: None,
            protocol: Protocol::Http1,
        })
    }
}

/// Sends a message and reads the verdict, within the settings' time.
async fn ask(client: &Client, call: Outgoing<'_>) -> Result<Verdict, String> {
    let wait = call.deadlines.total;
    let exchange = async {
        let sent = client.send(call).await;
        let mut answer = sent.map_err(|error| error.to_string())?;
        let body = answer.whole(MAX_ANSWER_BYTES).await;
        let body = body.map_err(|error| error.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("it answered {}", answer.status.as_u16()));
        }
        let verdict: Result<Verdict, _> = serde_json::from_slice(&body);
        verdict.map_err(|_| "its answer is not {\"allow\": true} or {\"allow\": false}".to_owned())
    };
    // A connection may take longer to open than an answer is waited for.
    let exchange = tokio::time::timeout(wait, exchange).await;
    exchange.unwrap_or_else(|_| Err("it did not answer in time".to_owned()))
}

fn refused(stage: Stage, reason: Option<String>) -> ApiError {
    let what = match stage {
        Stage::Request => "the request",
        Stage::Response | Stage::Delivered => "the answer",
    };
    let reason: String = reason
        .unwrap_or_default()
        .chars()
        .filter(|one| !one.is_control())
        .take(MAX_REASON_CHARACTERS)
        .collect();
    let colon = if reason.is_empty() { "" } else { ": " };
    let text =
        format!("{what} was refused by the operator's rules{colon}{reason}; nothing was charged");
    ApiError::new(ErrorCode::GuardrailRefused, text).with("stage", stage.as_str())
}

// === impl Excerpt ===

impl Excerpt {
    /// Text as it is, other bytes in base64.
    fn content(&self) -> (&'static str, Value) {
        let bytes = &self.beginning;
        match std::str::from_utf8(bytes) {
            Ok(text) => ("content", json!(text)),
            // A character that was cut at the end is left out.
            Err(error) if error.error_len().is_none() => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                ("content", json!(String::from_utf8_lossy(whole)))
            }
            Err(_) => ("content_base64", json!(STANDARD.encode(bytes))),
        }
    }
}

// === impl Stage ===

impl Stage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Delivered => "delivered",
        }
    }

    const fn message_type(self) -> &'static str {
        match self {
            Self::Request => "guardrail.request",
            Self::Response | Self::Delivered => "guardrail.response",
        }
    }
}

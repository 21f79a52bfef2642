//! One turn of a connection: an execution of the ordinary operation, whose stream is written as messages.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use trunkline_types::RequestId;
use trunkline_wire::{Edit, Frame, Frames, patch, patch_at, scan};

use super::Accepted;
use super::conversation::{join, output_items};
use super::message::{CreateMessage, Lane, TurnRequest, error_event};
use crate::detach::beside;
use crate::endpoint::RESPONSES;
use crate::error::{ApiError, ErrorCode};
use crate::in_flight::InFlightPermit;
use crate::operations::chat::{Chat, ChatRoute};
use crate::pipeline::execute;
use crate::response::{Response, ResponseBody};
use crate::response_id::{PREFIX, PREVIOUS};

/// What becomes of an event on its way to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    /// It has the response, as far as it is.
    Lifecycle,
    /// The same; nothing comes after it.
    Terminal,
    /// An error of the stream, which `response.failed` says once more.
    Error,
    Other,
}

pub(super) struct Turn {
    pub(super) accepted: Arc<Accepted>,
    pub(super) events: mpsc::Sender<String>,
    pub(super) message: CreateMessage,
}

/// The connection has gone.
struct Gone;

impl Turn {
    /// Runs it to its end, and names its lane.
    pub(super) async fn run(self, permit: InFlightPermit) -> Lane {
        let request = self.accepted.services.request_id();
        if let Err(error) = self.answer(request, permit).await {
            let pages = self.accepted.context.error_pages();
            let lane = self.message.lane.as_deref();
            let event = error_event(&error, request, pages, lane);
            // A client that has gone needs none.
            drop(self.events.send(event).await);
        }
        self.message.lane
    }

    async fn answer(&self, id: RequestId, permit: InFlightPermit) -> Result<(), ApiError> {
        let accepted = &self.accepted;
        let services = Arc::clone(&accepted.services);
        let context = Arc::new(accepted.context.execution(id));
        let begun = || {
            // A key that was revoked begins nothing.
            let caller = accepted.caller.refresh(&services.edge)?;
            let request = self.message.request(accepted)?;
            context.body_read(request.body.len());
            let most = services.edge.settings.max_body_bytes;
            if request.body.len() > most {
                let text = format!("a request with its conversation may have {most} bytes at most");
                return Err(ApiError::new(ErrorCode::TooLarge, text));
            }
            Ok((caller, request))
        };
        let (caller, request) = begun().inspect_err(|error| context.failed(error))?;
        if !request.generates {
            return self.keep_only(id, &request).await;
        }
        let route = ChatRoute {
            endpoint: RESPONSES,
            model: None,
            stream: false,
            as_json_array: false,
        };
        let operation = Chat::read(&route, request.body.clone());
        let operation = operation.inspect_err(|error| context.failed(error))?;
        let (responder, response) = oneshot::channel();
        let shared = Arc::clone(accepted);
        beside(&services, async move {
            let (services, headers) = (Arc::clone(&shared.services), &shared.headers);
            let executed = execute(services, context, caller, headers, operation, responder);
            Box::pin(executed).await;
            drop(permit);
        });
        let response = response.await.map_err(|_| ApiError::unavailable())??;
        self.relay(id, &request, response).await
    }

    /// Writes the events of a stream. One without an end of its own ends with an error.
    async fn relay(
        &self,
        id: RequestId,
        request: &TurnRequest,
        response: Response,
    ) -> Result<(), ApiError> {
        let (head, body) = response.into_parts();
        let ResponseBody::Pieces(mut pieces) = body else {
            return Err(ApiError::unavailable());
        };
        let warnings = head.headers.get("trunkline-warnings");
        let warnings = warnings.and_then(|value| value.to_str().ok());
        let note = json!({ "request_id": id.to_string(), "warnings": warnings }).to_string();
        let mut frames = Frames::default();
        let mut has_ended = false;
        while let Some(piece) = pieces.recv().await {
            frames.push(&piece);
            while let Ok(Some(frame)) = frames.take() {
                match self.pass_on(frame, request, &note).await {
                    Ok(is_last) => has_ended |= is_last,
                    Err(Gone) => return Ok(()),
                }
            }
        }
        if has_ended {
            return Ok(());
        }
        let text = "the response broke off";
        Err(ApiError::new(ErrorCode::UpstreamFailed, text))
    }

    /// True if it was the last event.
    async fn pass_on(&self, frame: Frame, request: &TurnRequest, note: &str) -> Result<bool, Gone> {
        // A comment is no message.
        let Some(data) = frame.data.as_ref().filter(|data| data.starts_with(b"{")) else {
            return Ok(false);
        };
        let kind = EventKind::of(&frame, data);
        let event = match kind {
            EventKind::Error => return Ok(false),
            EventKind::Other => data.clone(),
            EventKind::Lifecycle => with_previous(data, request),
            EventKind::Terminal => {
                self.keep(data, request);
                let event = with_previous(data, request);
                let noted = scan(&event).map(|object| {
                    let note = note.as_bytes().to_vec();
                    Bytes::from(patch(&object, &[Edit::Set("trunkline", note)]))
                });
                noted.unwrap_or(event)
            }
        };
        self.send(&event).await?;
        Ok(kind == EventKind::Terminal)
    }

    async fn send(&self, event: &[u8]) -> Result<(), Gone> {
        let text = String::from_utf8_lossy(event);
        let text = match (text.strip_prefix('{'), &self.message.lane) {
            (Some(fields), Some(lane)) => {
                format!("{{\"stream_id\":{},{fields}", Value::from(lane.as_str()))
            }
            (_, _) => text.into_owned(),
        };
        self.events.send(text).await.map_err(|_| Gone)
    }

    /// Keeps a response that has ended, so that the connection can continue it.
    fn keep(&self, data: &[u8], request: &TurnRequest) {
        let kept = || {
            let event = scan(data).ok()?;
            let response = scan(event.value("response")?).ok()?;
            let status: String = serde_json::from_slice(response.value("status")?).ok()?;
            let id: String = serde_json::from_slice(response.value("id")?).ok()?;
            let items = join(request.items.as_ref()?, &output_items(&response)?);
            (status != "failed").then_some((id, items))
        };
        if let Some((id, items)) = kept() {
            self.accepted.keep(id, items);
        }
    }

    /// Answers a message that only brings a conversation: nothing is asked of an upstream, and nothing is charged.
    async fn keep_only(&self, id: RequestId, request: &TurnRequest) -> Result<(), ApiError> {
        let name = format!("{PREFIX}{}", id.uuid().simple());
        let items = request.items.as_deref().unwrap_or_default();
        self.accepted.keep(name.clone(), items.to_owned());
        let details = |field: &str| json!({ field: 0 });
        let usage = json!({
            "input_tokens": 0, "input_tokens_details": details("cached_tokens"),
            "output_tokens": 0, "output_tokens_details": details("reasoning_tokens"),
            "total_tokens": 0,
        });
        let mut response = json!({
            "id": name, "object": "response", "status": "in_progress",
            "created_at": self.accepted.services.now().seconds(),
            "model": self.message.model(), "output": [],
            PREVIOUS: request.previous, "usage": null, "error": null, "incomplete_details": null,
        });
        let created = json!({
            "type": "response.created", "sequence_number": 0, "response": response.clone(),
        });
        if let Some(fields) = response.as_object_mut() {
            fields.insert("status".to_owned(), json!("completed"));
            fields.insert("usage".to_owned(), usage);
        }
        let completed = json!({
            "type": "response.completed", "sequence_number": 1, "response": response,
        });
        for event in [created, completed] {
            if self.send(event.to_string().as_bytes()).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The response names the one that it continues, though its upstream was sent the conversation.
fn with_previous(data: &Bytes, request: &TurnRequest) -> Bytes {
    let previous = request.previous.as_ref().filter(|_| request.is_expanded);
    let Some(previous) = previous else {
        return data.clone();
    };
    let Ok(object) = scan(data) else {
        return data.clone();
    };
    let value = Value::from(previous.as_str()).to_string().into_bytes();
    let path = format!("response.{PREVIOUS}");
    Bytes::from(patch_at(&object, &[(path, Some(value))]))
}

// === impl EventKind ===

impl EventKind {
    fn of(frame: &Frame, data: &[u8]) -> Self {
        let named = frame.event.clone().or_else(|| {
            let object = scan(data).ok()?;
            serde_json::from_slice(object.value("type")?).ok()
        });
        match named.as_deref() {
            Some("response.created" | "response.in_progress" | "response.queued") => {
                Self::Lifecycle
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                Self::Terminal
            }
            Some("error") => Self::Error,
            Some(_) | None => Self::Other,
        }
    }
}

//! Frames of the upstream on their way to the client. What is charged waits for its charge, and what follows it with it.

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use trunkline_ledger::Outcome;
use trunkline_types::{Bucket, Money, RequestId, Usage};
use trunkline_wire::realtime::{
    ResponseStatus, ServerEvent, TokenCounts, TranscriptUsage, read_server_event,
};

use super::connection::{Connection, Finish};
use super::from_client::OWN_EVENT;
use super::turns::{State, Transcript};
use crate::error::ApiError;
use crate::scrub::without_secrets;
use crate::websocket::SocketReader;

impl Connection {
    pub(super) async fn relay_upstream(&self, reader: &mut SocketReader) -> Finish {
        loop {
            let message = match reader.next().await {
                Some(Ok(message)) => message,
                Some(Err(_)) | None => return Finish::UpstreamGone(None),
            };
            self.upstream_seen();
            if let Err(finish) = self.upstream_message(message).await {
                return finish;
            }
        }
    }

    pub(super) async fn upstream_message(&self, message: Message) -> Result<(), Finish> {
        let text = match message {
            Message::Text(text) => text,
            binary @ Message::Binary(_) => return self.pass(binary).await,
            Message::Close(frame) => {
                return Err(Finish::UpstreamGone(frame.map(|frame| frame.code)));
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(()),
        };
        let Some(event) = read_server_event(text.as_str()) else {
            tracing::warn!(
                channel.name = self.channel.row.name,
                "realtime: a frame of the upstream is no event"
            );
            return Ok(());
        };
        match event {
            ServerEvent::RateLimits => return Ok(()),
            ServerEvent::SessionCreated | ServerEvent::SessionUpdated => {
                let is_update = event == ServerEvent::SessionUpdated;
                return self.session_event(text.as_str(), is_update).await;
            }
            ServerEvent::Error { event } => {
                let event = event.unwrap_or_default().into_owned();
                return self.upstream_error(text.as_str(), &event).await;
            }
            ServerEvent::ResponseCreated { response } => self.response_begins(&response).await?,
            ServerEvent::ResponseDone {
                response,
                status,
                usage,
            } => {
                let charge = self.response_ends(&response, status, usage, text.as_str());
                let charge = charge.await?;
                return self.pass_charged(text.as_str(), charge).await;
            }
            ServerEvent::Audio { response, bytes } => {
                self.count(&response, bytes, 0).await;
            }
            ServerEvent::Text { response, bytes } => self.count(&response, 0, bytes).await,
            ServerEvent::Committed { item } => self.audio_committed(&item).await,
            ServerEvent::Transcribed { item, usage } => {
                let charge = self.transcribed(&item, usage).await?;
                return self.pass_charged(text.as_str(), charge).await;
            }
            ServerEvent::NotTranscribed { item } => {
                let transcript = self.state.lock().await.transcripts.remove(item.as_ref());
                if let Some(Transcript { turn, .. }) = transcript {
                    drop(turn.end(None, false, Outcome::Refused).await);
                }
            }
            ServerEvent::Other => {}
        }
        self.pass(Message::Text(text)).await
    }

    /// To the client, if that is still there.
    async fn pass(&self, message: Message) -> Result<(), Finish> {
        if self.state.lock().await.is_client_gone {
            return Ok(());
        }
        self.turns
            .context
            .sent(u64::try_from(message.len()).unwrap_or(u64::MAX));
        self.to_client(message).await
    }

    /// An event that was charged says what it cost, under which id.
    async fn pass_charged(&self, text: &str, charge: Option<Charged>) -> Result<(), Finish> {
        let Some(Charged { request, amount }) = charge else {
            return self.pass(Message::text(text.to_owned())).await;
        };
        let cost = json!({ "request_id": request.to_string(), "cost_usd": amount.to_string() });
        self.pass(Message::text(with_member(text, &cost))).await
    }

    /// A session under our names. That of our own updates is not passed on.
    async fn session_event(&self, text: &str, is_update: bool) -> Result<(), Finish> {
        let mut event: Value = serde_json::from_str(text).unwrap_or_default();
        let mut state = self.state.lock().await;
        if is_update && state.own_updates > 0 {
            state.own_updates = state.own_updates.saturating_sub(1);
            return Ok(());
        }
        if !is_update && std::mem::take(&mut state.was_greeted) {
            return Ok(());
        }
        if let Some(session) = event.get_mut("session") {
            self.shown_session(&state, session);
        }
        if let Some(fields) = event.as_object_mut()
            && !state.report.notes().is_empty()
        {
            let notes = json!({ "fields": state.report.notes() });
            fields.insert("trunkline".to_owned(), notes);
        }
        drop(state);
        self.pass(Message::text(event.to_string())).await
    }

    /// An error of the upstream, without secrets. A response that was not begun is owed no longer.
    async fn upstream_error(&self, text: &str, event: &str) -> Result<(), Finish> {
        let mut state = self.state.lock().await;
        if event.starts_with(OWN_EVENT) {
            state.own_updates = state.own_updates.saturating_sub(1);
            tracing::warn!(
                channel.name = self.channel.row.name,
                "realtime: the upstream refused an update of the session"
            );
            return Ok(());
        }
        state.owed = state.owed.saturating_sub(1);
        drop(state);
        self.settled.notify_waiters();
        let secrets = self.turns.services.channels.load_full().secrets();
        self.pass(Message::text(without_secrets(text, &secrets)))
            .await
    }

    /// A response begins with the money that is held for it; one that the upstream began by itself may need some yet.
    async fn response_begins(&self, response: &str) -> Result<(), Finish> {
        let mut state = self.state.lock().await;
        if state.held.is_empty() {
            let longest = state.longest;
            self.try_hold_response(&mut state, longest).await?;
        }
        if let Some(turn) = state.held.pop_front() {
            state.begin(response.to_owned(), turn);
        }
        Ok(())
    }

    async fn count(&self, response: &str, audio: u64, text: u64) {
        if let Some(running) = self.state.lock().await.running.get_mut(response) {
            running.audio_bytes = running.audio_bytes.saturating_add(audio);
            running.text_bytes = running.text_bytes.saturating_add(text);
        }
    }

    /// Charges a response. None if it was charged before, or failed.
    async fn response_ends(
        &self,
        response: &str,
        status: ResponseStatus,
        usage: Option<TokenCounts>,
        event: &str,
    ) -> Result<Option<Charged>, Finish> {
        let mut state = self.state.lock().await;
        let Some(mut running) = state.running.remove(response) else {
            return Ok(None);
        };
        if let Some(guardrail) = &self.turns.services.guardrail {
            running.says(event, guardrail.max_bytes());
        }
        let id = running.id();
        if status == ResponseStatus::Failed {
            let settled = running.fail(Outcome::UpstreamFailed);
            drop(state);
            drop(settled.await);
            self.settled.notify_waiters();
            return Ok(None);
        }
        // A vendor that reports zero for what it made has reported nothing.
        let usage = usage.filter(|usage| !usage.is_zero() || !running.has_output());
        let reported = usage.map(|usage| usage.usage(state.session.speaks));
        let settled = running.settle(&mut state, reported);
        drop(state);
        self.charged(id, settled).await
    }

    async fn charged(
        &self,
        request: RequestId,
        settled: oneshot::Receiver<Result<Money, ApiError>>,
    ) -> Result<Option<Charged>, Finish> {
        let settled = settled.await;
        self.settled.notify_waiters();
        match settled {
            Ok(Ok(amount)) => Ok(Some(Charged { request, amount })),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(ApiError::unavailable().into()),
        }
    }

    /// What the user said is an item: its transcription has the money that is held for it.
    async fn audio_committed(&self, item: &str) {
        let mut state = self.state.lock().await;
        let audio_bytes = std::mem::take(&mut state.uncommitted);
        if let Some(turn) = state.transcriber.take() {
            let transcript = Transcript { turn, audio_bytes };
            state.transcripts.insert(item.to_owned(), transcript);
        }
    }

    async fn transcribed(
        &self,
        item: &str,
        usage: Option<TranscriptUsage>,
    ) -> Result<Option<Charged>, Finish> {
        let mut state = self.state.lock().await;
        let Some(Transcript { turn, audio_bytes }) = state.transcripts.remove(item) else {
            return Ok(None);
        };
        let (id, measured) = (turn.id, state.session.input_format.seconds(audio_bytes));
        let reported = usage.and_then(|usage| usage.usage(measured));
        let estimated = reported.is_none();
        let used = reported.unwrap_or_else(|| estimate(&state, audio_bytes));
        let settled = turn.end(Some(used), estimated, state.outcome);
        drop(state);
        self.charged(id, settled).await
    }
}

/// What a turn was charged.
#[derive(Debug, Clone, Copy)]
struct Charged {
    request: RequestId,
    amount: Money,
}

/// A transcription whose vendor reports nothing.
fn estimate(state: &State, audio_bytes: u64) -> Usage {
    let format = state.session.input_format;
    let tokens = format.input_tokens(audio_bytes);
    Usage::unknown()
        .with(Bucket::AudioInput, tokens)
        .with(Bucket::PlainOutput, tokens)
        .with(Bucket::AudioSeconds, format.seconds(audio_bytes))
}

/// The same object with one more member at its end; every other byte stays.
fn with_member(text: &str, value: &Value) -> String {
    match text.trim_end().strip_suffix('}') {
        Some(open) => format!("{open},\"trunkline\":{value}}}"),
        None => text.to_owned(),
    }
}

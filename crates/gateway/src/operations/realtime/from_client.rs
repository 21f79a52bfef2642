//! Frames of the client on their way to the upstream: money is held before anything that can begin a response.

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::MutexGuard;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use trunkline_wire::realtime::{ClientEvent, ClientEventKind};

use super::REALTIME;
use super::connection::{Connection, Finish};
use super::request::{TRANSCRIPTION, TokenBound, TurnKind};
use super::turn::OpenChannel;
use super::turns::{State, Turn};
use crate::error::{ApiError, ErrorCode};
use crate::guardrail::{Stage, Subject};
use crate::websocket::SocketReader;

/// How long what cannot be paid yet waits for a response to end that is being charged.
const FREED_WAIT: std::time::Duration = std::time::Duration::from_secs(30);
/// A smaller frame is not counted: it is sent on at once.
const COUNTED_FROM: usize = 65_536;
/// Tokens of audio that a transcription is held ahead of at least: a second.
const LEAST_AHEAD: u64 = 10;
/// Events of ours begin with it.
pub(super) const OWN_EVENT: &str = "trunkline_";

impl Connection {
    pub(super) async fn relay_client(&self, reader: &mut SocketReader) -> Finish {
        loop {
            let message = match reader.next().await {
                Some(Ok(message)) => message,
                Some(Err(_)) | None => return Finish::ClientGone,
            };
            self.client_seen(message.is_text());
            let passed = match message {
                Message::Text(text) => self.client_text(text).await,
                Message::Binary(_) => {
                    let text = "send events as text frames";
                    let error = ApiError::new(ErrorCode::Invalid("invalid_event"), text);
                    self.error_to_client(&error, None).await
                }
                Message::Close(_) => return Finish::ClientGone,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(()),
            };
            if let Err(finish) = passed {
                return finish;
            }
        }
    }

    pub(super) async fn client_text(&self, frame: Utf8Bytes) -> Result<(), Finish> {
        let text = frame.as_str();
        // A large frame is memory of its account until it is sent on.
        let (services, account) = (&self.turns.services, self.turns.caller.account.id);
        let counts = text.len() >= COUNTED_FROM && !services.is_draining();
        let counted = counts.then(|| services.edge.acquire(account, text.len()));
        let _permit = counted.transpose()?;
        let mut read = match ClientEvent::read(text) {
            Ok(read) => read,
            Err(error) => {
                let error = ApiError::new(ErrorCode::Invalid("invalid_event"), error.to_string());
                return self.error_to_client(&error, None).await;
            }
        };
        if let Err(error) = self.check_words(read.kind, text).await {
            return self.error_to_client(&error, None).await;
        }
        let sent = match read.kind {
            ClientEventKind::Audio(bytes) => {
                self.before_audio(&read, bytes).await?;
                None
            }
            ClientEventKind::SessionUpdate => match Box::pin(self.session_update(&mut read)).await?
            {
                Some(event) => Some(event),
                None => return Ok(()),
            },
            ClientEventKind::ResponseCreate if self.transcribes => {
                let text = "a transcription session makes no responses";
                let error = ApiError::new(ErrorCode::Invalid("invalid_event"), text);
                let event = read.event.get("event_id").and_then(Value::as_str);
                return self.error_to_client(&error, event).await;
            }
            ClientEventKind::ResponseCreate => {
                Some(Box::pin(self.before_response(&mut read)).await?)
            }
            ClientEventKind::ItemCreate | ClientEventKind::Commit | ClientEventKind::Other => {
                let mut state = self.state.lock().await;
                state.add(read.adds());
                if read.kind == ClientEventKind::Commit {
                    self.hold_transcription(&mut state).await?;
                }
                (!read.dropped.is_empty()).then(|| read.event.to_string())
            }
        };
        // What nothing was changed in is not copied.
        let sent = sent.map_or(frame, Utf8Bytes::from);
        self.to_upstream(Message::Text(sent)).await
    }

    /// Money for a response may be held before its words are known, so the guardrail is asked once more, about what
    /// the client wrote since its last response. Audio is not shown.
    async fn check_words(&self, kind: ClientEventKind, text: &str) -> Result<(), ApiError> {
        let services = &self.turns.services;
        let Some(guardrail) = &services.guardrail else {
            return Ok(());
        };
        let asks = match kind {
            ClientEventKind::Audio(_) | ClientEventKind::Commit | ClientEventKind::Other => {
                return Ok(());
            }
            ClientEventKind::SessionUpdate | ClientEventKind::ItemCreate => false,
            ClientEventKind::ResponseCreate => true,
        };
        let mut state = self.state.lock().await;
        state.say(text, guardrail.max_bytes());
        if !asks {
            return Ok(());
        }
        let words = std::mem::take(&mut state.words);
        let held = state.held.front().map(|turn| turn.id);
        drop(state);
        let caller = &self.turns.caller;
        let subject = Subject {
            id: held.unwrap_or_else(|| services.request_id()),
            account: caller.account.id,
            key: caller.key.id,
            endpoint: REALTIME,
            model: &self.model,
        };
        let excerpt = guardrail.cut(words.as_bytes());
        Box::pin(guardrail.check(subject, Stage::Request, &excerpt)).await
    }

    /// Audio may begin a response by itself, and is written down.
    async fn before_audio(&self, read: &ClientEvent, bytes: u64) -> Result<(), Finish> {
        let mut state = self.state.lock().await;
        state.add(read.adds());
        state.uncommitted = state.uncommitted.saturating_add(bytes);
        self.hold_transcription(&mut state).await?;
        if state.session.begins_by_itself {
            let longest = state.longest;
            drop(self.hold_response(state, longest).await?);
        }
        Ok(())
    }

    /// A response is asked for: its longest length is a number that the balance covers.
    async fn before_response(&self, read: &mut ClientEvent) -> Result<String, Finish> {
        let mut state = self.state.lock().await;
        state.add(read.adds());
        let longest = read.event.pointer("/response/max_output_tokens");
        let longest = match longest {
            None => state.longest,
            Some(longest) => longest.as_u64().unwrap_or(u64::MAX).min(state.affordable),
        };
        let mut state = self.hold_response(state, longest).await?;
        state.owed = state.owed.saturating_add(1);
        let covered = state.affordable.min(longest);
        drop(state);
        if let Some(field) = read.event.pointer_mut("/response/max_output_tokens") {
            *field = json!(covered);
        }
        Ok(read.event.to_string())
    }

    /// Holds money for the next response. What cannot be paid while another response is being made waits for its
    /// charge, which may free some.
    pub(super) async fn hold_response<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        longest: u64,
    ) -> Result<MutexGuard<'a, State>, Finish> {
        loop {
            let held = self.try_hold_response(&mut state, longest).await;
            let error = match held {
                Ok(()) => break,
                Err(error) => error,
            };
            if !is_short(&error) || (state.running.is_empty() && state.owed == 0) {
                return Err(error.into());
            }
            let settled = self.settled.notified();
            drop(state);
            if tokio::time::timeout(FREED_WAIT, settled).await.is_err() {
                return Err(error.into());
            }
            state = self.state.lock().await;
        }
        if state.affordable < state.longest {
            self.shorten_session(&mut state).await?;
        }
        Ok(state)
    }

    pub(super) async fn try_hold_response(
        &self,
        state: &mut State,
        longest: u64,
    ) -> Result<(), ApiError> {
        let needed = state.next_response(longest);
        while state.held.len() <= state.owed {
            let ahead = needed.ahead(self.turns.services.settings.realtime.ahead_tokens);
            let turn = self.begin(state, &self.model, state.response_kind(), ahead);
            let turn = turn.await?;
            state.affordable = state.affordable.min(turn.covered.output.max(1));
            state.held.push_back(turn);
        }
        let needed = TokenBound {
            output: needed.output.min(state.affordable),
            ..needed
        };
        for turn in &mut state.held {
            turn.cover(needed).await?;
            state.affordable = state.affordable.min(turn.covered.output);
        }
        Ok(())
    }

    /// Money for the transcription of the audio so far, where there is a transcriber.
    pub(super) async fn hold_transcription(&self, state: &mut State) -> Result<(), Finish> {
        let Some(model) = state.session.transcriber.clone() else {
            return Ok(());
        };
        let needed = state.next_transcription();
        let held = async {
            if state.transcriber.is_none() {
                let ahead = needed.ahead(self.turns.services.settings.realtime.ahead_tokens);
                let turn = self.begin(state, &model, TurnKind::Transcription, ahead);
                let turn = match turn.await {
                    // The balance may cover what was said without what may follow.
                    Err(error) if is_short(&error) => {
                        let needed = needed.ahead(LEAST_AHEAD);
                        let turn = self.begin(state, &model, TurnKind::Transcription, needed);
                        turn.await?
                    }
                    turn => turn?,
                };
                state.transcriber = Some(turn);
            }
            match &mut state.transcriber {
                Some(turn) => turn.cover(needed).await,
                None => Ok(()),
            }
        };
        held.await.map_err(Finish::from)
    }

    /// One more turn on the channel of the connection.
    pub(super) async fn begin(
        &self,
        state: &State,
        model: &str,
        kind: TurnKind,
        bound: TokenBound,
    ) -> Result<Turn, ApiError> {
        let operation = state.operation(model, kind, bound);
        // In a box: each of the places that may begin a turn would keep space for it.
        let begun = Box::pin(self.turns.begin(operation, Some(self.open_channel())));
        Ok(Turn::of(&begun.await?))
    }

    pub(super) fn open_channel(&self) -> OpenChannel {
        OpenChannel {
            channel: std::sync::Arc::clone(&self.channel),
            credential: self.credential,
        }
    }

    /// The balance covers shorter responses than the session allows.
    async fn shorten_session(&self, state: &mut State) -> Result<(), Finish> {
        state.longest = state.affordable;
        self.own_update(state, json!({})).await
    }

    /// An update of ours, whose event the client does not see.
    pub(super) async fn own_update(
        &self,
        state: &mut State,
        mut session: Value,
    ) -> Result<(), Finish> {
        if let Value::Object(fields) = &mut session {
            let kind = if self.transcribes {
                TRANSCRIPTION
            } else {
                fields.insert("max_output_tokens".to_owned(), json!(state.longest));
                REALTIME
            };
            fields.insert("type".to_owned(), json!(kind));
        }
        state.own_updates = state.own_updates.saturating_add(1);
        let event = format!("{OWN_EVENT}{}", state.own_updates);
        let update = json!({ "type": "session.update", "event_id": event, "session": session });
        self.to_upstream(Message::text(update.to_string())).await
    }
}

/// Whether money is missing, and nothing else.
fn is_short(error: &ApiError) -> bool {
    matches!(
        error.kind,
        ErrorCode::InsufficientBalance | ErrorCode::BudgetExceeded
    )
}

//! One connection: two directions side by side, what watches over them, and the end of it.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use trunkline_catalog::FieldReport;
use trunkline_ledger::Outcome;
use trunkline_store::live_connections::LiveConnection;

use super::charged_time::ChargedTime;
use super::request::{Realtime, TokenBound, TurnKind};
use super::turn::Begun;
use super::turns::{State, Turns};
use super::unnamed;
use super::{PendingClient, REALTIME};
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::live_connections::{LiveGuard, closed_by_operator};
use crate::response::Responder;
use crate::websocket::{
    CLOSE_WAIT, ConnectionClock, ConnectionDue, LOOK, Socket, SocketReader, SocketWriter, close,
    close_code, error_event, send,
};

pub(super) struct Connection {
    pub(super) turns: Turns,
    /// The model by its public name, and as the client wrote it.
    pub(super) model: String,
    pub(super) model_as_sent: String,
    /// It makes transcripts and nothing else.
    pub(super) transcribes: bool,
    pub(super) channel: Arc<Channel>,
    pub(super) credential: i64,
    pub(super) state: Mutex<State>,
    live: LiveGuard,
    /// A turn has ended.
    pub(super) settled: Notify,
    client: Mutex<SocketWriter>,
    upstream: Mutex<SocketWriter>,
    seen: std::sync::Mutex<Seen>,
}

/// When something came last.
#[derive(Debug, Clone, Copy)]
struct Seen {
    clock: ConnectionClock,
    upstream: Instant,
}

struct Readers {
    client: SocketReader,
    upstream: SocketReader,
}

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum Finish {
    ClientGone,
    /// The upstream has closed, with a code of its own or without.
    UpstreamGone(Option<CloseCode>),
    /// Money, a key, a limit, a fault: the client is told.
    Refused(Box<ApiError>),
    Expired,
    Drained,
}

impl From<ApiError> for Finish {
    fn from(error: ApiError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// An upstream that is connected to, with the money of its first turn.
pub(super) struct Opened {
    begun: Begun,
    upstream: Socket,
    time: Option<ChargedTime>,
    model_as_sent: String,
}

/// What is sent to an upstream first.
pub(super) enum FirstFrame {
    /// The session of a client secret.
    Session(Value),
    /// The client's update that named the transcriber; the client has had our greeting.
    Update(String),
}

/// Opens a connection by its first turn, and relays until it ends.
pub(super) async fn run(
    turns: Turns,
    mut operation: Realtime,
    client: PendingClient,
    responder: Responder,
) {
    if operation.model.is_empty() {
        return Box::pin(unnamed::run(turns, operation, client, responder)).await;
    }
    let session = operation.session.take();
    // In a box, as all that waits once: the task of a connection keeps space for the largest.
    let opened = match Box::pin(open(&turns, operation)).await {
        Ok(opened) => opened,
        Err(error) => return client.refuse(&turns, responder, error),
    };
    let Some(client) = client.switch(responder).await else {
        return;
    };
    converse(turns, opened, client, FirstFrame::Session(session)).await;
}

/// Holds the money of the first turn and of the first time, and connects to the upstream.
pub(super) async fn open(turns: &Turns, mut operation: Realtime) -> Result<Opened, ApiError> {
    let settings = &turns.services.settings.realtime;
    operation.bound = match operation.kind {
        TurnKind::Transcription => TokenBound::default().ahead(settings.ahead_tokens),
        TurnKind::Response { .. } | TurnKind::Time { .. } => TokenBound {
            input: settings.ahead_tokens,
            output: settings.max_output_tokens,
            ..TokenBound::default()
        },
    };
    let transcribes = operation.kind == TurnKind::Transcription;
    let model_as_sent = operation.model.clone();
    let mut begun = turns.begin(operation, None).await?;
    let upstream = begun.socket.take().ok_or_else(ApiError::unavailable)?;
    let mut time = None;
    if begun.bills_time {
        let channel = begun.open_channel();
        let held = ChargedTime::begin(turns, &begun.model, channel, transcribes);
        time = Some(held.await?);
    }
    Ok(Opened {
        begun,
        upstream,
        time,
        model_as_sent,
    })
}

/// Relays between both sides until one ends.
pub(super) async fn converse(turns: Turns, opened: Opened, client: Socket, first: FirstFrame) {
    let (client, from_client) = client.split();
    let (upstream, from_upstream) = opened.upstream.split();
    let mut connection =
        Connection::new(turns, opened.begun, opened.model_as_sent, client, upstream);
    let state = connection.state.get_mut();
    state.time = opened.time;
    state.was_greeted = matches!(first, FirstFrame::Update(_));
    let mut readers = Readers {
        client: from_client,
        upstream: from_upstream,
    };
    let sent = match first {
        FirstFrame::Session(session) => Box::pin(connection.first_update(session)).await,
        FirstFrame::Update(text) => Box::pin(connection.client_text(text.into())).await,
    };
    let finish = match sent {
        Ok(()) => Box::pin(connection.relay(&mut readers)).await,
        Err(finish) => finish,
    };
    Box::pin(connection.end(finish, readers)).await;
}

impl Connection {
    fn new(
        turns: Turns,
        begun: Begun,
        model_as_sent: String,
        client: SocketWriter,
        upstream: SocketWriter,
    ) -> Self {
        let seen = Seen {
            clock: ConnectionClock::start(),
            upstream: Instant::now(),
        };
        let state = State::new(&begun, &model_as_sent, FieldReport::default());
        let services = &turns.services;
        let live = services.live_connections.open(LiveConnection {
            model: Some(begun.model.clone()),
            channel: Some(begun.channel.row.id.number()),
            ..services.live_connection(&turns.context, &turns.caller, REALTIME)
        });
        Self {
            turns,
            model_as_sent,
            transcribes: begun.kind == TurnKind::Transcription,
            state: Mutex::new(state),
            live,
            settled: Notify::new(),
            client: Mutex::new(client),
            upstream: Mutex::new(upstream),
            seen: std::sync::Mutex::new(seen),
            channel: begun.channel,
            credential: begun.credential,
            model: begun.model,
        }
    }

    /// Relays until one side ends, or must.
    async fn relay(&self, readers: &mut Readers) -> Finish {
        tokio::select! {
            finish = self.relay_client(&mut readers.client) => finish,
            finish = self.relay_upstream(&mut readers.upstream) => finish,
            finish = self.watch() => finish,
            finish = self.charge_time() => finish,
            () = self.live.closed() => closed_by_operator().into(),
        }
    }

    pub(super) async fn to_client(&self, text: impl Into<Message>) -> Result<(), Finish> {
        let mut writer = self.client.lock().await;
        let sent = send(&mut writer, text.into()).await;
        sent.then_some(()).ok_or(Finish::ClientGone)
    }

    pub(super) async fn to_upstream(&self, text: impl Into<Message>) -> Result<(), Finish> {
        let mut writer = self.upstream.lock().await;
        let sent = send(&mut writer, text.into()).await;
        sent.then_some(()).ok_or(Finish::UpstreamGone(None))
    }

    /// An error that ends nothing.
    pub(super) async fn error_to_client(
        &self,
        error: &ApiError,
        event: Option<&str>,
    ) -> Result<(), Finish> {
        let context = &self.turns.context;
        let text = error_event(error, context.id, context.error_pages());
        let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(field) = value.pointer_mut("/error/event_id") {
            *field = json!(event);
        }
        self.to_client(Message::text(value.to_string())).await
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn client_seen(&self, is_event: bool) {
        self.seen().clock.received(is_event);
    }

    pub(super) fn upstream_seen(&self) {
        let mut seen = self.seen();
        seen.upstream = Instant::now();
        seen.clock.active();
    }

    /// Waits until a limit of the connection is reached.
    async fn watch(&self) -> Finish {
        let services = &self.turns.services;
        loop {
            tokio::time::sleep(LOOK).await;
            if self.turns.context.watch.is_gone() {
                return Finish::ClientGone;
            }
            let due = self.seen().clock.due(&services.settings.realtime);
            match due {
                ConnectionDue::ClientGone => return Finish::ClientGone,
                ConnectionDue::Expired => return Finish::Expired,
                ConnectionDue::Ping => {
                    if let Err(finish) = self.to_client(Message::Ping(Vec::new().into())).await {
                        return finish;
                    }
                }
                ConnectionDue::Nothing => {}
            }
            if let Err(error) = self.turns.caller.refresh(&services.edge)
                && !error.kind.is_retryable()
            {
                return error.into();
            }
            let is_running = !self.state.lock().await.running.is_empty();
            if is_running && self.seen().upstream.elapsed() > services.settings.stream_idle {
                return Finish::UpstreamGone(None);
            }
            if services.is_draining() && !is_running {
                return Finish::Drained;
            }
        }
    }

    /// Ends what runs, tells the client why, and closes both sides.
    async fn end(self, finish: Finish, mut readers: Readers) {
        let mut state = self.state.lock().await;
        // What was held for turns that never began is released.
        state.held.clear();
        state.transcriber = None;
        state.outcome = match &finish {
            Finish::ClientGone => Outcome::ClientGone,
            Finish::Refused(error) if error.kind.status() == http::StatusCode::PAYMENT_REQUIRED => {
                Outcome::BalanceExhausted
            }
            Finish::Refused(_) | Finish::UpstreamGone(_) | Finish::Expired | Finish::Drained => {
                Outcome::Complete
            }
        };
        state.is_client_gone = matches!(finish, Finish::ClientGone);
        let (is_upstream_gone, is_running) = (
            matches!(finish, Finish::UpstreamGone(_)),
            !state.running.is_empty() || !state.transcripts.is_empty(),
        );
        drop(state);
        if !is_upstream_gone {
            let cancels = is_running || matches!(finish, Finish::Refused(_));
            self.cancel(cancels, &mut readers.upstream).await;
        }
        self.settle_rest(is_upstream_gone).await;
        self.settle_time().await;
        self.close(&finish, &mut readers.client).await;
    }

    /// Cancels the responses that run, and waits a little for their usage.
    async fn cancel(&self, cancels: bool, upstream: &mut SocketReader) {
        if !cancels {
            return;
        }
        let cancel = json!({ "type": "response.cancel" }).to_string();
        if !self.transcribes && self.to_upstream(Message::text(cancel)).await.is_err() {
            return;
        }
        let ending = self.turns.services.settings.realtime.ending;
        let rest = async {
            loop {
                let state = self.state.lock().await;
                if state.running.is_empty() && state.transcripts.is_empty() {
                    return;
                }
                drop(state);
                match upstream.next().await {
                    Some(Ok(message)) => {
                        if self.upstream_message(message).await.is_err() {
                            return;
                        }
                    }
                    Some(Err(_)) | None => return,
                }
            }
        };
        drop(tokio::time::timeout(ending, rest).await);
    }

    /// Ends the turns whose end did not come: with what was seen if the client had some of it, and without a charge
    /// if the upstream broke off.
    async fn settle_rest(&self, is_upstream_gone: bool) {
        let mut state = self.state.lock().await;
        let running: Vec<_> = state.running.drain().collect();
        let transcripts: Vec<_> = state.transcripts.drain().collect();
        for (_, running) in running {
            let settled = if is_upstream_gone {
                running.fail(Outcome::UpstreamFailed)
            } else if !running.has_output() {
                running.fail(Outcome::Cancelled)
            } else {
                running.settle(&mut state, None)
            };
            drop(settled.await);
        }
        for (_, transcript) in transcripts {
            let outcome = if is_upstream_gone {
                Outcome::UpstreamFailed
            } else {
                Outcome::Cancelled
            };
            let settled = transcript.turn.end(None, false, outcome);
            drop(settled.await);
        }
    }

    async fn close(&self, finish: &Finish, from_client: &mut SocketReader) {
        let context = &self.turns.context;
        let refused;
        let (error, code) = match finish {
            Finish::ClientGone => (None, CloseCode::Normal),
            Finish::UpstreamGone(Some(code @ (CloseCode::Normal | CloseCode::Away))) => {
                (None, *code)
            }
            Finish::UpstreamGone(_) => {
                let text = "the upstream closed the connection; what was not done was not charged";
                refused = ApiError::new(ErrorCode::UpstreamFailed, text);
                (Some(&refused), CloseCode::Error)
            }
            Finish::Refused(error) => (Some(error.as_ref()), close_code(&error.kind)),
            Finish::Expired => {
                let text =
                    "the connection reached its longest duration, or nothing was sent for long";
                refused = ApiError::new(ErrorCode::Invalid("session_expired"), text);
                (Some(&refused), CloseCode::Away)
            }
            Finish::Drained => {
                let text = "this node is shutting down; connect anew";
                refused = ApiError::new(ErrorCode::Draining, text);
                (Some(&refused), CloseCode::Restart)
            }
        };
        let reason = error.map_or("", |error| error.message.as_str());
        if let Some(error) = error {
            context.failed(error);
            // A client that has gone needs none.
            drop(self.error_to_client(error, None).await);
        }
        let both = async {
            let (mut client, mut upstream) = (self.client.lock().await, self.upstream.lock().await);
            tokio::join!(
                close(&mut client, code, reason),
                close(&mut upstream, CloseCode::Normal, "")
            );
            // A socket that is closed with bytes unread is reset, and its client reads no error.
            while from_client.next().await.is_some_and(|read| read.is_ok()) {}
        };
        drop(tokio::time::timeout(CLOSE_WAIT, both).await);
    }
}

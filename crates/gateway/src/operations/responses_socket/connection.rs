//! One connection: messages in, events out, what watches over them, and the end of it.

use std::sync::{Arc, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Accepted;
use super::conversation::KeptResponses;
use super::lanes::Lanes;
use super::message::{CreateMessage, Lane, RefusedMessage, error_event};
use crate::error::{ApiError, ErrorCode};
use crate::live_connections::{LiveGuard, closed_by_operator};
use crate::websocket::{
    CLOSE_WAIT, ConnectionClock, ConnectionDue, LOOK, Socket, SocketReader, SocketWriter, close,
    close_code, send,
};

/// Its name in lists of connections.
const RESPONSES: &str = "responses";
/// Events that wait for the client.
const MAX_EVENTS: usize = 16;

struct Connection {
    accepted: Arc<Accepted>,
    lanes: Lanes,
    events: mpsc::Receiver<String>,
    clock: ConnectionClock,
    /// It has lasted its time: what runs may end, and nothing begins.
    is_over: bool,
}

/// Why a connection ends.
enum Finish {
    ClientGone,
    Expired,
    /// A key, a fault, a node that stops: the client is told.
    Refused(Box<ApiError>),
}

/// Serves a connection to its end.
pub(super) async fn run(accepted: Arc<Accepted>, socket: Socket) {
    let (mut writer, mut reader) = socket.split();
    let (sender, events) = mpsc::channel(MAX_EVENTS);
    let mut connection = Connection {
        lanes: Lanes::new(Arc::clone(&accepted), sender),
        accepted,
        events,
        clock: ConnectionClock::start(),
        is_over: false,
    };
    let accepted = &connection.accepted;
    let services = &accepted.services;
    let facts = services.live_connection(&accepted.context, &accepted.caller, RESPONSES);
    let live = services.live_connections.open(facts);
    let finish = connection.serve(&mut writer, &mut reader, &live).await;
    drop(live);
    connection.end(finish, &mut writer, &mut reader).await;
}

impl Connection {
    async fn serve(
        &mut self,
        writer: &mut SocketWriter,
        reader: &mut SocketReader,
        live: &LiveGuard,
    ) -> Finish {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let next = tokio::select! {
                message = reader.next() => self.receive(message),
                Some(event) = self.events.recv() => Ok(Some(Message::text(event))),
                Some(ended) = self.lanes.running.join_next() => self.turn_ended(ended),
                _ = looks.tick() => self.look(),
                () = live.closed() => Err(closed_by_operator().into()),
            };
            match next {
                Ok(None) => {}
                Ok(Some(message)) => {
                    if message.is_text() {
                        self.clock.active();
                    }
                    if !send(writer, message).await {
                        return Finish::ClientGone;
                    }
                }
                Err(finish) => return finish,
            }
        }
    }

    /// Takes a message in; some frame answers it at once.
    fn receive(
        &mut self,
        message: Option<Result<Message, Error>>,
    ) -> Result<Option<Message>, Finish> {
        let message = match message {
            Some(Ok(message)) => message,
            Some(Err(Error::Capacity(_))) => {
                let text = "the message is too large";
                return Err(ApiError::new(ErrorCode::TooLarge, text).into());
            }
            Some(Err(_)) | None => return Err(Finish::ClientGone),
        };
        self.clock.received(message.is_text());
        let taken = match message {
            Message::Text(text) => CreateMessage::read(text).and_then(|read| self.take(read)),
            Message::Binary(_) => {
                let text = "send messages as text frames";
                let error = ApiError::new(ErrorCode::Invalid("invalid_request"), text);
                let error = Box::new(error);
                Err(RefusedMessage { lane: None, error })
            }
            Message::Close(_) => return Err(Finish::ClientGone),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(()),
        };
        Ok(taken.err().map(|refused| {
            let lane = refused.lane.as_deref();
            Message::text(self.error_event(&refused.error, lane))
        }))
    }

    fn take(&mut self, message: CreateMessage) -> Result<(), RefusedMessage> {
        if self.is_over {
            return Err(RefusedMessage {
                lane: message.lane,
                error: Box::new(expired()),
            });
        }
        self.lanes.take(message)
    }

    fn turn_ended(&mut self, ended: Result<Lane, JoinError>) -> Result<Option<Message>, Finish> {
        let lane = ended.map_err(|_| ApiError::unavailable())?;
        self.lanes.ended(&lane);
        Ok(None)
    }

    /// Looks at the limits of the connection.
    fn look(&mut self) -> Result<Option<Message>, Finish> {
        let services = &self.accepted.services;
        if self.accepted.context.watch.is_gone() {
            return Err(Finish::ClientGone);
        }
        let is_idle = self.lanes.is_idle() && self.events.is_empty();
        let ping = match self.clock.due(&services.settings.realtime) {
            ConnectionDue::ClientGone => return Err(Finish::ClientGone),
            ConnectionDue::Expired if is_idle => return Err(Finish::Expired),
            ConnectionDue::Expired => {
                self.is_over = true;
                None
            }
            ConnectionDue::Ping => Some(Message::Ping(Vec::new().into())),
            ConnectionDue::Nothing => None,
        };
        // A key that was revoked begins nothing, and ends nothing that runs.
        if is_idle
            && let Err(error) = self.accepted.caller.refresh(&services.edge)
            && !error.kind.is_retryable()
        {
            return Err(error.into());
        }
        if services.is_draining() && is_idle {
            let text = "this node is shutting down; connect anew";
            return Err(ApiError::new(ErrorCode::Draining, text).into());
        }
        Ok(ping)
    }

    fn error_event(&self, error: &ApiError, lane: Option<&str>) -> String {
        let context = &self.accepted.context;
        error_event(error, context.id, context.error_pages(), lane)
    }

    /// Tells the client why, and closes. Turns that run lose their reader, and are charged as those of a client that
    /// has gone.
    async fn end(self, finish: Finish, writer: &mut SocketWriter, reader: &mut SocketReader) {
        let (error, code) = match finish {
            Finish::ClientGone => (None, CloseCode::Normal),
            Finish::Expired => (Some(expired()), CloseCode::Away),
            Finish::Refused(error) => {
                let code = close_code(&error.kind);
                (Some(*error), code)
            }
        };
        let reason = error.as_ref().map_or("", |error| error.message.as_str());
        if let Some(error) = &error {
            self.accepted.context.failed(error);
            let event = self.error_event(error, None);
            send(writer, Message::text(event)).await;
        }
        drop(self.lanes);
        let closed = async {
            close(writer, code, reason).await;
            // A socket that is closed with bytes unread is reset, and its client reads no error.
            while reader.next().await.is_some_and(|read| read.is_ok()) {}
        };
        drop(tokio::time::timeout(CLOSE_WAIT, closed).await);
    }
}

impl From<ApiError> for Finish {
    fn from(error: ApiError) -> Self {
        Self::Refused(Box::new(error))
    }
}

fn expired() -> ApiError {
    let text =
        "the connection reached its longest duration, or nothing was sent for long; connect anew";
    ApiError::new(
        ErrorCode::Invalid("websocket_connection_limit_reached"),
        text,
    )
}

// === impl Accepted ===

impl Accepted {
    pub(super) fn kept(&self) -> MutexGuard<'_, KeptResponses> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, id: String, items: String) {
        let edge = &self.services.edge;
        let mut kept = self.kept();
        kept.keep(id, items.into(), edge.settings.max_body_bytes);
        let counted = self.kept_bytes.lock();
        let mut counted = counted.unwrap_or_else(PoisonError::into_inner);
        counted.count(kept.bytes());
        // A node without memory for calls has none for what may never be continued.
        while edge.is_full(self.caller.account.id) && kept.forget_oldest() {
            counted.count(kept.bytes());
        }
    }
}

//! The turns of a connection: those of one lane in their order, those of different lanes side by side.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Accepted;
use super::message::{CreateMessage, Lane, RefusedMessage};
use super::turn::Turn;
use crate::error::{ApiError, ErrorCode};
use crate::in_flight::InFlightPermit;

/// Lanes whose turns run at the same time.
const MAX_LANES: usize = 16;
/// Messages that wait in one lane.
const MAX_WAITING: usize = 16;

pub(super) struct Lanes {
    accepted: Arc<Accepted>,
    events: mpsc::Sender<String>,
    /// Messages behind the turn that runs; a lane without one is not here.
    waiting: HashMap<Lane, VecDeque<Waiting>>,
    /// One turn of each lane. They end with the connection.
    pub(super) running: JoinSet<Lane>,
}

/// A message that has its place among the calls in flight.
struct Waiting {
    message: CreateMessage,
    permit: InFlightPermit,
}

impl Lanes {
    pub(super) fn new(accepted: Arc<Accepted>, events: mpsc::Sender<String>) -> Self {
        Self {
            accepted,
            events,
            waiting: HashMap::new(),
            running: JoinSet::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Takes a message in: its turn begins when those before it in its lane have ended.
    pub(super) fn take(&mut self, message: CreateMessage) -> Result<(), RefusedMessage> {
        let lane = message.lane.clone();
        let refused = |error: ApiError| RefusedMessage {
            lane: lane.clone(),
            error: Box::new(error),
        };
        let waits = self.waiting.get(&lane).map(VecDeque::len);
        if waits.is_none() && self.waiting.len() >= MAX_LANES {
            return Err(refused(too_many("streams run")));
        }
        if waits.is_some_and(|waits| waits >= MAX_WAITING) {
            return Err(refused(too_many("messages wait in this stream")));
        }
        // A place in flight, as every request has one.
        let account = self.accepted.caller.account.id;
        let permit = self
            .accepted
            .services
            .edge
            .acquire(account, message.bytes());
        let permit = permit.map_err(refused)?;
        let next = Waiting { message, permit };
        match self.waiting.get_mut(&lane) {
            Some(waiting) => waiting.push_back(next),
            None => {
                self.waiting.insert(lane, VecDeque::new());
                self.begin(next);
            }
        }
        Ok(())
    }

    /// A turn has ended; the next of its lane begins.
    pub(super) fn ended(&mut self, lane: &Lane) {
        let next = self.waiting.get_mut(lane).and_then(VecDeque::pop_front);
        match next {
            Some(next) => self.begin(next),
            None => {
                self.waiting.remove(lane);
            }
        }
    }

    fn begin(&mut self, next: Waiting) {
        let turn = Turn {
            accepted: Arc::clone(&self.accepted),
            events: self.events.clone(),
            message: next.message,
        };
        self.running.spawn(turn.run(next.permit));
    }
}

fn too_many(what: &str) -> ApiError {
    let text = format!("too many {what} on this connection; wait for a response to end");
    ApiError::new(ErrorCode::Invalid("websocket_stream_limit_reached"), text).at("stream_id")
}

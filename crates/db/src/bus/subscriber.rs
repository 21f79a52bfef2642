//! Subscriptions of the bus.

use async_nats::Message;
use bytes::Bytes;
use futures_util::StreamExt as _;
use trunkline_types::AccountId;

use super::error::BusError;
use super::message::{EVENTS, EventCopy, LIVE, LiveNotification, account_of};

/// Header with the topic, so that a message need not be decoded to filter it.
pub(crate) const TOPIC_HEADER: &str = "Trunkline-Topic";
/// Header with the sending process.
pub(crate) const FROM_HEADER: &str = "Trunkline-From";

#[derive(Debug)]
pub enum Incoming {
    /// A copy of an event.
    Event(RawEvent),
    Live(LiveNotification),
}

/// A copy that is not decoded yet: most are for accounts without a subscriber on this node.
#[derive(Debug, Clone)]
pub struct RawEvent {
    pub account: AccountId,
    /// Its topic, if the message has the header.
    pub topic: Option<String>,
    bytes: Bytes,
}

/// NATS subscription for event copies and live notifications.
#[derive(Debug)]
pub struct Subscriber(Option<Open>);

#[derive(Debug)]
struct Open {
    events: async_nats::Subscriber,
    live: async_nats::Subscriber,
    own: String,
}

// === impl RawEvent ===

impl RawEvent {
    pub fn decode(&self) -> Result<EventCopy, BusError> {
        let copy: EventCopy = serde_json::from_slice(&self.bytes)?;
        Ok(copy)
    }
}

// === impl Subscriber ===

impl Subscriber {
    pub(crate) fn disconnected() -> Self {
        Self(None)
    }

    pub(crate) fn open(
        events: async_nats::Subscriber,
        live: async_nats::Subscriber,
        own: String,
    ) -> Self {
        Self(Some(Open { events, live, own }))
    }

    /// The next message; none after the subscription ended. Without NATS it never resolves. Cancel
    /// safe.
    pub async fn next(&mut self) -> Option<Incoming> {
        let Some(open) = &mut self.0 else {
            return std::future::pending().await;
        };
        loop {
            let incoming = tokio::select! {
                message = open.events.next() => event(message?),
                message = open.live.next() => live(&message?, &open.own),
            };
            if let Some(incoming) = incoming {
                return Some(incoming);
            }
        }
    }
}

fn event(message: Message) -> Option<Incoming> {
    let account = account_of(&message.subject, EVENTS)?;
    let topic = header(&message, TOPIC_HEADER).map(str::to_owned);
    Some(Incoming::Event(RawEvent {
        account,
        topic,
        bytes: message.payload,
    }))
}

/// Live notifications of other processes; its own were delivered locally.
fn live(message: &Message, own: &str) -> Option<Incoming> {
    if header(message, FROM_HEADER) == Some(own) {
        return None;
    }
    let account = account_of(&message.subject, LIVE)?;
    let notification: LiveNotification = serde_json::from_slice(&message.payload).ok()?;
    (notification.account() == account).then_some(Incoming::Live(notification))
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    let value = message.headers.as_ref()?.get(name)?;
    Some(value.as_str())
}

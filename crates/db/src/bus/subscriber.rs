//! What is heard.

use async_nats::Message;
use bytes::Bytes;
use futures_util::StreamExt as _;
use trunkline_types::AccountId;

use super::error::BusError;
use super::message::{EVENTS, EventCopy, LIVE, LiveNotification, account_of};

/// Says of which topic a message is, so that it need not be opened to know.
pub(crate) const TOPIC_HEADER: &str = "Trunkline-Topic";
/// Says who said it.
pub(crate) const FROM_HEADER: &str = "Trunkline-From";

/// Something that came.
#[derive(Debug)]
pub enum Incoming {
    /// The copy of an event.
    Event(RawEvent),
    /// News.
    Live(LiveNotification),
}

/// A copy that is not opened yet: most are for accounts that nobody here follows.
#[derive(Debug, Clone)]
pub struct RawEvent {
    /// Whose it is.
    pub account: AccountId,
    /// The word of its topic, where it says so.
    pub topic: Option<String>,
    bytes: Bytes,
}

/// What hears.
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
    /// What is in it.
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

    /// The next thing; none if nothing will ever come from here again. Where there is no way it waits
    /// for ever. May be dropped at any time without losing anything.
    pub async fn next(&mut self) -> Option<Incoming> {
        let Some(open) = &mut self.0 else {
            return std::future::pending().await;
        };
        loop {
            let heard = tokio::select! {
                message = open.events.next() => parcel(message?),
                message = open.live.next() => live(&message?, &open.own),
            };
            if let Some(heard) = heard {
                return Some(heard);
            }
        }
    }
}

fn parcel(message: Message) -> Option<Incoming> {
    let account = account_of(&message.subject, EVENTS)?;
    let topic = header(&message, TOPIC_HEADER).map(str::to_owned);
    Some(Incoming::Event(RawEvent {
        account,
        topic,
        bytes: message.payload,
    }))
}

/// News of others; one's own was told at home already.
fn live(message: &Message, own: &str) -> Option<Incoming> {
    if header(message, FROM_HEADER) == Some(own) {
        return None;
    }
    let account = account_of(&message.subject, LIVE)?;
    let news: LiveNotification = serde_json::from_slice(&message.payload).ok()?;
    (news.account() == account).then_some(Incoming::Live(news))
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    let value = message.headers.as_ref()?.get(name)?;
    Some(value.as_str())
}

//! Event bus between nodes: copies of events, and live notifications. `app.event` in PostgreSQL is
//! authoritative; a lost copy is read from the table.
//!
//! - [`Bus::publish`] publishes copies of written events to JetStream, each once, and returns which were acknowledged.
//! - [`Bus::notify`] publishes live notifications, which are not stored.
//! - [`Bus::subscribe`] receives both, of all accounts, with one subscription each.
//!
//! Without NATS nothing is received and every copy counts as published: nodes read the table. While
//! NATS is down subscribers see the same, and copies wait in the outbox.
mod error;
mod message;
mod nats;
mod servers;
mod subscriber;

use std::sync::Arc;

pub use error::BusError;
pub use message::{EventCopy, LiveNotification};
pub use nats::{NatsSettings, STREAM};
pub use servers::{AddressError, Servers};
pub use subscriber::{Incoming, RawEvent, Subscriber};

use nats::Nats;

/// The event bus. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Bus(Transport);

#[derive(Debug, Clone, Default)]
enum Transport {
    #[default]
    Local,
    Nats(Arc<Nats>),
}

/// Connection state of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// No NATS is configured: nodes read the table.
    Local,
    Up,
    Down,
}

impl Bus {
    /// Without NATS: this process reads the table.
    #[must_use]
    pub fn local() -> Self {
        Self::default()
    }

    /// Through NATS, which need not be reachable yet.
    pub async fn nats(settings: NatsSettings) -> Result<Self, BusError> {
        // A large future that runs once; boxed, it does not grow its callers.
        let nats = Box::pin(Nats::open(settings)).await?;
        Ok(Self(Transport::Nats(Arc::new(nats))))
    }

    #[must_use]
    pub fn health(&self) -> Health {
        match &self.0 {
            Transport::Local => Health::Local,
            Transport::Nats(nats) if nats.is_up() => Health::Up,
            Transport::Nats(_) => Health::Down,
        }
    }

    /// Publishes copies. Returns for each, in order, whether it was acknowledged. A copy that was
    /// published before is not duplicated.
    pub async fn publish(&self, copies: &[EventCopy]) -> Result<Vec<bool>, BusError> {
        match &self.0 {
            Transport::Local => Ok(vec![true; copies.len()]),
            Transport::Nats(nats) => nats.publish(copies).await,
        }
    }

    /// Publishes a live notification to the other nodes, if connected. It is not stored.
    pub async fn notify(&self, news: &LiveNotification) {
        match &self.0 {
            Transport::Local => {}
            Transport::Nats(nats) => nats.notify(news).await,
        }
    }

    /// How many copies the stream holds; none without NATS.
    pub async fn stored(&self) -> Result<Option<u64>, BusError> {
        match &self.0 {
            Transport::Local => Ok(None),
            Transport::Nats(nats) => nats.stored().await.map(Some),
        }
    }

    /// Subscribes to every copy, and to live notifications of other nodes.
    pub async fn subscribe(&self) -> Result<Subscriber, BusError> {
        match &self.0 {
            Transport::Local => Ok(Subscriber::disconnected()),
            Transport::Nats(nats) => nats.subscribe().await,
        }
    }
}

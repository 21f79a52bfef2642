//! Copies of events on their way between nodes. The table in PostgreSQL is the truth; what is lost here
//! is read there.
//!
//! - [`Bus::carry`] brings copies of written events to JetStream, each once, and says which are there.
//! - [`Bus::tell`] says live news that nobody keeps.
//! - [`Bus::listen`] hears both, of all accounts, with one subscription each.
//!
//! Without NATS nothing is heard and every copy counts as carried: nodes look at the table. A way that is
//! away behaves the same for whoever listens, and keeps its copies waiting.
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

/// The way between nodes. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Bus(Transport);

#[derive(Debug, Clone, Default)]
enum Transport {
    #[default]
    Local,
    Nats(Arc<Nats>),
}

/// How the way is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// There is none: nodes look at the table.
    Local,
    /// It is there.
    Up,
    /// It should be there and is not.
    Down,
}

impl Bus {
    /// No way: this process reads the table.
    #[must_use]
    pub fn local() -> Self {
        Self::default()
    }

    /// By NATS. It need not be there yet: the way opens when it comes.
    pub async fn nats(settings: NatsSettings) -> Result<Self, BusError> {
        // Large and done once; in a box it costs its callers nothing.
        let nats = Box::pin(Nats::open(settings)).await?;
        Ok(Self(Transport::Nats(Arc::new(nats))))
    }

    /// How the way is now.
    #[must_use]
    pub fn health(&self) -> Health {
        match &self.0 {
            Transport::Local => Health::Local,
            Transport::Nats(nats) if nats.is_up() => Health::Up,
            Transport::Nats(_) => Health::Down,
        }
    }

    /// Brings copies to where everybody hears them. Tells of each, in their order, whether it has
    /// arrived. One that was carried before is there already and is not doubled.
    pub async fn publish(&self, copies: &[EventCopy]) -> Result<Vec<bool>, BusError> {
        match &self.0 {
            Transport::Local => Ok(vec![true; copies.len()]),
            Transport::Nats(nats) => nats.publish(copies).await,
        }
    }

    /// Says news to the other nodes, if they can be reached now. Nobody keeps it.
    pub async fn notify(&self, news: &LiveNotification) {
        match &self.0 {
            Transport::Local => {}
            Transport::Nats(nats) => nats.notify(news).await,
        }
    }

    /// How many copies are stored; none where nobody stores any.
    pub async fn stored(&self) -> Result<Option<u64>, BusError> {
        match &self.0 {
            Transport::Local => Ok(None),
            Transport::Nats(nats) => nats.stored().await.map(Some),
        }
    }

    /// Hears every copy, and the live news of other nodes, from now on.
    pub async fn subscribe(&self) -> Result<Subscriber, BusError> {
        match &self.0 {
            Transport::Local => Ok(Subscriber::disconnected()),
            Transport::Nats(nats) => nats.subscribe().await,
        }
    }
}

//! Copies of events on their way between nodes. The table in PostgreSQL is the truth; what is lost here
//! is read there.
//!
//! - [`Bus::carry`] brings copies of written events to JetStream, each once, and says which are there.
//! - [`Bus::tell`] says live news that nobody keeps.
//! - [`Bus::listen`] hears both, of all accounts, with one subscription each.
//!
//! Without NATS nothing is heard and every copy counts as carried: nodes look at the table. A way that is
//! away behaves the same for whoever listens, and keeps its copies waiting.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod address;
mod copy;
mod ears;
mod nats;

use std::sync::Arc;

pub use address::{AddressError, Servers};
pub use copy::{EventCopy, LiveNews};
pub use ears::{Ears, Heard, Parcel};
pub use nats::{NatsSettings, STREAM};

use nats::Nats;

/// The way between nodes. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Bus(Way);

#[derive(Debug, Clone, Default)]
enum Way {
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
    Away,
}

/// Why something did not go.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// NATS is not there, or did not answer in time.
    #[error("NATS cannot be reached: {0}")]
    Away(String),
    /// The stream cannot be made or used.
    #[error("the stream of events cannot be used: {0}")]
    Stream(String),
    /// Something came that is no event.
    #[error("a copy cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
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
        Ok(Self(Way::Nats(Arc::new(nats))))
    }

    /// How the way is now.
    #[must_use]
    pub fn health(&self) -> Health {
        match &self.0 {
            Way::Local => Health::Local,
            Way::Nats(nats) if nats.is_up() => Health::Up,
            Way::Nats(_) => Health::Away,
        }
    }

    /// Brings copies to where everybody hears them. Tells of each, in their order, whether it has
    /// arrived. One that was carried before is there already and is not doubled.
    pub async fn carry(&self, copies: &[EventCopy]) -> Result<Vec<bool>, BusError> {
        match &self.0 {
            Way::Local => Ok(vec![true; copies.len()]),
            Way::Nats(nats) => nats.carry(copies).await,
        }
    }

    /// Says news to the other nodes, if they can be reached now. Nobody keeps it.
    pub async fn tell(&self, news: &LiveNews) {
        match &self.0 {
            Way::Local => {}
            Way::Nats(nats) => nats.tell(news).await,
        }
    }

    /// How many copies are stored; none where nobody stores any.
    pub async fn stored(&self) -> Result<Option<u64>, BusError> {
        match &self.0 {
            Way::Local => Ok(None),
            Way::Nats(nats) => nats.stored().await.map(Some),
        }
    }

    /// Hears every copy, and the live news of other nodes, from now on.
    pub async fn listen(&self) -> Result<Ears, BusError> {
        match &self.0 {
            Way::Local => Ok(Ears::deaf()),
            Way::Nats(nats) => nats.listen().await,
        }
    }
}

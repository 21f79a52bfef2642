//! Whether this node has the keys that are in use. Nodes raise the topic `keyring` to the generation that they
//! seal with, so a node that was forgotten at a rotation finds out.

use trunkline_db::{DbError, Session, revision};
use trunkline_edge::obstacles::Obstacle;

use crate::services::Services;

/// The topic whose number is the newest generation that a node seals with.
const TOPIC: &str = "keyring";

/// A node without the keys that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its keyring has generation {own}, and generation {newest} is in use: give it the rotated keyring"
)]
pub struct KeyringLags {
    pub own: i64,
    pub newest: i64,
}

impl Services {
    /// Says which generation this node seals with. An error of the inner kind if another one is newer.
    pub async fn register_keyring(&self) -> Result<Result<(), KeyringLags>, DbError> {
        let own = self.own_generation();
        let mut tx = self.data.begin().await?;
        let raised = revision::raise(&mut tx, TOPIC, own).await;
        let newest = tx.finish(raised).await?;
        self.compare_generations(newest);
        Ok(match newest > own {
            true => Err(KeyringLags { own, newest }),
            false => Ok(()),
        })
    }

    /// The keyring was replaced: says so, and opens the channels anew.
    pub async fn keyring_replaced(&self) -> Result<Result<(), KeyringLags>, DbError> {
        let registered = self.register_keyring().await?;
        self.refresh().await?;
        Ok(registered)
    }

    /// Compares the generation of this node with the newest one.
    pub(crate) async fn follow_keyring(&self, session: &mut Session) -> Result<(), DbError> {
        let newest = revision::current(session, TOPIC).await?;
        self.compare_generations(newest);
        Ok(())
    }

    fn compare_generations(&self, newest: i64) {
        let own = self.own_generation();
        let lags = newest > own;
        if !self.edge.obstacles.set(Obstacle::KeyringLags, lags) {
            return;
        }
        if lags {
            tracing::error!(
                keyring.generation = own,
                keyring.newest = newest,
                "keyring lags: another node seals with a newer generation; this node is not ready until it has the rotated keyring"
            );
        } else {
            tracing::info!(keyring.generation = own, "keyring is the newest again");
        }
    }

    fn own_generation(&self) -> i64 {
        i64::from(self.keyring.generations().current.id.number())
    }
}

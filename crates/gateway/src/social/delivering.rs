//! Handing over what was charged. A charge whose first byte nobody could take goes back.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use trunkline_ledger::{Refund, RefundKind};
use trunkline_terms::{AccountId, RequestId};

use crate::edge::Watch;
use crate::gateway::Gateway;
use crate::reply::Handed;

/// Between two tries to give a charge back.
const REFUND_PAUSE: Duration = Duration::from_millis(500);
/// How long that is tried.
const REFUND_FOR: Duration = Duration::from_secs(600);

/// The way to a body, and a look at the connection it goes to.
pub(super) struct Out {
    pub(super) pieces: mpsc::Sender<Handed>,
    pub(super) watch: Watch,
    /// A reader who takes nothing for so long has gone.
    pub(super) patience: Duration,
}

impl Out {
    /// Hands over one piece. False if nobody took its first byte.
    pub(super) async fn hand(&self, bytes: Bytes) -> bool {
        if self.watch.has_left().await {
            return false;
        }
        let (taken, receipt) = oneshot::channel();
        let handed = Handed { bytes, taken };
        let given = async {
            self.pieces.send(handed).await.ok()?;
            receipt.await.ok()
        };
        matches!(
            tokio::time::timeout(self.patience, given).await,
            Ok(Some(()))
        )
    }
}

impl Gateway {
    /// Gives a charge back that nobody got anything for. Keeps trying while the books are away.
    pub(super) async fn undelivered(&self, request: RequestId, account: AccountId) {
        let refund = Refund {
            request,
            account,
            kind: RefundKind::Undelivered,
            amount: None,
        };
        let tried = async {
            while let Err(error) = self.inner.ledger.refund(refund.clone()).await {
                tracing::warn!(%error, request.id = %request, "a charge is given back later");
                tokio::time::sleep(REFUND_PAUSE).await;
            }
        };
        if tokio::time::timeout(REFUND_FOR, tried).await.is_err() {
            tracing::error!(request.id = %request, "a charge for nothing could not be given back");
        }
    }
}

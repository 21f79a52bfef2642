//! Expiry of trial credit: takes back what is left. Every node runs it; each grant is one transaction, so a
//! node that fails in the middle has changed nothing and a second node finds it done.

use std::time::Duration;

use tokio::sync::watch;
use trunkline_db::{Database, Tx, database_now};
use trunkline_ledger::accounts::{self, ExpiredTrial};
use trunkline_store::trial_grants;

use crate::random;

/// Between two looks at an empty list.
const LOOK: Duration = Duration::from_secs(10);
/// After something went wrong.
const AWAY: Duration = Duration::from_secs(5);

/// Takes back until it is told to stop.
pub(super) async fn run(data: Database, mut stop: watch::Receiver<bool>) {
    loop {
        let pause = match take_next(&data).await {
            Ok(false) => LOOK,
            Ok(true) => Duration::ZERO,
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "trial expiry failed; retrying");
                AWAY
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => return,
        }
    }
}

/// False if no expired grant is unclaimed.
async fn take_next(data: &Database) -> anyhow::Result<bool> {
    let mut tx = data.begin().await?;
    let done = take_in(&mut tx).await;
    tx.finish(done).await
}

async fn take_in(tx: &mut Tx) -> anyhow::Result<bool> {
    let Some(grant) = trial_grants::next_expired(tx).await? else {
        return Ok(false);
    };
    let over = ExpiredTrial {
        request: random::request(database_now(tx).await?)?,
        account: grant.account,
        granted: grant.amount,
    };
    let taken = accounts::expire_trial(tx, &over).await?;
    trial_grants::end(tx, &grant, taken).await?;
    tracing::info!(account = %grant.account, taken_usd = %taken, "trial credit expired");
    Ok(true)
}

//! Expiry of trial credit: takes back what is left. Each grant is one transaction, so a node that fails in
//! the middle has changed nothing and a second node finds it done.

use trunkline_db::{Tx, database_now};
use trunkline_keyring::{RandomSource as _, SystemRandom};
use trunkline_ledger::accounts::{self, ExpiredTrial};
use trunkline_store::trial_grants;
use trunkline_types::{RANDOM_BYTES, RequestId};

use crate::job::{JobContext, JobError, JobResult, Progress};

pub(super) async fn run(context: &JobContext) -> JobResult {
    let mut tx = context.data.begin().await?;
    let done = expire_next(&mut tx).await;
    tx.finish(done).await
}

async fn expire_next(tx: &mut Tx) -> Result<Progress, JobError> {
    let Some(grant) = trial_grants::next_expired(tx).await? else {
        return Ok(Progress::Idle(None));
    };
    let mut random = [0; RANDOM_BYTES];
    SystemRandom.fill(&mut random)?;
    let expired = ExpiredTrial {
        request: RequestId::new(database_now(tx).await?, random),
        account: grant.account,
        granted: grant.amount,
    };
    let taken = accounts::expire_trial(tx, &expired).await?;
    trial_grants::end(tx, &grant, taken).await?;
    tracing::info!(account = %grant.account, taken_usd = %taken, "trial credit expired");
    Ok(Progress::More)
}

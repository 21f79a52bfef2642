//! Trial credit, granted once per verified address, and the ids of such transactions.

use trunkline_db::{Tx, database_now};
use trunkline_ledger::accounts::{self, TopUp, TopUpAnswer, Wallet};
use trunkline_store::trial_grants::{self, Granted, NewGrant, Recipient};
use trunkline_types::{AccountId, RANDOM_BYTES, RequestId};

use crate::error::ApiError;
use crate::shared::Shared;

/// Who says that credit was given, in the ledger.
const TRIAL_PROVIDER: &str = "trial";

/// Grants trial credit if it is configured and the address has not received it before.
pub(crate) async fn grant_trial(
    shared: &Shared,
    tx: &mut Tx,
    account: AccountId,
    email: &str,
) -> Result<(), ApiError> {
    let Some(trial) = shared.settings.trial else {
        return Ok(());
    };
    let recipient = Recipient::of_address(email);
    let grant = NewGrant {
        recipient,
        account,
        amount: trial.amount,
        days: i64::from(trial.days),
        per_day: i64::from(trial.per_day),
    };
    match trial_grants::grant(tx, &grant).await? {
        Granted::Now => {}
        Granted::Before => {
            tracing::info!(%account, "trial credit not granted: the address already received it");
            return Ok(());
        }
        Granted::NoneLeftToday => {
            tracing::warn!(%account, "trial credit not granted: daily limit reached");
            return Ok(());
        }
    }
    let top_up = TopUp {
        request: request(shared, tx).await?,
        account,
        wallet: Wallet::Trial,
        amount: trial.amount,
        provider: TRIAL_PROVIDER.to_owned(),
        event: recipient.event(),
    };
    match accounts::top_up(tx, &top_up).await? {
        TopUpAnswer::Done => Ok(()),
        TopUpAnswer::Before | TopUpAnswer::Different | TopUpAnswer::Refused => {
            tracing::error!(%account, "trial credit not granted: duplicate grant in the ledger");
            Err(ApiError::unavailable())
        }
    }
}

/// A fresh id for a movement of money, of the database's day.
pub(crate) async fn request(shared: &Shared, tx: &mut Tx) -> Result<RequestId, ApiError> {
    let mut random = [0; RANDOM_BYTES];
    shared.random.fill(&mut random)?;
    Ok(RequestId::new(database_now(tx).await?, random))
}

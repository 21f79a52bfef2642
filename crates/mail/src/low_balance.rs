//! Queues emails about a low balance, each in the transaction that takes its notice away.

use trunkline_db::{DbError, Tx, database_now};
use trunkline_keyring::{Binding, Purpose, SealError};
use trunkline_store::emails::{self, Content, Kind, LowBalanceContent, NewEmail};
use trunkline_store::low_balance::{self, LowBalanceNotice};

use crate::delivery::MailWorker;

/// Where the wallet is in the console.
const WALLET: &str = "/wallet";
/// After that it is old news.
const LIFE_SECONDS: i64 = 2 * 86_400;

/// Why nothing was queued.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl MailWorker {
    /// Queues one email for the oldest notice; without a mail server the notice is dropped. False if there was none.
    pub async fn queue_low_balance(&self) -> Result<bool, QueueError> {
        let mut tx = self.data.begin().await?;
        let queued = self.queue_next(&mut tx).await;
        tx.finish(queued).await
    }

    async fn queue_next(&self, tx: &mut Tx) -> Result<bool, QueueError> {
        let Some(notice) = low_balance::take(tx).await? else {
            return Ok(false);
        };
        if !self.has_server() {
            return Ok(true);
        }
        let context = emails::context(notice.id);
        let content = self.content(&notice).bytes();
        let binding = Binding::of_operator(&context);
        let sealed = self.keyring.seal(Purpose::Emails, &binding, &content)?;
        let email = NewEmail {
            id: notice.id,
            kind: Kind::LowBalance,
            to: &notice.to,
            sealed: &sealed,
            expires_at: database_now(tx).await?.plus_seconds(LIFE_SECONDS),
            is_mailed: true,
        };
        emails::write(tx, &email).await?;
        Ok(true)
    }

    fn content(&self, notice: &LowBalanceNotice) -> Content {
        Content {
            link: format!("{}{WALLET}", self.instance.console_url),
            name: notice.name.clone(),
            organisation: Some(notice.organisation.clone()),
            by: None,
            low_balance: Some(LowBalanceContent {
                balance_usd: notice.balance.to_string(),
                threshold_usd: notice.threshold.to_string(),
                language: notice.language.as_str().to_owned(),
            }),
        }
    }
}

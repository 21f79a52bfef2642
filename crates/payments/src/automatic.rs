//! Automatic top-up: the saved method is charged when the balance is low. First the payment is written, then the
//! provider is asked with the payment's id as the idempotency key; one whose outcome is unknown is asked for again.

use trunkline_db::{Database, Tx};
use trunkline_ledger::accounts as ledger;
use trunkline_store::payments::profiles::{self, Profile};
use trunkline_store::payments::{self, NewPayment, Payment, PaymentKind};
use trunkline_types::{AccountId, Money};

use crate::cents::Cents;
use crate::error::{PaymentError, ProviderError};
use crate::fact::Fact;
use crate::payments::Payments;
use crate::provider::ChargeSaved;

const DESCRIPTION: &str = "Automatic top-up";

impl Payments {
    /// Looks at one account whose turn it is and charges one payment that is due. False if there was neither.
    pub async fn run_automatic(&self, database: &Database) -> Result<bool, PaymentError> {
        let decided = self.decide(database).await?;
        let charged = self.charge_next(database).await?;
        Ok(decided || charged)
    }

    async fn decide(&self, database: &Database) -> Result<bool, PaymentError> {
        let mut tx = database.begin().await?;
        let claimed = profiles::claim_due(&mut tx, self.provider.name()).await;
        let Some(profile) = tx.finish(claimed).await? else {
            return Ok(false);
        };
        let Some(amount) = self.amount_due(database, &profile).await? else {
            return Ok(true);
        };
        let mut tx = database.begin().await?;
        let written = self.write_automatic(&mut tx, profile.account, amount).await;
        tx.finish(written).await?;
        Ok(true)
    }

    /// How much to charge; none if the balance is high enough or the month's ceiling is reached.
    async fn amount_due(
        &self,
        database: &Database,
        profile: &Profile,
    ) -> Result<Option<Money>, PaymentError> {
        let Some(rule) = profile.rule else {
            return Ok(None);
        };
        let Some(balance) = ledger::balance(database, profile.account).await? else {
            return Ok(None);
        };
        let free = |posted: Money, held: Money| posted.nanos().saturating_sub(held.nanos());
        let paid = free(balance.paid, balance.paid_held);
        let all = paid.saturating_add(free(balance.trial, balance.trial_held));
        if all >= rule.below.nanos() {
            return Ok(None);
        }
        let mut session = database.session().await?;
        let spent = payments::automatic_this_month(&mut session, profile.account).await?;
        if spent.nanos().saturating_add(rule.amount.nanos()) > rule.month_max.nanos() {
            tracing::info!(account = %profile.account, "automatic top-up: monthly ceiling reached");
            return Ok(None);
        }
        Ok(Some(rule.amount))
    }

    async fn write_automatic(
        &self,
        tx: &mut Tx,
        account: AccountId,
        amount: Money,
    ) -> Result<(), PaymentError> {
        let new = NewPayment {
            id: self.fresh_id(tx).await?,
            account,
            provider: self.provider.name(),
            kind: PaymentKind::Automatic,
            amount,
        };
        // False if one is open already, which is enough.
        payments::create(tx, &new).await?;
        Ok(())
    }

    async fn charge_next(&self, database: &Database) -> Result<bool, PaymentError> {
        let mut tx = database.begin().await?;
        let claimed = payments::claim_automatic(&mut tx, self.provider.name()).await;
        let Some(payment) = tx.finish(claimed).await? else {
            return Ok(false);
        };
        let fact = match self.charge(database, &payment).await {
            Ok(fact) => fact,
            Err(PaymentError::Provider(ProviderError::Unavailable(reason))) => {
                tracing::warn!(payment = %payment.id, reason, "automatic top-up: outcome unknown, will be repeated");
                return Ok(true);
            }
            Err(PaymentError::Provider(
                error @ (ProviderError::Declined(_) | ProviderError::Rejected(_)),
            )) => {
                tracing::warn!(payment = %payment.id, account = %payment.account, %error, "automatic top-up failed");
                Fact::Failed {
                    payment: payment.id,
                    reason: error.for_customer(),
                }
            }
            Err(error) => return Err(error),
        };
        self.book_fact(database, &fact).await?;
        Ok(true)
    }

    async fn charge(&self, database: &Database, payment: &Payment) -> Result<Fact, PaymentError> {
        let mut session = database.session().await?;
        let profile = profiles::find(&mut session, payment.account).await?;
        drop(session);
        let (Some(profile), Some(amount)) = (profile, Cents::of(payment.amount)) else {
            let reason = "there is no saved method".to_owned();
            return Err(ProviderError::Rejected(reason).into());
        };
        let charge = ChargeSaved {
            payment: payment.id,
            amount,
            customer: &profile.customer,
            method: &profile.method,
            description: DESCRIPTION,
        };
        Ok(self.provider.charge_saved(&charge).await?)
    }
}

//! A person pays on the provider's page.

use trunkline_db::{Database, Tx};
use trunkline_store::payments::{self, NewPayment, PaymentKind, profiles};
use trunkline_types::{AccountId, Money};
use uuid::Uuid;

use crate::cents::Cents;
use crate::error::PaymentError;
use crate::payments::Payments;
use crate::provider::NewCheckout;

/// The smallest payment, five dollars: below it, fees are a large part.
pub const MIN_AMOUNT: Money = Money::from_nanos(5_000_000_000);
/// The largest one, ten thousand dollars.
pub const MAX_AMOUNT: Money = Money::from_nanos(10_000_000_000_000);

/// A payment to start.
#[derive(Debug, Clone, Copy)]
pub struct StartCheckout<'a> {
    pub account: AccountId,
    pub amount: Cents,
    pub description: &'a str,
    /// Where the person returns after paying.
    pub success_url: &'a str,
    /// Where the person returns without.
    pub cancel_url: &'a str,
    pub saves_method: bool,
}

/// A payment that was started.
#[derive(Debug, Clone)]
pub struct StartedCheckout {
    pub id: Uuid,
    /// The provider's page.
    pub url: String,
}

impl Payments {
    /// Writes the payment first and then opens the page: whatever the page leads to finds its row.
    pub async fn start_checkout(
        &self,
        database: &Database,
        start: &StartCheckout<'_>,
    ) -> Result<StartedCheckout, PaymentError> {
        let mut tx = database.begin().await?;
        let written = self.write_checkout(&mut tx, start).await;
        let (id, customer) = tx.finish(written).await?;
        let new = NewCheckout {
            payment: id,
            amount: start.amount,
            description: start.description,
            success_url: start.success_url,
            cancel_url: start.cancel_url,
            customer: customer.as_deref(),
            saves_method: start.saves_method,
        };
        let opened = self.provider.create_checkout(&new).await;
        let mut tx = database.begin().await?;
        let noted = match &opened {
            Ok(page) => payments::set_checkout(&mut tx, id, &page.id).await,
            Err(error) => {
                let failed = payments::set_failed(&mut tx, id, &error.for_customer()).await;
                failed.map(|_| ())
            }
        };
        tx.finish(noted).await?;
        let url = opened?.url;
        Ok(StartedCheckout { id, url })
    }

    async fn write_checkout(
        &self,
        tx: &mut Tx,
        start: &StartCheckout<'_>,
    ) -> Result<(Uuid, Option<String>), PaymentError> {
        let id = self.fresh_id(tx).await?;
        let new = NewPayment {
            id,
            account: start.account,
            provider: self.provider.name(),
            kind: PaymentKind::Checkout,
            amount: start.amount.money(),
        };
        payments::create(tx, &new).await?;
        let profile = profiles::find(tx, start.account).await?;
        Ok((id, profile.map(|profile| profile.customer)))
    }
}

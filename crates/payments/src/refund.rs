//! A refund by the operator. The provider is asked first, and what it answers is booked as its event would be: if
//! this process dies in between, the event or the reconciliation books it.

use trunkline_db::Database;
use trunkline_ledger::accounts as ledger;
use trunkline_store::payments::{self, PaymentState};
use trunkline_types::Money;
use uuid::Uuid;

use crate::cents::Cents;
use crate::error::PaymentError;
use crate::payments::Payments;
use crate::provider::NewRefund;

#[derive(Debug, Clone, Copy)]
pub struct RefundRequest {
    pub payment: Uuid,
    /// How much; none for all that is left.
    pub amount: Option<Cents>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundAnswer {
    /// Given back, and taken out of the wallet.
    Done(Money),
    /// There is no such payment, or it was not paid.
    NotPaid,
    /// So much of the payment is left to refund.
    TooMuch(Money),
    /// The account has spent it: so much is free.
    Spent(Money),
}

impl Payments {
    /// Refunds a payment, whole or in part, as far as its account has not spent it.
    pub async fn refund(
        &self,
        database: &Database,
        request: &RefundRequest,
    ) -> Result<RefundAnswer, PaymentError> {
        let mut session = database.session().await?;
        let payment = payments::find(&mut session, request.payment).await?;
        let paid = payment.filter(|payment| payment.state == PaymentState::Paid);
        let Some((payment, name)) = paid.and_then(|payment| {
            let name = payment.provider_payment.clone()?;
            Some((payment, name))
        }) else {
            return Ok(RefundAnswer::NotPaid);
        };
        let reversed = payments::reversed(&mut session, &payment.provider, &name).await?;
        drop(session);
        let left = payment.amount.nanos().saturating_sub(reversed.nanos());
        let left = Money::from_nanos(left.max(0));
        let Some(amount) = request.amount.or_else(|| Cents::of(left)) else {
            return Ok(RefundAnswer::TooMuch(left));
        };
        if amount.money() > left || amount.money() == Money::ZERO {
            return Ok(RefundAnswer::TooMuch(left));
        }
        let balance = ledger::balance(database, payment.account).await?;
        let free = balance.map_or(0, |balance| {
            balance
                .paid
                .nanos()
                .saturating_sub(balance.paid_held.nanos())
        });
        if free < amount.money().nanos() {
            return Ok(RefundAnswer::Spent(Money::from_nanos(free)));
        }
        let total = reversed.nanos().saturating_add(amount.money().nanos());
        let refund = NewRefund {
            provider_payment: &name,
            amount,
            total: Money::from_nanos(total),
        };
        let fact = self.provider.refund(&refund).await?;
        self.book_fact(database, &fact).await?;
        Ok(RefundAnswer::Done(amount.money()))
    }
}

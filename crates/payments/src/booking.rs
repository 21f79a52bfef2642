//! Books facts. Each is one transaction with the event that told it; all of them lead to the same books in
//! whatever order they come: a payment is booked by the provider's id of it, and what is taken back of it is
//! compared with what was taken.

use trunkline_db::{Database, Tx};
use trunkline_ledger::accounts::{
    self as ledger, Adjust, AdjustAnswer, TopUp, TopUpAnswer, Wallet,
};
use trunkline_store::accounts;
use trunkline_store::action_log::{self, Actor, NewAction};
use trunkline_store::payments::{
    self, NewEvent, NewReversal, Payment, PaymentKind, PaymentState, ReversalKind, ReversalState,
    profiles,
};
use trunkline_types::{AccountId, Money};

use crate::error::PaymentError;
use crate::fact::{DisputeState, Event, Fact, PaidFact};
use crate::payments::Payments;

/// Who moves money back, in the ledger. The audit looks for it.
const ACTOR: &str = "payments";

/// What became of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booking {
    /// Its event was booked before.
    Before,
    /// Something changed, or is kept until the payment is known.
    Done,
    /// It is not about one of our payments.
    Ignored,
}

impl Payments {
    /// Books an event, once.
    pub async fn book(&self, database: &Database, event: &Event) -> Result<Booking, PaymentError> {
        self.book_event(database, event, false).await
    }

    pub(crate) async fn book_event(
        &self,
        database: &Database,
        event: &Event,
        is_found: bool,
    ) -> Result<Booking, PaymentError> {
        let mut tx = database.begin().await?;
        let done = self.book_event_in(&mut tx, event, is_found).await;
        tx.finish(done).await
    }

    async fn book_event_in(
        &self,
        tx: &mut Tx,
        event: &Event,
        is_found: bool,
    ) -> Result<Booking, PaymentError> {
        let row = NewEvent {
            provider: self.provider.name(),
            id: &event.id,
            kind: &event.kind,
            object: &event.object,
            created_at: event.created,
            is_found,
        };
        if !payments::note_event(tx, &row).await? {
            return Ok(Booking::Before);
        }
        self.apply(tx, &event.fact).await
    }

    /// Books what the provider answered, which no event has told yet.
    pub(crate) async fn book_fact(
        &self,
        database: &Database,
        fact: &Fact,
    ) -> Result<Booking, PaymentError> {
        let mut tx = database.begin().await?;
        let done = self.apply(&mut tx, fact).await;
        tx.finish(done).await
    }

    async fn apply(&self, tx: &mut Tx, fact: &Fact) -> Result<Booking, PaymentError> {
        match fact {
            Fact::Paid(paid) => self.pay(tx, paid).await,
            Fact::Failed { payment, reason } => {
                let Some(known) = payments::find(tx, *payment).await? else {
                    return Ok(Booking::Ignored);
                };
                if payments::set_failed(tx, known.id, reason).await?
                    && known.kind == PaymentKind::Automatic
                {
                    profiles::note_failure(tx, known.account).await?;
                }
                Ok(Booking::Done)
            }
            Fact::Refunded {
                provider_payment,
                charge,
                total,
            } => {
                let reversal = NewReversal {
                    provider: self.provider.name(),
                    id: charge,
                    provider_payment,
                    kind: ReversalKind::Refund,
                    state: ReversalState::Lost,
                    amount: *total,
                };
                self.reverse(tx, &reversal).await
            }
            Fact::Disputed {
                provider_payment,
                dispute,
                amount,
                state,
            } => {
                let reversal = NewReversal {
                    provider: self.provider.name(),
                    id: dispute,
                    provider_payment,
                    kind: ReversalKind::Dispute,
                    state: match state {
                        DisputeState::Inquiry => ReversalState::Inquiry,
                        DisputeState::Open => ReversalState::Open,
                        DisputeState::Won => ReversalState::Won,
                        DisputeState::Lost => ReversalState::Lost,
                    },
                    amount: *amount,
                };
                self.reverse(tx, &reversal).await
            }
            Fact::Other => Ok(Booking::Ignored),
        }
    }

    /// Books a payment, once for the provider's id of it. Whatever was taken back before it was told is taken then.
    async fn pay(&self, tx: &mut Tx, paid: &PaidFact) -> Result<Booking, PaymentError> {
        let provider = self.provider.name();
        payments::lock_provider_payment(tx, provider, &paid.provider_payment).await?;
        let Some(known) = payments::find(tx, paid.payment).await? else {
            // Another instance may use the same account of the provider.
            tracing::warn!(payment = %paid.payment, provider_payment = paid.provider_payment,
                "payment not booked: it is not one of this instance's");
            return Ok(Booking::Ignored);
        };
        ledger::lock(tx, known.account).await?;
        // Read again: only now no other transaction changes it.
        let known = payments::find(tx, paid.payment).await?.unwrap_or(known);
        if known.state != PaymentState::Paid {
            self.top_up(tx, &known, paid).await?;
        } else if known.provider_payment.as_deref() != Some(&paid.provider_payment) {
            return Err(PaymentError::Different(paid.provider_payment.clone()));
        }
        if let Some(url) = paid.receipt_url.as_deref()
            && known.receipt_url.is_none()
        {
            payments::set_receipt(tx, known.id, url).await?;
        }
        if let Some(saved) = &paid.saved {
            let (customer, method) = (&saved.customer, &saved.method);
            profiles::save_method(tx, provider, known.account, customer, method).await?;
        }
        self.collect(tx, known.account).await?;
        Ok(Booking::Done)
    }

    async fn top_up(
        &self,
        tx: &mut Tx,
        known: &Payment,
        paid: &PaidFact,
    ) -> Result<(), PaymentError> {
        let top_up = TopUp {
            request: self.fresh_request(tx).await?,
            account: known.account,
            wallet: Wallet::Paid,
            amount: paid.amount,
            provider: self.provider.name().to_owned(),
            event: paid.provider_payment.clone(),
        };
        match ledger::top_up(tx, &top_up).await? {
            TopUpAnswer::Done => {}
            TopUpAnswer::Before | TopUpAnswer::Different | TopUpAnswer::Refused => {
                return Err(PaymentError::Different(paid.provider_payment.clone()));
            }
        }
        payments::set_paid(tx, known.id, &paid.provider_payment, paid.amount).await?;
        match known.kind {
            PaymentKind::Checkout => {}
            PaymentKind::Automatic => profiles::note_success(tx, known.account).await?,
        }
        tracing::info!(payment = %known.id, account = %known.account, amount_usd = %paid.amount,
            provider_payment = paid.provider_payment, "payment booked");
        Ok(())
    }

    async fn reverse(
        &self,
        tx: &mut Tx,
        reversal: &NewReversal<'_>,
    ) -> Result<Booking, PaymentError> {
        let (provider, id) = (reversal.provider, reversal.provider_payment);
        payments::lock_provider_payment(tx, provider, id).await?;
        payments::put_reversal(tx, reversal).await?;
        // One that is not known yet takes it when it is booked; one that is not ours never does.
        let Some(known) = payments::find_by_provider(tx, provider, id).await? else {
            return Ok(Booking::Done);
        };
        ledger::lock(tx, known.account).await?;
        self.give_back(tx, known.id).await?;
        self.collect(tx, known.account).await?;
        Ok(Booking::Done)
    }

    /// Returns to the wallet what was taken for a dispute that was won.
    async fn give_back(&self, tx: &mut Tx, payment: uuid::Uuid) -> Result<(), PaymentError> {
        let Some(known) = payments::find(tx, payment).await? else {
            return Ok(());
        };
        let due = due(tx, &known).await?;
        if known.taken <= due {
            return Ok(());
        }
        let more = known.taken.nanos().saturating_sub(due.nanos());
        let adjust = self.adjust(tx, &known, Money::from_nanos(more)).await?;
        match ledger::adjust(tx, &adjust).await? {
            AdjustAnswer::Done => payments::set_taken(tx, known.id, due).await?,
            // The event is not booked, so that the provider sends it again and the log names it.
            AdjustAnswer::Before | AdjustAnswer::TooLittle(_) | AdjustAnswer::Refused => {
                return Err(PaymentError::NotMoved(adjust.reason));
            }
        }
        tracing::info!(payment = %known.id, account = %known.account, amount_usd = %adjust.amount,
            "dispute won: amount returned to the wallet");
        Ok(())
    }

    /// Takes what the account owes as far as it is free. What is left is a receivable: the account is suspended
    /// until a person resumes it, and later payments are taken first.
    async fn collect(&self, tx: &mut Tx, account: AccountId) -> Result<(), PaymentError> {
        let mut owes = false;
        for owing in payments::owing(tx, account).await? {
            let due = due(tx, &owing).await?;
            let missing = Money::from_nanos(due.nanos().saturating_sub(owing.taken.nanos()));
            let adjust = self.adjust(tx, &owing, missing).await?;
            let taken = ledger::take_free(tx, &adjust).await?;
            if taken > Money::ZERO {
                let all = owing.taken.nanos().saturating_add(taken.nanos());
                payments::set_taken(tx, owing.id, Money::from_nanos(all)).await?;
            }
            tracing::warn!(payment = %owing.id, %account, due_usd = %missing, taken_usd = %taken,
                "payment reversed: amount taken from the wallet");
            owes |= taken < missing;
        }
        if owes && accounts::set_suspended(tx, account, true).await? {
            let action = NewAction {
                action: "suspend_customer",
                account: Some(account),
                subject: &format!("customer {account}"),
                reason: Some("it owes the rest of a payment that was reversed"),
                ..NewAction::default()
            };
            action_log::write(tx, &Actor::system(ACTOR), &action).await?;
            tracing::warn!(%account, "account suspended: it owes the rest of a payment that was reversed");
        }
        Ok(())
    }

    /// A movement between the wallet and the provider; its reason is how the audit finds it.
    async fn adjust(
        &self,
        tx: &mut Tx,
        payment: &Payment,
        amount: Money,
    ) -> Result<Adjust, PaymentError> {
        let name = payment.provider_payment.as_deref().unwrap_or_default();
        Ok(Adjust {
            request: self.fresh_request(tx).await?,
            account: payment.account,
            wallet: Wallet::Paid,
            amount,
            reason: format!("reversal of payment {name}"),
            actor: ACTOR.to_owned(),
        })
    }
}

/// What is to be taken of a payment in all: refunds and disputes, and never more than was paid.
async fn due(tx: &mut Tx, payment: &Payment) -> Result<Money, PaymentError> {
    let name = payment.provider_payment.as_deref().unwrap_or_default();
    let reversed = payments::reversed(tx, &payment.provider, name).await?;
    Ok(reversed.min(payment.amount))
}

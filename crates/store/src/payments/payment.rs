//! A payment as its row says it.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;
use trunkline_db::{DbError, from_sql_time};
use trunkline_types::{AccountId, Money, Timestamp};
use uuid::Uuid;

/// How a payment came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentKind {
    /// A person pays on the provider's page.
    Checkout,
    /// The saved method is charged because the balance is low.
    Automatic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentState {
    Open,
    Paid,
    Failed,
}

#[derive(Debug, Clone, Copy)]
pub struct NewPayment<'a> {
    pub id: Uuid,
    pub account: AccountId,
    pub provider: &'a str,
    pub kind: PaymentKind,
    pub amount: Money,
}

#[derive(Debug, Clone)]
pub struct Payment {
    pub id: Uuid,
    pub account: AccountId,
    pub provider: String,
    pub kind: PaymentKind,
    pub state: PaymentState,
    /// What is asked for; once it is paid, what was received.
    pub amount: Money,
    /// The provider's id of the page on which it is paid.
    pub checkout: Option<String>,
    /// The provider's id of the payment, once there is one.
    pub provider_payment: Option<String>,
    /// The provider's receipt.
    pub receipt_url: Option<String>,
    pub failure: Option<String>,
    /// What was taken out of the wallet again.
    pub taken: Money,
    pub created_at: Timestamp,
    pub paid_at: Option<Timestamp>,
}

pub(super) const COLUMNS: &str = "id, account_id, provider, kind, state, amount_nanos, checkout_id, \
    provider_payment, receipt_url, failure, taken_nanos, created_at, paid_at";

// === impl PaymentKind, PaymentState ===

impl PaymentKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checkout => "checkout",
            Self::Automatic => "automatic",
        }
    }
}

impl PaymentState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paid => "paid",
            Self::Failed => "failed",
        }
    }
}

// === impl Payment ===

impl Payment {
    pub(super) fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let strange = || {
            let text = "a word in app.payment that is not on the list";
            DbError::from(sqlx::Error::Decode(text.into()))
        };
        let kind: &str = row.try_get("kind")?;
        let kind = [PaymentKind::Checkout, PaymentKind::Automatic]
            .into_iter()
            .find(|one| one.as_str() == kind);
        let state: &str = row.try_get("state")?;
        let states = [PaymentState::Open, PaymentState::Paid, PaymentState::Failed];
        let state = states.into_iter().find(|one| one.as_str() == state);
        let paid_at: Option<OffsetDateTime> = row.try_get("paid_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            account: AccountId::new(row.try_get("account_id")?),
            provider: row.try_get("provider")?,
            kind: kind.ok_or_else(strange)?,
            state: state.ok_or_else(strange)?,
            amount: Money::from_nanos(row.try_get("amount_nanos")?),
            checkout: row.try_get("checkout_id")?,
            provider_payment: row.try_get("provider_payment")?,
            receipt_url: row.try_get("receipt_url")?,
            failure: row.try_get("failure")?,
            taken: Money::from_nanos(row.try_get("taken_nanos")?),
            created_at: from_sql_time(row.try_get("created_at")?),
            paid_at: paid_at.map(from_sql_time),
        })
    }
}

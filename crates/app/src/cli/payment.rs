//! The words of `trunkline payment`.

use clap::{Args, Subcommand};
use trunkline_store::payments::LIST_MAX;
use trunkline_types::Money;
use uuid::Uuid;

use super::values::more_than_nothing;

#[derive(Debug, Subcommand)]
pub(crate) enum PaymentCommand {
    /// List payments, newest first: what they came to and what was returned of them.
    #[command(after_help = "Examples:
  trunkline payment list
  trunkline payment list --account 1000 --json | jq '.payments[] | select(.state == \"paid\")'")]
    List {
        /// Those of one account only.
        #[arg(long, value_name = "ACCOUNT_ID")]
        account: Option<i64>,
        /// Payments at most.
        #[arg(long, value_name = "N", default_value_t = 100,
            value_parser = clap::value_parser!(i64).range(1..=LIST_MAX))]
        limit: i64,
    },

    /// Refund a payment, whole or in part, to the method it was paid with.
    #[command(
        after_help = "The amount is taken out of the account's paid wallet. What the account has spent is not refunded.
The database login needs the role trunkline_console.

Examples:
  trunkline payment refund 019a8b3c-0000-7000-8000-000000000000
  trunkline payment refund 019a8b3c-0000-7000-8000-000000000000 --amount 10"
    )]
    Refund(RefundPayment),

    /// Ask the payment provider for its events and book what no webhook has brought.
    #[command(after_help = "A worker does the same once a day. It is safe to repeat.

Examples:
  trunkline payment reconcile")]
    Reconcile,
}

#[derive(Debug, Args)]
pub(crate) struct RefundPayment {
    /// The payment's id, as `payment list` shows it.
    #[arg(value_name = "PAYMENT_ID")]
    pub(crate) id: Uuid,
    /// How much, in USD and whole cents; all that is left if left out.
    #[arg(long, value_name = "AMOUNT_USD", value_parser = more_than_nothing)]
    pub(crate) amount: Option<Money>,
}

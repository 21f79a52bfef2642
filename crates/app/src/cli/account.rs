//! The words of `trunkline account` and `trunkline topup`.

use clap::{Args, Subcommand, ValueEnum};
use trunkline_ledger::statement::MAX_ENTRIES;
use trunkline_terms::Money;

use super::values::{account_number, more_than_nothing};

#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// Make an account without money and without keys.
    #[command(
        after_help = "Prints the number by which the other commands know it. The database login needs the role
trunkline_console.

Examples:
  trunkline account create --name 'Ada Lovelace'
  trunkline account create --name CI --kind test --json | jq .account.id
  trunkline account create --name Acme --group wholesale --allowed-groups default,night"
    )]
    Create(CreateAccount),

    /// Show an account with its wallets and budgets.
    #[command(after_help = "Examples:
  trunkline account show 1000
  trunkline account show 1000 --json | jq -r .balance.paid_usd")]
    Show {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
    },

    /// Show what happened to an account's money, newest first.
    #[command(
        after_help = "Calls, also those that cost nothing, refunds, top-ups and corrections, each with the balance
after it. Entries are in the order in which calls and payments began; a refund stands above its call.

Examples:
  trunkline account statement 1000
  trunkline account statement 1000 --limit 500 --json | jq '.entries[] | select(.what == \"refund\")'"
    )]
    Statement {
        /// The account's number.
        #[arg(value_name = "ID", value_parser = account_number)]
        id: i64,
        /// Entries at most.
        #[arg(long, value_name = "N", default_value_t = 50,
            value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ENTRIES)))]
        limit: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateAccount {
    /// What people call it.
    #[arg(long)]
    pub(crate) name: String,
    /// A customer, or an account whose money is play money.
    #[arg(long, value_enum, default_value_t = Kind::Live)]
    pub(crate) kind: Kind,
    /// The price group it belongs to.
    #[arg(long, value_name = "GROUP", default_value = trunkline_store::accounts::DEFAULT_GROUP)]
    pub(crate) group: String,
    /// Other groups that its keys may name.
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    pub(crate) allowed_groups: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// A customer.
    Live,
    /// For trying things out.
    Test,
}

#[derive(Debug, Args)]
pub(crate) struct TopUpArguments {
    /// The account's number.
    #[arg(value_name = "ID", value_parser = account_number)]
    pub(crate) id: i64,
    /// How much, in USD, with up to nine decimal places.
    #[arg(value_name = "AMOUNT_USD", value_parser = more_than_nothing)]
    pub(crate) amount: Money,
    /// Into the trial wallet: a gift, not a payment. Does not count as a top-up for paid prices.
    #[arg(long)]
    pub(crate) trial: bool,
    /// The payment's own name, so that it is booked once however often it is told.
    #[arg(long, value_name = "EVENT_ID")]
    pub(crate) event: Option<String>,
}

//! The words of `trunkline code` and `trunkline emails`.

use clap::{Args, Subcommand, ValueEnum};
use trunkline_store::redemption_codes::{LIST_MAX, MAKE_MAX};
use trunkline_types::Money;
use uuid::Uuid;

use super::values::{Expiry, more_than_nothing};

#[derive(Debug, Subcommand)]
pub(crate) enum CodeCommand {
    /// Make codes that customers redeem for credit, and print them, this once.
    #[command(
        after_help = "Only a hash of a code is stored, so it cannot be shown again. A code is worth its amount once, to the
account that is first. Into the paid wallet it counts as a top-up; into the trial wallet it is trial credit. The
database login needs the role trunkline_console.

Examples:
  trunkline code create --amount 5
  trunkline code create --amount 25 --count 100 --batch fair-2026 --expires 90d --json | jq -r '.codes[].code'
  trunkline code create --amount 1 --wallet trial --expires 2027-01-31T12:00:00Z"
    )]
    Create(CreateCodes),

    /// List codes, newest first: what they are worth and what became of them.
    #[command(after_help = "Examples:
  trunkline code list
  trunkline code list --batch fair-2026 --json | jq '.codes[] | select(.state == \"redeemed\")'")]
    List {
        /// Those of one batch only.
        #[arg(long, value_name = "NAME")]
        batch: Option<String>,
        /// Codes at most.
        #[arg(long, value_name = "N", default_value_t = 100,
            value_parser = clap::value_parser!(i64).range(1..=LIST_MAX))]
        limit: i64,
    },

    /// Revoke an unredeemed code, or all unredeemed codes of a batch.
    #[command(after_help = "What was redeemed stays redeemed.

Examples:
  trunkline code revoke 019a8b3c-0000-7000-8000-000000000000
  trunkline code revoke --batch fair-2026")]
    Revoke(RevokeCodes),
}

#[derive(Debug, Args)]
pub(crate) struct CreateCodes {
    /// What each is worth, in USD, with up to nine decimal places.
    #[arg(long, value_name = "AMOUNT_USD", value_parser = more_than_nothing)]
    pub(crate) amount: Money,
    /// How many.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAKE_MAX)))]
    pub(crate) count: u32,
    /// Which wallet they fill.
    #[arg(long, value_enum, default_value_t = WalletWord::Paid)]
    pub(crate) wallet: WalletWord,
    /// When they are over: in so many days, or at a moment. Never if left out.
    #[arg(long, value_name = "DAYS|MOMENT")]
    pub(crate) expires: Option<Expiry>,
    /// A name for them, to find them again; made up if left out.
    #[arg(long, value_name = "NAME")]
    pub(crate) batch: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RevokeCodes {
    /// The code's id, as `code list` shows it.
    #[arg(value_name = "CODE_ID")]
    pub(crate) id: Option<Uuid>,
    /// All of a batch.
    #[arg(long, value_name = "NAME")]
    pub(crate) batch: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WalletWord {
    /// As if it had been paid.
    Paid,
    /// Trial credit.
    Trial,
}

//! The words of `trunkline budget`.

use clap::{Args, Subcommand, ValueEnum};

use super::values::{Limit, account_number, key_number};

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetCommand {
    /// Set or take away what an account or a key may spend in a period.
    #[command(
        after_help = "A budget is never passed, not by a cent: a call that would not fit is refused before it runs.
A key's budget counts the keys below it too. Days, weeks (from Monday) and months are those of the
time zone; a running budget keeps its zone until it is taken away. The database login needs the role
trunkline_console.

Examples:
  trunkline budget set 1000 --period monthly --limit 100 --timezone Europe/Berlin
  trunkline budget set 1000 --key 7 --period total --limit 5
  trunkline budget set 1000 --key 7 --period total --limit none"
    )]
    Set(SetBudget),
}

#[derive(Debug, Args)]
pub(crate) struct SetBudget {
    /// The account's number.
    #[arg(value_name = "ACCOUNT", value_parser = account_number)]
    pub(crate) account: i64,
    /// The key's number; without it the budget is the account's.
    #[arg(long, value_name = "KEY_ID", value_parser = key_number)]
    pub(crate) key: Option<i64>,
    /// The stretch of time.
    #[arg(long, value_enum)]
    pub(crate) period: PeriodWord,
    /// How much, in USD; none takes the budget away.
    #[arg(long, value_name = "USD|none")]
    pub(crate) limit: Limit,
    /// The place whose calendar counts, such as Europe/Berlin; UTC if left out.
    #[arg(long, value_name = "IANA")]
    pub(crate) timezone: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PeriodWord {
    /// For ever.
    Total,
    /// A calendar day.
    Daily,
    /// Monday to Sunday.
    Weekly,
    /// A calendar month.
    Monthly,
}

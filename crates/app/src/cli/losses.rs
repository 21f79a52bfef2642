//! `trunkline losses`.

use clap::Args;
use trunkline_ledger::losses::MAX_DAYS;
use trunkline_types::Money;

use super::values::more_than_nothing;

#[derive(Debug, Args)]
pub(crate) struct LossArguments {
    /// How many days are summed up, today included.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_DAYS)))]
    pub(crate) days: u16,

    /// Exit 1 if an account's losses of today are above this.
    #[arg(long, value_name = "USD", value_parser = more_than_nothing)]
    pub(crate) alarm_usd: Option<Money>,

    /// Exit 1 if an account has more such calls today: for those whose amount is not known.
    #[arg(long, value_name = "CALLS")]
    pub(crate) alarm_calls: Option<u32>,
}

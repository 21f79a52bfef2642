//! The words of `trunkline limit`, and of limits of accounts.

use clap::{Args, Subcommand, ValueEnum};

use super::values::account_number;

#[derive(Debug, Subcommand)]
pub(crate) enum LimitCommand {
    /// Set what an account may ask of a model or a platform, or what every account may.
    #[command(
        after_help = "Without --account it holds for every account that has no such limit of its own; each account is
counted by itself. Replaces the limit that is there. Nodes take it over within seconds.

Examples:
  trunkline limit set model sim-fast --rpm 100 --account 1000
  trunkline limit set platform reddit --concurrent 4"
    )]
    Set(SetLimit),

    /// Remove such a limit.
    #[command(after_help = "Example:
  trunkline limit remove model sim-fast --account 1000")]
    Remove(LimitOf),

    /// List all such limits.
    #[command(after_help = "Example:
  trunkline limit list --json | jq .limits")]
    List,
}

#[derive(Debug, Args)]
pub(crate) struct SetLimit {
    #[command(flatten)]
    pub(crate) of: LimitOf,
    #[command(flatten)]
    pub(crate) rates: RateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LimitOf {
    /// What the limit is for.
    #[arg(value_enum)]
    pub(crate) scope: ScopeWord,
    /// The model's public name, or the platform's key.
    pub(crate) name: String,
    /// The account's number; without it, every account.
    #[arg(long, value_name = "ID", value_parser = account_number)]
    pub(crate) account: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct AccountLimits {
    /// The account's number.
    #[arg(value_name = "ID", value_parser = account_number)]
    pub(crate) id: i64,
    #[command(flatten)]
    pub(crate) rates: RateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RateArguments {
    /// Requests in a minute.
    #[arg(long, value_name = "N")]
    pub(crate) rpm: Option<i64>,
    /// Tokens in a minute.
    #[arg(long, value_name = "N")]
    pub(crate) tpm: Option<i64>,
    /// Calls at once.
    #[arg(long, value_name = "N")]
    pub(crate) concurrent: Option<i64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeWord {
    /// A model.
    Model,
    /// A platform of social data.
    Platform,
}

//! `trunkline run`.

use clap::Args;
use trunkline_types::Money;

use super::values::{lifetime, more_than_nothing};

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The most that the command may spend.
    #[arg(long, value_name = "USD", value_parser = more_than_nothing)]
    pub(crate) budget: Money,

    /// When its key expires: a number with s, m, h or d.
    #[arg(long = "for", value_name = "DURATION", default_value = "1h", value_parser = lifetime)]
    pub(crate) lifetime_seconds: u32,

    /// The model for agents that read it from their settings.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The gateway's address. Left out: TRUNKLINE_BASE_URL.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The command and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

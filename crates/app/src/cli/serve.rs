//! Words of `trunkline serve`.

use clap::Args;

use crate::config::Role;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Roles of this process; defaults to node.roles of the configuration.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ROLE,...")]
    pub(crate) roles: Vec<Role>,

    /// Take over from the process that started this one, over standard input.
    #[arg(long, hide = true)]
    pub(crate) take_over: bool,
}

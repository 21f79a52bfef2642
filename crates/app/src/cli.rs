//! The command line: words, help texts and examples.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// One gateway to every model, with prices known before a call and charges made exactly once.
#[derive(Debug, Parser)]
#[command(name = "trunkline", version, about, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Configuration file; trunkline.toml in the current directory if it is there.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  trunkline config check                 explain what is wrong with trunkline.toml
  trunkline keyring generate             make the root keys of a new installation
  TRUNKLINE__DATABASE__URL=postgres://trunkline@127.0.0.1/trunkline trunkline migrate
  trunkline keyring show --json          which key generations are live";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring the database to the schema of this version.
    #[command(
        after_help = "Safe to repeat and to run from several places at once. The login needs the right to create
roles and schemas; the other commands run under the roles made here.

Examples:
  trunkline migrate
  trunkline migrate --json | jq .applied"
    )]
    Migrate,

    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Make, rotate and show the root keys.
    #[command(subcommand)]
    Keyring(KeyringCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say whether the configuration is usable, and if not, why and how to mend it.
    #[command(
        after_help = "Exits 1 when something is wrong; every problem is named with its key and where its value
came from. Secrets are never printed.

Examples:
  trunkline config check
  trunkline --config /etc/trunkline/trunkline.toml config check --json"
    )]
    Check,

    /// Print every key with its default and what it means.
    #[command(after_help = "Example:
  trunkline config default > trunkline.toml")]
    Default,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyringCommand {
    /// Make a keyring file with fresh keys. Refuses to overwrite one.
    #[command(
        after_help = "Keep a copy where the database's backups are not: without it, sealed rows are lost.

Example:
  trunkline keyring generate"
    )]
    Generate,

    /// Add a new generation of keys. What the last one sealed stays readable; the one before it
    /// is dropped.
    #[command(
        after_help = "Give all nodes the new file before you rotate again: two generations are live at a time.
A second rotation drops the older one, and with it whatever was never sealed anew, so it must be
asked for by name. With keyring.text, the new text is printed instead of written.

Examples:
  trunkline keyring rotate
  trunkline keyring rotate --drop-previous"
    )]
    Rotate {
        /// Agree that what only the previous generation can open is lost.
        #[arg(long)]
        drop_previous: bool,
    },

    /// Show which generations are live. Prints no key material.
    #[command(after_help = "Example:
  trunkline keyring show --json")]
    Show,
}

//! One file per command. A command takes the configuration it needs and prints one result.

mod config;
mod keyring;
mod migrate;

use crate::cli::{Cli, Command, ConfigCommand, KeyringCommand};
use crate::config::{Config, environment, load};
use crate::output::Output;

/// Runs what the command line asks for.
pub(crate) async fn run(cli: Cli, output: &Output) -> anyhow::Result<()> {
    let configuration =
        || -> anyhow::Result<Config> { Ok(load(cli.config.as_deref(), &environment())?) };
    match cli.command {
        Command::Migrate => migrate::run(&configuration()?, output).await,
        Command::Config(ConfigCommand::Check) => {
            config::check(&configuration()?, output);
            Ok(())
        }
        Command::Config(ConfigCommand::Default) => {
            config::default(output);
            Ok(())
        }
        Command::Keyring(KeyringCommand::Generate) => keyring::generate(&configuration()?, output),
        Command::Keyring(KeyringCommand::Rotate { drop_previous }) => {
            keyring::rotate(&configuration()?, drop_previous, output)
        }
        Command::Keyring(KeyringCommand::Show) => keyring::show(&configuration()?, output),
    }
}

//! One file per command. A command takes the configuration it needs and prints one result.

mod account;
mod account_close;
mod account_edit;
mod action;
mod alias;
mod audit;
mod budget;
mod catalog;
mod channel;
mod code;
mod config;
mod database;
mod dev;
mod emails;
mod format;
mod gateway_check;
mod gateway_client;
mod import;
mod init;
mod key;
mod key_lifecycle;
mod keyring;
mod keyring_reseal;
mod limit;
mod losses;
mod mcp;
mod migrate;
mod operator;
mod payment;
mod people;
mod provider;
mod restore;
mod run;
mod serve;
mod social;
mod statement;
mod topup;
mod verify;
mod workflow;

use std::path::Path;
use std::process::ExitCode;

use trunkline_db::{Database, Role};

use crate::cli::{
    AccountCommand, BudgetCommand, CatalogCommand, Cli, CodeCommand, Command, ConfigCommand,
    KeyCommand, KeyringCommand, LimitCommand, OperatorCommand, PaymentCommand, ReceiptCommand,
    RestoreCommand, TopUpArguments, WorkflowCommand,
};
use crate::config::{Config, DEFAULT_FILE, environment, explain, load};
use crate::output::Output;

/// Where `trunkline init` writes the configuration of an installed package.
const INSTALLED_FILE: &str = "/etc/trunkline/trunkline.toml";

/// Runs what the command line asks for.
pub(crate) async fn run(cli: Cli, output: &Output) -> anyhow::Result<ExitCode> {
    let named = cli.config.as_deref();
    let configuration = || -> anyhow::Result<Config> {
        let environment = environment();
        let file = named.or_else(|| installed(&environment));
        Ok(load(file, &environment)?)
    };
    let on_database = async |command| run_on_database(&configuration()?, command, output).await;
    match cli.command {
        Command::Init(options) => init::run(*options, output).await?,
        Command::Migrate => migrate::run(&configuration()?, output).await?,
        Command::Config(command) => run_config(named, &command, output)?,
        Command::Keyring(command) => return run_keyring(&configuration()?, &command, output).await,
        Command::Account(command) => on_database(DatabaseCommand::Account(command)).await?,
        Command::Operator(command) => on_database(DatabaseCommand::Operator(command)).await?,
        Command::Topup(command) => on_database(DatabaseCommand::Topup(command)).await?,
        Command::Payment(command) => on_database(DatabaseCommand::Payment(command)).await?,
        Command::Code(command) => on_database(DatabaseCommand::Code(command)).await?,
        Command::Emails => emails::run(&configuration()?, output).await?,
        Command::Key(command) => on_database(DatabaseCommand::Key(command)).await?,
        Command::Budget(command) => on_database(DatabaseCommand::Budget(command)).await?,
        Command::Limit(command) => on_database(DatabaseCommand::Limit(command)).await?,
        Command::Channel(command) => {
            return channel::run(&configuration()?, command, output).await;
        }
        Command::Provider(command) => provider::run(&configuration()?, &command, output)?,
        Command::Catalog(CatalogCommand::Files(command)) => {
            return catalog::on_files(command, output);
        }
        Command::Catalog(CatalogCommand::Database(command)) => {
            return catalog::run(&configuration()?, command, output).await;
        }
        Command::Social(command) => {
            return social::run(&configuration()?, command, output).await;
        }
        Command::Workflow(command) => {
            return run_workflow(&configuration, command, output).await;
        }
        Command::Import(command) => import::run(&configuration()?, &command, output).await?,
        Command::Serve(options) => return serve::run(configuration()?, &options, output).await,
        Command::Dev {
            ephemeral,
            simulated,
            exit_on_eof,
        } => {
            let options = dev::DevOptions {
                ephemeral,
                json: cli.json,
                exit_on_eof,
                simulated,
            };
            // Never the installed configuration: its database is not for play money.
            return dev::run(&load(named, &environment())?, options, output).await;
        }
        Command::Run(options) => return run::run(options, output).await,
        Command::Mcp(options) => return mcp::run(options, output).await,
        Command::GatewayCheck(options) => {
            return Box::pin(gateway_check::run(*options, output)).await;
        }
        Command::Audit => return audit::run(&configuration()?, output).await,
        Command::Restore(RestoreCommand::Check) => {
            return restore::check(&configuration()?, output).await;
        }
        Command::Receipts(command) => return run_receipts(configuration, command, output).await,
        Command::Losses(options) => return losses::run(&configuration()?, &options, output).await,
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_workflow(
    configuration: &impl Fn() -> anyhow::Result<Config>,
    command: WorkflowCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    match command {
        WorkflowCommand::Validate { file } => return workflow::validate(&file, output),
        WorkflowCommand::Import { file } => {
            return workflow::import(&configuration()?, &file, output).await;
        }
        WorkflowCommand::List { after, limit } => {
            workflow::list(&configuration()?, &after, limit, output).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_config(
    named: Option<&Path>,
    command: &ConfigCommand,
    output: &Output,
) -> anyhow::Result<()> {
    let environment = environment();
    let file = named.or_else(|| installed(&environment));
    match command {
        ConfigCommand::Check => config::check(&load(file, &environment)?, output)?,
        ConfigCommand::Default => config::default(output),
        ConfigCommand::Explain { key } => {
            config::explain(&explain(key, file, &environment)?, output);
        }
    }
    Ok(())
}

async fn run_keyring(
    config: &Config,
    command: &KeyringCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    match command {
        KeyringCommand::Generate => keyring::generate(config, output)?,
        KeyringCommand::Rotate { drop_previous } => {
            keyring::rotate(config, *drop_previous, output).await?;
        }
        KeyringCommand::Reseal => return keyring_reseal::run(config, output).await,
        KeyringCommand::Show => keyring::show(config, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_receipts(
    configuration: impl Fn() -> anyhow::Result<Config>,
    command: ReceiptCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    match command {
        ReceiptCommand::Statement(options) => {
            statement::run(&configuration()?, &options, output).await?;
        }
        // A customer has no configuration.
        ReceiptCommand::Verify(options) => return verify::run(&options, output),
    }
    Ok(ExitCode::SUCCESS)
}

/// The installed configuration, for a command that is run elsewhere than beside a configuration file of
/// its own and was not told by the environment which database it is about.
fn installed(environment: &[(String, String)]) -> Option<&'static Path> {
    let file = Path::new(INSTALLED_FILE);
    let is_told = environment
        .iter()
        .any(|(name, _)| name.starts_with("TRUNKLINE__DATABASE__URL"));
    (!is_told && !Path::new(DEFAULT_FILE).exists() && file.exists()).then_some(file)
}

/// What is done in the database as `trunkline_console`.
enum DatabaseCommand {
    Account(AccountCommand),
    Operator(OperatorCommand),
    Topup(TopUpArguments),
    Payment(PaymentCommand),
    Code(CodeCommand),
    Key(KeyCommand),
    Budget(BudgetCommand),
    Limit(LimitCommand),
}

async fn run_on_database(
    config: &Config,
    command: DatabaseCommand,
    output: &Output,
) -> anyhow::Result<()> {
    let database = database::open(config, Role::Console).await?;
    let done = dispatch(config, &database, command, output).await;
    database::close(&database).await;
    done
}

async fn dispatch(
    config: &Config,
    database: &Database,
    command: DatabaseCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        DatabaseCommand::Operator(command) => run_operator(config, database, command, output).await,
        DatabaseCommand::Account(AccountCommand::Invite(options)) => {
            people::invite(database, config, &options, output).await
        }
        DatabaseCommand::Account(AccountCommand::Create(new)) => {
            account::create(database, &new, output).await
        }
        DatabaseCommand::Account(AccountCommand::Show { id }) => {
            account::show(database, id, output).await
        }
        DatabaseCommand::Account(AccountCommand::List(options)) => {
            account_edit::list(database, &options, output).await
        }
        DatabaseCommand::Account(AccountCommand::Group {
            id,
            group,
            allowed_groups,
        }) => account_edit::group(database, id, &group, allowed_groups.as_deref(), output).await,
        DatabaseCommand::Account(AccountCommand::Routes { id, routes }) => {
            account_edit::routes(database, id, routes, output).await
        }
        DatabaseCommand::Account(AccountCommand::Close(options)) => {
            Box::pin(account_close::run(database, &options, output)).await
        }
        DatabaseCommand::Account(AccountCommand::Suspend { id }) => {
            account_edit::suspend(database, id, true, output).await
        }
        DatabaseCommand::Account(AccountCommand::Resume { id }) => {
            account_edit::suspend(database, id, false, output).await
        }
        DatabaseCommand::Account(AccountCommand::Statement { id, limit }) => {
            account::statement(database, id, limit, output).await
        }
        DatabaseCommand::Account(AccountCommand::Limits(options)) => {
            limit::of_account(database, &options, output).await
        }
        DatabaseCommand::Account(AccountCommand::Alias(command)) => {
            alias::run(database, command, output).await
        }
        DatabaseCommand::Account(AccountCommand::LowBalance { id, mark }) => {
            account::low_balance(database, id, mark, output).await
        }
        DatabaseCommand::Topup(arguments) => topup::run(database, &arguments, output).await,
        DatabaseCommand::Payment(command) => {
            Box::pin(payment::run(config, database, &command, output)).await
        }
        DatabaseCommand::Code(command) => run_code(database, command, output).await,
        DatabaseCommand::Key(command) => run_key(database, command, output).await,
        DatabaseCommand::Budget(BudgetCommand::Set(options)) => {
            budget::set(database, &options, output).await
        }
        DatabaseCommand::Limit(LimitCommand::Set(options)) => {
            limit::set(database, &options, output).await
        }
        DatabaseCommand::Limit(LimitCommand::Remove(of)) => {
            limit::remove(database, &of, output).await
        }
        DatabaseCommand::Limit(LimitCommand::List) => limit::list(database, output).await,
    }
}

async fn run_operator(
    config: &Config,
    database: &Database,
    command: OperatorCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        OperatorCommand::Link => people::operator_link(database, config, output).await,
        OperatorCommand::List => operator::list(database, output).await,
        OperatorCommand::Add { email, role } => {
            operator::put(database, &email, role.into(), true, output).await
        }
        OperatorCommand::SetRole { email, role } => {
            operator::put(database, &email, role.into(), false, output).await
        }
        OperatorCommand::Remove { email } => operator::remove(database, &email, output).await,
        OperatorCommand::ResetSecondFactor { email } => {
            operator::reset_second_factor(database, &email, output).await
        }
    }
}

async fn run_code(
    database: &Database,
    command: CodeCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        CodeCommand::Create(options) => code::create(database, &options, output).await,
        CodeCommand::List { batch, limit } => {
            code::list(database, batch.as_deref(), limit, output).await
        }
        CodeCommand::Revoke(options) => code::revoke(database, &options, output).await,
    }
}

async fn run_key(database: &Database, command: KeyCommand, output: &Output) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create(new) => key::create(database, *new, output).await,
        KeyCommand::Revoke { key } => key::revoke(database, key, output).await,
        KeyCommand::Rotate {
            key,
            overlap_seconds,
        } => key_lifecycle::rotate(database, key, overlap_seconds, output).await,
        KeyCommand::Disable { key } => key_lifecycle::switch(database, key, true, output).await,
        KeyCommand::Enable { key } => key_lifecycle::switch(database, key, false, output).await,
        KeyCommand::Set { key, changes } => {
            key_lifecycle::set(database, key, &changes, output).await
        }
        KeyCommand::Expire { key, at } => key_lifecycle::expire(database, key, at, output).await,
        KeyCommand::Delete { key } => key_lifecycle::delete(database, key, output).await,
        KeyCommand::List {
            account,
            after,
            limit,
        } => key::list(database, account, after, limit, output).await,
    }
}

//! `trunkline channel add | list | set | key | clone | test | health | drain | resume | providers`. Credentials go in
//! and never come out: what is printed of one is its hint.

mod credentials;
mod edit;
mod health;
mod probe;
mod view;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
pub(super) use trunkline_console::operations::channel_secrets::hint;
use trunkline_console::operations::channel_secrets::{
    self, SealedCredential, as_new, check_address, seal_checked,
};
use trunkline_db::{Database, Role, Tx};
use trunkline_gateway::CatalogSnapshot;
use trunkline_keyring::Keyring;
use trunkline_store::channels::{self, COST_MAX_BYTES, Channel, ChannelState, NewChannel};
use trunkline_types::Secret;
use trunkline_upstream::{Provider, Providers};

use super::{action, database, keyring, provider};
use crate::cli::{AddChannel, ChannelCommand, Pair};
use crate::config::Config;
use crate::files;
use crate::output::Output;

/// Does what is asked, in the database as `trunkline_console` where that is needed.
pub(super) async fn run(
    config: &Config,
    command: ChannelCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let list_providers = || provider::list(config, output).map(|()| ExitCode::SUCCESS);
    if matches!(command, ChannelCommand::Providers) {
        return list_providers();
    }
    let database = database::open(config, Role::Console).await?;
    let done = match command {
        ChannelCommand::Providers => list_providers(),
        ChannelCommand::Add(options) => add(config, &database, &options, output).await,
        ChannelCommand::List => list(&database, output).await,
        ChannelCommand::Set { name, changes } => {
            edit::set(config, &database, &name, &changes, output).await
        }
        ChannelCommand::Key(command) => edit::keys(config, &database, command, output).await,
        ChannelCommand::Clone { name, new, changes } => {
            edit::clone(config, &database, &name, &new, &changes, output).await
        }
        ChannelCommand::Test { name, all: _ } => {
            probe::run(config, &database, name.as_deref(), output).await
        }
        ChannelCommand::Health { name, hours } => {
            health::run(&database, name.as_deref(), hours, output).await
        }
        ChannelCommand::Drain { name, undo } => drain(&database, &name, undo, output).await,
        ChannelCommand::Resume { name } => resume(&database, &name, output).await,
    };
    database::close(&database).await;
    done
}

pub(super) fn providers(config: &Config) -> anyhow::Result<Providers> {
    let read = match &config.providers_folder {
        Some(folder) => Providers::with_folder(folder),
        None => Providers::builtin(),
    };
    read.context("the providers of providers.folder cannot be used")
}

async fn add(
    config: &Config,
    database: &Database,
    options: &AddChannel,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let channel = create(config, database, options, None).await?;
    let now = database::now(database).await?;
    let hints: Vec<String> = channel
        .credentials
        .iter()
        .map(|credential| format!("{} ({})", credential.label, credential.hint))
        .collect();
    let unsold = unsold(database, &channel.models).await?;
    let text = format!(
        "Channel {} to {} added with the credentials {}.\n`trunkline channel test {}` tests them.{}",
        channel.name,
        channel.provider,
        hints.join(", "),
        channel.name,
        unsold_text(&unsold),
    );
    let object = json!({
        "ok": true,
        "channel": view::channel(&channel, now),
        "models_not_sold": unsold,
    });
    output.success(&text, &object);
    Ok(ExitCode::SUCCESS)
}

/// Adds a channel. A typed credential comes with its label, beside those of the options.
pub(super) async fn create(
    config: &Config,
    database: &Database,
    options: &AddChannel,
    typed: Option<(&str, &Secret)>,
) -> anyhow::Result<Channel> {
    let providers = providers(config)?;
    let provider = known_provider(&providers, &options.provider)?;
    check_address(&providers, &options.provider, options.base_url.as_deref())
        .context("add --base-url")?;
    let cost = options.cost_file.as_deref().map(cost_of).transpose()?;
    let keyring = keyring::open(config)?;
    let sealed = credentials::read(
        &keyring,
        &options.name,
        &options.keys,
        typed,
        &provider.auth,
    )?;
    let proxy = match &options.proxy_file {
        Some(file) => Some(credentials::read_proxy(&keyring, &options.name, file)?),
        None => None,
    };
    let mut tx = database.begin().await?;
    let done = add_in(&mut tx, options, &sealed, proxy.as_deref(), cost.as_ref()).await;
    let advice = "`trunkline channel list` shows whether it is there";
    database::finish(tx, done, advice).await
}

/// A channel whose credentials are at hand, by their labels.
pub(super) struct KeyedChannel<'a> {
    pub(super) options: &'a AddChannel,
    pub(super) keys: &'a [(String, Secret)],
    pub(super) cost: Option<&'a Value>,
}

/// Adds a channel within a transaction of the caller.
pub(super) async fn add_keyed(
    tx: &mut Tx,
    keyring: &Keyring,
    provider: &Provider,
    new: &KeyedChannel<'_>,
) -> anyhow::Result<Channel> {
    let name = &new.options.name;
    let sealed = new
        .keys
        .iter()
        .map(|(label, text)| seal_checked(keyring, name, label, text, &provider.auth))
        .collect::<Result<Vec<SealedCredential>, _>>()?;
    add_in(tx, new.options, &sealed, None, new.cost).await
}

async fn add_in(
    tx: &mut Tx,
    options: &AddChannel,
    sealed: &[SealedCredential],
    proxy: Option<&[u8]>,
    cost: Option<&Value>,
) -> anyhow::Result<Channel> {
    let credentials = as_new(sealed);
    let new = NewChannel {
        name: &options.name,
        provider: &options.provider,
        base_url: options.base_url.as_deref(),
        priority: options.priority,
        weight: options.weight,
        region: options.region.as_deref(),
        residency: options.residency.as_deref(),
        zero_retention: options.zero_retention,
        models: &map_of("--model", &options.models)?,
        groups: &options.groups,
        extra_headers: &map_of("--header", &options.headers)?,
        proxy,
        requests_per_minute: options.rpm,
        concurrent_calls: options.concurrent,
        cost,
        credentials: &credentials,
    };
    let made = channels::add(tx, &new).await?;
    log(tx, "add_channel", &made).await?;
    Ok(made)
}

/// Writes a change of a channel to the log of actions, without its secrets.
async fn log(tx: &mut Tx, name: &str, channel: &Channel) -> anyhow::Result<()> {
    let now = database::now_in(tx).await?;
    let subject = format!("channel {}", channel.name);
    let new = action::action(name, &subject, view::channel(channel, now));
    Ok(action::log(tx, &new).await?)
}

async fn list(database: &Database, output: &Output) -> anyhow::Result<ExitCode> {
    let now = database::now(database).await?;
    let mut session = database.session().await?;
    let channels = channels::list(&mut session).await?;
    let rows: Vec<Value> = channels
        .iter()
        .map(|channel| view::channel(channel, now))
        .collect();
    let text = if channels.is_empty() {
        "There are no channels; `trunkline channel add --help` shows how to add one.".to_owned()
    } else {
        view::table(&channels, now)
    };
    output.success(&text, &json!({ "ok": true, "channels": rows }));
    Ok(ExitCode::SUCCESS)
}

async fn drain(
    database: &Database,
    name: &str,
    undo: bool,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let state = if undo {
        ChannelState::Active
    } else {
        ChannelState::Draining
    };
    let mut tx = database.begin().await?;
    let done = set_state(&mut tx, name, state).await;
    let advice = "`trunkline channel list` shows the state; it is safe to repeat this";
    let was = database::finish(tx, done, advice).await?;
    let text = if was == state {
        format!("Channel {name} is already {state}; nothing was changed.")
    } else {
        format!("Channel {name} is {state}; it was {was}.")
    };
    let object =
        json!({ "ok": true, "channel": name, "state": state.as_str(), "was": was.as_str() });
    output.success(&text, &object);
    Ok(ExitCode::SUCCESS)
}

/// Takes credentials back into use that an upstream had refused.
async fn resume(database: &Database, name: &str, output: &Output) -> anyhow::Result<ExitCode> {
    let mut tx = database.begin().await?;
    let done = async {
        let channel = channels::find(&mut tx, name).await?;
        let channel = channel.ok_or_else(|| unknown(name))?;
        let labels = channels::resume(&mut tx, channel.id).await?;
        if !labels.is_empty() {
            log(&mut tx, "resume_channel", &channel).await?;
        }
        Ok(labels)
    };
    let done: anyhow::Result<Vec<String>> = done.await;
    let advice = "`trunkline channel list` shows the credentials; it is safe to repeat this";
    let labels = database::finish(tx, done, advice).await?;
    let text = if labels.is_empty() {
        format!("No credential of channel {name} is paused; nothing was changed.")
    } else {
        format!("Back in use on channel {name}: {}.", labels.join(", "))
    };
    output.success(
        &text,
        &json!({ "ok": true, "channel": name, "resumed": labels }),
    );
    Ok(ExitCode::SUCCESS)
}

/// Restores the previous state. A channel that is off stays off: that was a separate decision.
async fn set_state(tx: &mut Tx, name: &str, state: ChannelState) -> anyhow::Result<ChannelState> {
    let channel = channels::find(tx, name).await?;
    let channel = channel.ok_or_else(|| unknown(name))?;
    match channel.state {
        ChannelState::Off => bail!("channel {name} is off"),
        was @ (ChannelState::Active | ChannelState::Draining) => {
            if was != state {
                channels::set_state(tx, channel.id, state).await?;
                let name = match state {
                    ChannelState::Active => "resume_channel",
                    ChannelState::Draining | ChannelState::Off => "drain_channel",
                };
                log(tx, name, &Channel { state, ..channel }).await?;
            }
            Ok(was)
        }
    }
}

/// The models of a channel that the catalog does not sell: no call comes for them.
async fn unsold(
    database: &Database,
    models: &BTreeMap<String, String>,
) -> anyhow::Result<Vec<String>> {
    let mut session = database.session().await?;
    let catalog = CatalogSnapshot::load(&mut session).await?;
    let unsold = models
        .keys()
        .filter(|name| catalog.book.model(name).is_none());
    Ok(unsold.cloned().collect())
}

/// The warning of it, on a line of its own.
fn unsold_text(unsold: &[String]) -> String {
    match unsold {
        [] => String::new(),
        names => format!(
            "\nWarning: the catalog does not sell {}; no call comes for them until it does (trunkline catalog import).",
            names.join(", ")
        ),
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let shortened: String = name.chars().take(100).collect();
    anyhow!("there is no channel {shortened:?}; `trunkline channel list` shows the names")
}

pub(super) fn known_provider<'a>(
    providers: &'a Providers,
    name: &str,
) -> anyhow::Result<&'a Provider> {
    Ok(channel_secrets::known_provider(providers, name)?)
}

fn map_of(option: &str, pairs: &[Pair]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for Pair(name, value) in pairs {
        if map.insert(name.clone(), value.clone()).is_some() {
            bail!("{option} names {name:?} twice");
        }
    }
    Ok(map)
}

fn cost_of(file: &Path) -> anyhow::Result<Value> {
    let most = u64::try_from(COST_MAX_BYTES).unwrap_or(u64::MAX);
    let text = files::read_bounded(file, most)
        .with_context(|| format!("the cost file {} cannot be read", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("the cost file {} is not JSON", file.display()))
}

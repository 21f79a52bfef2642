//! `trunkline channel set | key add | key replace | key remove | clone`: changes of a channel in use.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_console::operations::channel_secrets::{
    self, SealedCredential, as_new, check_address,
};
use trunkline_db::{Database, Tx};
use trunkline_keyring::Keyring;
use trunkline_store::channels::{self, Channel, NewChannel};
use trunkline_upstream::Providers;

use super::credentials;
use super::{cost_of, known_provider, log, map_of, providers, unknown, unsold, view};
use crate::cli::{ChannelChanges, ChannelKeyCommand, KeySources, OrNone, Pair};
use crate::commands::{database, keyring};
use crate::config::Config;
use crate::output::Output;

const ADVICE: &str = "`trunkline channel list` shows what is in force; it is safe to repeat this";

/// A change with its files read and its secrets sealed.
struct Change<'a> {
    options: &'a ChannelChanges,
    /// Sealed for the channel's name; none leaves it.
    proxy: Option<Option<Vec<u8>>>,
    cost: Option<Option<Value>>,
}

pub(super) async fn set(
    config: &Config,
    database: &Database,
    name: &str,
    options: &ChannelChanges,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    if options.is_empty() {
        bail!("nothing to change was named; `trunkline channel set --help` lists what can be");
    }
    let change = Change::read(options, name, || keyring::open(config))?;
    let providers = providers(config)?;
    let mut tx = database.begin().await?;
    let done = async {
        let edited = channels::edit(&mut tx, name, |channel| {
            change.apply(channel)?;
            has_address(&providers, channel)
        });
        let channel = edited.await?;
        log(&mut tx, "change_channel", &channel).await?;
        anyhow::Ok(channel)
    };
    let done = done.await;
    let channel = database::finish(tx, done, ADVICE).await?;
    report(
        database,
        &channel,
        &format!("Channel {name} changed."),
        output,
    )
    .await
}

pub(super) async fn keys(
    config: &Config,
    database: &Database,
    command: ChannelKeyCommand,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut tx = database.begin().await?;
    let (text, done) = match command {
        ChannelKeyCommand::Add { name, keys } => {
            let done = add_keys(config, &mut tx, &name, &keys).await;
            (format!("Credentials added to channel {name}."), done)
        }
        ChannelKeyCommand::Replace { name, keys } => {
            let done = replace_keys(config, &mut tx, &name, &keys).await;
            (format!("Credentials of channel {name} replaced."), done)
        }
        ChannelKeyCommand::Remove { name, label, force } => {
            let done = remove_key(&mut tx, &name, &label, force).await;
            let text = format!("Credential {label} of channel {name} deleted.");
            (text, done)
        }
    };
    let channel = database::finish(tx, done, ADVICE).await?;
    report(database, &channel, &text, output).await
}

pub(super) async fn clone(
    config: &Config,
    database: &Database,
    name: &str,
    new: &str,
    options: &ChannelChanges,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut session = database.session().await?;
    let found = channels::find(&mut session, name).await?;
    drop(session);
    let found = found.ok_or_else(|| unknown(name))?;
    let keyring = keyring::open(config)?;
    let mut copy = Channel {
        name: new.to_owned(),
        ..found.clone()
    };
    let (proxy, sealed) = channel_secrets::reseal_for(&keyring, &found, new)?;
    copy.proxy = proxy;
    Change::read(options, new, || Ok(keyring.clone()))?.apply(&mut copy)?;
    has_address(&providers(config)?, &copy)?;
    let new_credentials = as_new(&sealed);
    let fields = NewChannel {
        credentials: &new_credentials,
        ..copy.as_new()
    };
    let mut tx = database.begin().await?;
    let done = async {
        let channel = channels::add(&mut tx, &fields).await?;
        log(&mut tx, "clone_channel", &channel).await?;
        anyhow::Ok(channel)
    };
    let done = done.await;
    let channel = database::finish(tx, done, ADVICE).await?;
    report(
        database,
        &channel,
        &format!("Channel {new} added, like {name}."),
        output,
    )
    .await
}

/// Refuses a channel that would have no address.
fn has_address(providers: &Providers, channel: &Channel) -> anyhow::Result<()> {
    check_address(providers, &channel.provider, channel.base_url.as_deref())
        .context("add --base-url")
}

async fn add_keys(
    config: &Config,
    tx: &mut Tx,
    name: &str,
    sources: &KeySources,
) -> anyhow::Result<Channel> {
    let sealed = read_keys(config, tx, name, sources).await?;
    let channel = channels::add_credentials(tx, name, &as_new(&sealed)).await?;
    log(tx, "add_credential", &channel).await?;
    Ok(channel)
}

async fn remove_key(tx: &mut Tx, name: &str, label: &str, force: bool) -> anyhow::Result<Channel> {
    let channel = channels::remove_credential(tx, name, label, force).await?;
    log(tx, "remove_credential", &channel).await?;
    Ok(channel)
}

async fn replace_keys(
    config: &Config,
    tx: &mut Tx,
    name: &str,
    sources: &KeySources,
) -> anyhow::Result<Channel> {
    let sealed = read_keys(config, tx, name, sources).await?;
    let mut last = None;
    for credential in as_new(&sealed) {
        last = Some(channels::replace_credential(tx, name, &credential).await?);
    }
    let channel = last.context("no credential was named")?;
    log(tx, "replace_credential", &channel).await?;
    Ok(channel)
}

async fn read_keys(
    config: &Config,
    tx: &mut Tx,
    name: &str,
    sources: &KeySources,
) -> anyhow::Result<Vec<SealedCredential>> {
    let channel = channels::find(tx, name).await?;
    let channel = channel.ok_or_else(|| unknown(name))?;
    let providers = providers(config)?;
    let provider = known_provider(&providers, &channel.provider)?;
    credentials::read(&keyring::open(config)?, name, sources, None, &provider.auth)
}

/// Says what a channel is after a change.
async fn report(
    database: &Database,
    channel: &Channel,
    text: &str,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let now = database::now(database).await?;
    let unsold = unsold(database, &channel.models).await?;
    let table = view::table(std::slice::from_ref(channel), now);
    let warning = super::unsold_text(&unsold);
    let object = json!({
        "ok": true,
        "channel": view::channel(channel, now),
        "models_not_sold": unsold,
    });
    output.success(&format!("{text}\n{table}{warning}"), &object);
    Ok(ExitCode::SUCCESS)
}

// === impl Change ===

impl<'a> Change<'a> {
    fn read(
        options: &'a ChannelChanges,
        name: &str,
        keyring: impl FnOnce() -> anyhow::Result<Keyring>,
    ) -> anyhow::Result<Self> {
        let proxy = match &options.proxy_file {
            None => None,
            Some(OrNone(None)) => Some(None),
            Some(OrNone(Some(file))) => {
                let sealed = credentials::read_proxy(&keyring()?, name, Path::new(file))?;
                Some(Some(sealed))
            }
        };
        let cost = match &options.cost_file {
            None => None,
            Some(OrNone(None)) => Some(None),
            Some(OrNone(Some(file))) => Some(Some(cost_of(Path::new(file))?)),
        };
        Ok(Self {
            options,
            proxy,
            cost,
        })
    }

    fn apply(self, channel: &mut Channel) -> anyhow::Result<()> {
        let options = self.options;
        replace(&mut channel.base_url, options.base_url.as_ref());
        replace(&mut channel.region, options.region.as_ref());
        replace(&mut channel.residency, options.residency.as_ref());
        channel.zero_retention = options.zero_retention.unwrap_or(channel.zero_retention);
        replace(&mut channel.requests_per_minute, options.rpm.as_ref());
        replace(&mut channel.concurrent_calls, options.concurrent.as_ref());
        channel.priority = options.priority.unwrap_or(channel.priority);
        channel.weight = options.weight.unwrap_or(channel.weight);
        if !options.models.is_empty() {
            channel.models = map_of("--model", &options.models)?;
        }
        for Pair(ours, theirs) in &options.add_models {
            channel.models.insert(ours.clone(), theirs.clone());
        }
        for ours in &options.remove_models {
            if channel.models.remove(ours).is_none() {
                bail!("channel {} does not serve {ours:?}", channel.name);
            }
        }
        if options.all_groups {
            channel.groups = Vec::new();
        } else if !options.groups.is_empty() {
            channel.groups.clone_from(&options.groups);
        }
        for Pair(name, value) in &options.headers {
            let name = name.to_ascii_lowercase();
            channel.extra_headers.insert(name, value.clone());
        }
        for name in &options.remove_headers {
            let name = name.to_ascii_lowercase();
            if channel.extra_headers.remove(&name).is_none() {
                bail!("channel {} sends no header {name:?} along", channel.name);
            }
        }
        if let Some(proxy) = self.proxy {
            channel.proxy = proxy;
        }
        if let Some(cost) = self.cost {
            channel.cost = cost;
        }
        Ok(())
    }
}

/// Takes over a value that was named, or that there is to be none.
fn replace<T: Clone>(field: &mut Option<T>, named: Option<&OrNone<T>>) {
    if let Some(OrNone(value)) = named {
        field.clone_from(value);
    }
}

// === impl ChannelChanges ===

impl ChannelChanges {
    /// Whether no option was named.
    fn is_empty(&self) -> bool {
        let lists = [&self.models, &self.add_models, &self.headers];
        let names = [&self.remove_models, &self.groups, &self.remove_headers];
        let texts = [
            &self.base_url,
            &self.region,
            &self.residency,
            &self.proxy_file,
            &self.cost_file,
        ];
        lists.iter().all(|list| list.is_empty())
            && names.iter().all(|list| list.is_empty())
            && texts.iter().all(|text| text.is_none())
            && self.priority.is_none()
            && self.weight.is_none()
            && self.zero_retention.is_none()
            && !self.all_groups
            && self.rpm.is_none()
            && self.concurrent.is_none()
    }
}

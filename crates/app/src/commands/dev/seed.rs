//! What a new development database needs: a customer with credit, a key, and channels.

use std::collections::BTreeMap;

use anyhow::Context as _;
use trunkline_catalog::{Book, Document};
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind, TopUp, Wallet};
use trunkline_social::Cells;
use trunkline_store::accounts::{self, DEFAULT_GROUP, NewAccount};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};
use trunkline_store::keys::{self, NewKey, SECRET_BYTES};
use trunkline_store::people;
use trunkline_store::{Policy, PolicyFields};
use trunkline_types::{AccountId, Clock as _, Money};
use trunkline_upstream::Providers;

use super::routes::{Route, routes};
use super::vendors::VendorKey;
use crate::commands::channel::hint;
use crate::random;
use crate::social::{add_records, starter};

/// Ten USD of play money.
const CREDIT: Money = Money::from_nanos(10_000_000_000);
const CATALOG: &str = include_str!("catalog.toml");

pub(super) struct Seeded {
    pub(super) account: AccountId,
    pub(super) key: String,
}

/// What a start needs to make its channels.
pub(super) struct Ground<'a> {
    pub(super) keyring: &'a Keyring,
    pub(super) simulator: &'a str,
    pub(super) cells: &'a Cells,
    pub(super) providers: &'a Providers,
    /// Vendors' keys of the environment.
    pub(super) keys: &'a [VendorKey],
}

/// Makes a customer and its channels. Each start makes new ones: a key is shown once, and the simulator
/// has another address.
pub(super) async fn plant(console: &Database, ground: &Ground<'_>) -> anyhow::Result<Seeded> {
    let mut tx = console.begin().await?;
    let done = plant_in(&mut tx, ground).await;
    tx.finish(done)
        .await
        .context("cannot create a customer and a channel")
}

async fn plant_in(tx: &mut trunkline_db::Tx, ground: &Ground<'_>) -> anyhow::Result<Seeded> {
    let account = account(tx).await?;
    let request = random::request(SystemClock.now())?;
    let top_up = TopUp {
        request,
        account,
        wallet: Wallet::Paid,
        amount: CREDIT,
        provider: "dev".to_owned(),
        event: request.to_string(),
    };
    ledger_accounts::top_up(tx, &top_up).await?;
    let new = NewKey {
        account,
        parent: None,
        name: "dev",
        policy: Policy::new(PolicyFields::default())?,
    };
    let made = keys::create(tx, &new, &random::bytes::<SECRET_BYTES>()?).await?;
    ledger_accounts::register_key(tx, account, made.key.id, None).await?;
    let mut catalog = catalog(ground.cells)?;
    let routes = routes(&mut catalog, ground);
    let signed = ChangeAuthor {
        author: "trunkline dev",
        note: "what dev sells",
    };
    publish(tx, signed, |before| missing(catalog, before)).await?;
    // Channels of earlier starts lead to simulators that are gone.
    for old in channels::list(tx).await? {
        channels::set_state(tx, old.id, channels::ChannelState::Off).await?;
    }
    for route in &routes {
        // Names are taken once, and an earlier start took these.
        let name = format!("{}-{}", route.name, made.key.id);
        add_channel(tx, ground.keyring, &name, route).await?;
    }
    Ok(Seeded {
        account,
        key: made.plain.reveal().to_owned(),
    })
}

/// The operator's organisation, who shall see the calls of this start at the console; a new one as long
/// as there is none.
async fn account(tx: &mut trunkline_db::Tx) -> anyhow::Result<AccountId> {
    if let Some(known) = people::operators_account(tx).await? {
        return Ok(known);
    }
    let account = ledger_accounts::create_account(tx, AccountKind::Test).await?;
    let new = NewAccount {
        id: account,
        name: "Developer",
        group: DEFAULT_GROUP,
        allowed_groups: &[],
        shard: random::shard()?,
    };
    accounts::create(tx, &new).await?;
    Ok(account)
}

/// What vendors sell, at their list prices, every cell of social data, and the simulator's own models.
fn catalog(cells: &Cells) -> anyhow::Result<Document> {
    let mut catalog = starter()?;
    add_records(&mut catalog, cells)?;
    let own = Document::from_toml(CATALOG).map_err(anyhow::Error::msg)?;
    let merged = catalog.merge(own);
    merged.map_err(|twice| anyhow::anyhow!("said twice: {}", twice.join(", ")))?;
    Ok(catalog)
}

/// What is not there yet: a lasting database keeps what its owner has changed.
fn missing(mut catalog: Document, before: &Book) -> Change {
    let frame = before.header();
    catalog
        .models
        .retain(|name, _| before.model(name).is_none());
    catalog
        .groups
        .retain(|name, _| !frame.groups.contains_key(name));
    catalog
        .vendors
        .retain(|name, _| !frame.vendors.contains_key(name));
    if !frame.auto_groups.is_empty() {
        catalog.auto_groups.clear();
    }
    Change::adding(catalog, before)
}

async fn add_channel(
    tx: &mut trunkline_db::Tx,
    keyring: &Keyring,
    name: &str,
    route: &Route,
) -> anyhow::Result<()> {
    let context = credential_context(name, "main");
    let binding = Binding::of_operator(&context);
    let key = route.key.reveal();
    let sealed = keyring.seal(Purpose::Credentials, &binding, key.as_bytes())?;
    let new = NewChannel {
        name,
        provider: route.provider,
        base_url: route.base_url.as_deref(),
        priority: 0,
        weight: 1,
        region: None,
        residency: None,
        zero_retention: false,
        models: &route.models,
        groups: &[],
        extra_headers: &BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        credentials: &[NewCredential {
            label: "main",
            sealed: &sealed,
            hint: &hint(key),
        }],
    };
    channels::add(tx, &new).await?;
    Ok(())
}

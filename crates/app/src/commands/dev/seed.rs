//! What a new development database needs: a customer with credit, a key, and a channel to the
//! simulator.

use std::collections::BTreeMap;

use anyhow::Context as _;
use trunkline_catalog::Document;
use trunkline_db::{Database, SystemClock};
use trunkline_gateway::{Change, Signed, publish};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_ledger::desk::{self, AccountKind, TopUp, Wallet};
use trunkline_store::accounts::{self, DEFAULT_GROUP, NewAccount};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};
use trunkline_store::keys::{self, NewKey, SECRET_BYTES};
use trunkline_store::{Policy, PolicyFields};
use trunkline_terms::{AccountId, Clock as _, Money};

use crate::chance;

/// Ten USD of play money.
const CREDIT: Money = Money::from_nanos(10_000_000_000);
const MODELS: [&str; 3] = ["sim-fast", "sim-large", "sim-reason"];
const CATALOG: &str = include_str!("catalog.toml");
/// The simulator takes any.
const SIMULATOR_KEY: &str = "sk-simulator-development";

/// What was made.
pub(super) struct Seeded {
    pub(super) account: AccountId,
    pub(super) key: String,
}

/// Makes a customer and a channel. Each start makes new ones: a key is shown once, and the simulator
/// has another address.
pub(super) async fn plant(
    console: &Database,
    keyring: &Keyring,
    simulator: &str,
) -> anyhow::Result<Seeded> {
    let mut tx = console.begin().await?;
    let done = plant_in(&mut tx, keyring, simulator).await;
    tx.finish(done)
        .await
        .context("cannot make a customer and a channel")
}

async fn plant_in(
    tx: &mut trunkline_db::Tx,
    keyring: &Keyring,
    simulator: &str,
) -> anyhow::Result<Seeded> {
    let account = desk::create_account(tx, AccountKind::Test).await?;
    let new = NewAccount {
        id: account,
        name: "Developer",
        group: DEFAULT_GROUP,
        allowed_groups: &[],
        shard: chance::shard()?,
    };
    accounts::create(tx, &new).await?;
    let request = chance::request(SystemClock.now())?;
    let top_up = TopUp {
        request,
        account,
        wallet: Wallet::Paid,
        amount: CREDIT,
        provider: "dev".to_owned(),
        event: request.to_string(),
    };
    desk::top_up(tx, &top_up).await?;
    let new = NewKey {
        account,
        parent: None,
        name: "dev",
        policy: Policy::new(PolicyFields::default())?,
    };
    let made = keys::create(tx, &new, &chance::bytes::<SECRET_BYTES>()?).await?;
    desk::register_key(tx, account, made.key.id, None).await?;
    let catalog = Document::from_toml(CATALOG).map_err(anyhow::Error::msg)?;
    let signed = Signed {
        author: "trunkline dev",
        note: "what dev sells",
    };
    publish(tx, signed, |_| Change::with(catalog)).await?;
    // Channels of earlier starts lead to simulators that are gone.
    for old in channels::list(tx).await? {
        channels::set_state(tx, old.id, channels::ChannelState::Off).await?;
    }
    let name = format!("simulator-{}", made.key.id);
    add_channel(tx, keyring, &name, simulator).await?;
    Ok(Seeded {
        account,
        key: made.plain.reveal().to_owned(),
    })
}

async fn add_channel(
    tx: &mut trunkline_db::Tx,
    keyring: &Keyring,
    name: &str,
    simulator: &str,
) -> anyhow::Result<()> {
    let context = credential_context(name, "main");
    let binding = Binding::of_operator(&context);
    let sealed = keyring.seal(Purpose::Credentials, &binding, SIMULATOR_KEY.as_bytes())?;
    let own = |model: &&str| ((*model).to_owned(), (*model).to_owned());
    let models: BTreeMap<String, String> = MODELS.iter().map(own).collect();
    let new = NewChannel {
        name,
        provider: "simulator",
        base_url: Some(simulator),
        priority: 0,
        weight: 1,
        region: None,
        models: &models,
        groups: &[],
        extra_headers: &BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        credentials: &[NewCredential {
            label: "main",
            sealed: &sealed,
            hint: "ment",
        }],
    };
    channels::add(tx, &new).await?;
    Ok(())
}

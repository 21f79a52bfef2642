//! What a studio sells, to whom, and over which channels.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use trunkline_catalog::{Document as Catalog, starter};
use trunkline_db::{Database, DbError, SystemClock};
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind, TopUp, Wallet};
use trunkline_store::accounts::{self, NewAccount};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, Money, RequestId, Shard};

use super::{Customer, PAID, TRIAL_CREDIT};
use crate::faults::video_chaos::scenarios::{SHAPES, Vendor};

/// Several, so that one that rests does not stop everything.
const CREDENTIALS: [&str; 3] = ["first", "second", "third"];

/// A model of a relay that speaks OpenAI's videos; the families have theirs in the starter catalog.
const RELAYED: &str = r#"
[groups.default]
rate = "1"
[models.sim-clip]
groups = ["default"]
endpoints = ["openai-video"]
[models.sim-clip.specs]
type = "video"
video_family = "openai_videos"
input_modalities = ["text"]
output_modalities = ["video"]
[models.sim-clip.prices]
billing_unit = "per_second"
standard = { video_second = 30_000_000_000 }
"#;

/// The starter's models that are asked for, and the relayed one.
pub(super) async fn sell(console: &Database) {
    let mut starter = starter().unwrap();
    let models: Vec<String> = SHAPES.iter().map(|shape| shape.model()).collect();
    starter.models.retain(|name, _| models.contains(name));
    let sold: Vec<String> = starter
        .models
        .values()
        .filter_map(|one| one.vendor.clone())
        .collect();
    starter.vendors.retain(|name, _| sold.contains(name));
    starter.auto_groups.clear();
    let relayed = Catalog::from_toml(RELAYED).unwrap();
    starter.models.extend(relayed.models);
    let signed = ChangeAuthor {
        author: "studio",
        note: "",
    };
    let mut tx = console.begin().await.unwrap();
    let done = publish(&mut tx, signed, |before| Change::adding(starter, before)).await;
    tx.finish(done).await.unwrap();
}

/// A channel for each vendor.
pub(super) async fn channels(console: &Database, keyring: &Keyring, simulator: SocketAddr) {
    for vendor in Vendor::ALL {
        let (provider, path) = vendor.provider();
        let own = SHAPES.iter().filter(|shape| shape.vendor == vendor);
        let models: BTreeMap<String, String> =
            own.map(|shape| (shape.model(), shape.model())).collect();
        let seal = |label: &str| {
            let context = credential_context(provider, label);
            let binding = Binding::of_operator(&context);
            let secret = format!("sk-studio-{label}");
            keyring.seal(Purpose::Credentials, &binding, secret.as_bytes())
        };
        let sealed = CREDENTIALS.map(|label| (label, seal(label).unwrap()));
        let credentials: Vec<NewCredential<'_>> = sealed
            .iter()
            .map(|(label, sealed)| NewCredential {
                label,
                sealed,
                hint: "…",
            })
            .collect();
        let base_url = format!("http://{simulator}{path}");
        let new = NewChannel {
            name: provider,
            provider,
            base_url: Some(&base_url),
            priority: 0,
            weight: 1,
            region: None,
            residency: None,
            zero_retention: false,
            models: &models,
            groups: &[],
            extra_headers: &BTreeMap::new(),
            proxy: None,
            requests_per_minute: None,
            concurrent_calls: None,
            cost: None,
            credentials: &credentials,
        };
        let mut tx = console.begin().await.unwrap();
        let added = channels::add(&mut tx, &new).await;
        tx.finish(added).await.unwrap();
    }
}

/// An account that has paid in, and its key.
pub(super) async fn customer(console: &Database) -> Customer {
    let mut tx = console.begin().await.unwrap();
    let made = ledger_accounts::create_account(&mut tx, AccountKind::Live).await;
    let account = made.unwrap();
    let new = NewAccount {
        id: account,
        name: "Ada",
        group: "default",
        allowed_groups: &[],
        shard: Shard::new(1).unwrap(),
    };
    accounts::create(&mut tx, &new).await.unwrap();
    let event = format!("first of {}", account.number());
    let paid = top_up(account, Wallet::Paid, PAID, &event);
    ledger_accounts::top_up(&mut tx, &paid).await.unwrap();
    let new = NewKey {
        account,
        parent: None,
        name: "key",
        policy: Policy::new(PolicyFields::default()).unwrap(),
    };
    let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
    let known = ledger_accounts::register_key(&mut tx, account, made.key.id, None).await;
    assert!(known.unwrap());
    tx.commit().await.unwrap();
    Customer {
        account,
        key: made.plain.reveal().to_owned(),
    }
}

/// Gives an account something; false if the database was away. Told twice it is given once.
pub(super) async fn give(console: &Database, account: AccountId, event: &str) -> bool {
    let given = async {
        let mut tx = console.begin().await?;
        ledger_accounts::top_up(
            &mut tx,
            &top_up(account, Wallet::Trial, TRIAL_CREDIT, event),
        )
        .await?;
        tx.commit().await
    };
    let given: Result<(), DbError> = given.await;
    given.is_ok()
}

fn top_up(account: AccountId, wallet: Wallet, nanos: i64, event: &str) -> TopUp {
    TopUp {
        request: RequestId::new(SystemClock.now(), random_bytes()),
        account,
        wallet,
        amount: Money::from_nanos(nanos),
        provider: "test".to_owned(),
        event: event.to_owned(),
    }
}

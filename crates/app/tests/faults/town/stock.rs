//! Who lives in the town, and what it sells: one chat model, dear enough for its budgets to be felt.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use trunkline_db::{Database, SystemClock};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_ledger::desk::{self, AccountKind, Period, TopUp, Wallet};
use trunkline_store::accounts::{self, NewAccount};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_terms::{AccountId, Clock as _, KeyId, Money, RequestId, Shard};
use trunkline_testkit::random_bytes;

use crate::arena::{INPUT, OUTPUT, publish_text};

/// What the town sells.
pub(crate) const MODEL: &str = "sim-fast";

/// Who pays.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) account: AccountId,
    pub(crate) key: String,
    pub(crate) key_id: KeyId,
}

pub(super) async fn sell(console: &Database) {
    publish_text(
        console,
        &format!(
            "[groups.default]\nrate = \"1\"\n[models.{MODEL}]\ngroups = [\"default\"]\n\
             [models.{MODEL}.prices]\nbilling_unit = \"tokens\"\n\
             standard = {{ input = {INPUT}000, output = {OUTPUT}000 }}\n"
        ),
    )
    .await;
}

pub(super) async fn channel(console: &Database, keyring: &Keyring, upstream: SocketAddr) {
    let context = credential_context("simulator", "main");
    let binding = Binding::of_operator(&context);
    let sealed = keyring
        .seal(Purpose::Credentials, &binding, b"sk-simulator")
        .unwrap();
    let base_url = format!("http://{upstream}/v1");
    let new = NewChannel {
        name: "simulator",
        provider: "simulator",
        base_url: Some(&base_url),
        priority: 0,
        weight: 1,
        region: None,
        models: &BTreeMap::from([(MODEL.to_owned(), MODEL.to_owned())]),
        groups: &[],
        extra_headers: &BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        credentials: &[NewCredential {
            label: "main",
            sealed: &sealed,
            hint: "ator",
        }],
    };
    let mut tx = console.begin().await.unwrap();
    let added = channels::add(&mut tx, &new).await;
    tx.finish(added).await.unwrap();
}

/// An account with money and a key without limits of its own worth speaking of.
pub(super) async fn customer(console: &Database, paid: i64) -> Customer {
    let mut tx = console.begin().await.unwrap();
    let account = desk::create_account(&mut tx, AccountKind::Live)
        .await
        .unwrap();
    let new = NewAccount {
        id: account,
        name: "Ada",
        group: "default",
        allowed_groups: &[],
        shard: Shard::new(1).unwrap(),
    };
    accounts::create(&mut tx, &new).await.unwrap();
    let top_up = TopUp {
        request: RequestId::new(SystemClock.now(), random_bytes()),
        account,
        wallet: Wallet::Paid,
        amount: Money::from_nanos(paid),
        provider: "test".to_owned(),
        event: format!("first of {}", account.number()),
    };
    desk::top_up(&mut tx, &top_up).await.unwrap();
    tx.commit().await.unwrap();
    let wide = PolicyFields {
        requests_per_minute: Some(10_000_000),
        concurrent_calls: Some(10_000),
        ..PolicyFields::default()
    };
    key_of(console, account, wide).await
}

/// Another key of an account.
pub(super) async fn key_of(
    console: &Database,
    account: AccountId,
    fields: PolicyFields,
) -> Customer {
    let mut tx = console.begin().await.unwrap();
    let new = NewKey {
        account,
        parent: None,
        name: "key",
        policy: Policy::new(fields).unwrap(),
    };
    let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
    desk::register_key(&mut tx, account, made.key.id, None)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    Customer {
        account,
        key: made.plain.reveal().to_owned(),
        key_id: made.key.id,
    }
}

/// A budget for all that a key ever spends.
pub(super) async fn budget(console: &Database, customer: &Customer, nanos: i64) {
    let mut tx = console.begin().await.unwrap();
    let key = Some(customer.key_id);
    let limit = Some(Money::from_nanos(nanos));
    let set = desk::set_budget(&mut tx, customer.account, key, Period::Total, "UTC", limit).await;
    assert!(set.unwrap());
    tx.commit().await.unwrap();
}

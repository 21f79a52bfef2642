//! The cluster's customers, and what it sells: one chat model, dear enough for its budgets to be felt.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use trunkline_db::Database;
use trunkline_keyring::Keyring;
use trunkline_ledger::accounts::{self, Period};
use trunkline_store::PolicyFields;
use trunkline_types::{AccountId, KeyId, Money};

use crate::faults::process_harness::{self, INPUT, OUTPUT, add_channel, publish_text};

/// What the cluster sells.
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
    let models = BTreeMap::from([(MODEL.to_owned(), MODEL.to_owned())]);
    let named = ("simulator", "simulator".to_owned());
    let base_url = format!("http://{upstream}/v1");
    add_channel((console, keyring), named, &base_url, &models).await;
}

/// An account with money and a key without limits of its own worth speaking of.
pub(super) async fn customer(console: &Database, paid: i64) -> Customer {
    let account = process_harness::account(console, paid).await;
    key_of(console, account, wide()).await
}

/// A policy whose limits no key meets.
pub(super) fn wide() -> PolicyFields {
    PolicyFields {
        requests_per_minute: Some(10_000_000),
        concurrent_calls: Some(10_000),
        ..PolicyFields::default()
    }
}

/// Another key of an account.
pub(super) async fn key_of(
    console: &Database,
    account: AccountId,
    fields: PolicyFields,
) -> Customer {
    let (key_id, key) = process_harness::key_of(console, account, fields).await;
    Customer {
        account,
        key,
        key_id,
    }
}

/// A budget for all that a key ever spends.
pub(super) async fn budget(console: &Database, customer: &Customer, nanos: i64) {
    let mut tx = console.begin().await.unwrap();
    let key = Some(customer.key_id);
    let limit = Some(Money::from_nanos(nanos));
    let set =
        accounts::set_budget(&mut tx, customer.account, key, Period::Total, "UTC", limit).await;
    assert!(set.unwrap());
    tx.commit().await.unwrap();
}

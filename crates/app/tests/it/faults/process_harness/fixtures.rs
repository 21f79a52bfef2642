//! What a process harness sells, to which customers, and over which channels: each format of an upstream has one.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use trunkline_db::{Database, SystemClock};
use trunkline_gateway::{Change, ChangeAuthor, publish};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind, TopUp, Wallet};
use trunkline_social::Cells;
use trunkline_store::accounts::{self, NewAccount};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, KeyId, Money, RequestId, Shard};

use super::{INPUT, LOOK, MONEY, OUTPUT};
use crate::faults::formats::{Format, model_of};

/// The model of tests that speak chat alone.
const CHAT_MODEL: &str = "sim-fast";

/// A chat model with answers of megabytes.
pub(crate) const LONG_MODEL: &str = "sim-long";

pub(super) async fn customer(console: &Database) -> (AccountId, String) {
    let account = account(console, MONEY).await;
    let (_, key) = key_of(console, account, PolicyFields::default()).await;
    (account, key)
}

/// An account that has paid in.
pub(crate) async fn account(console: &Database, paid: i64) -> AccountId {
    let mut tx = console.begin().await.unwrap();
    let account = ledger_accounts::create_account(&mut tx, AccountKind::Live)
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
    ledger_accounts::top_up(&mut tx, &top_up).await.unwrap();
    tx.commit().await.unwrap();
    account
}

/// A key of an account, and its number.
pub(crate) async fn key_of(
    console: &Database,
    account: AccountId,
    fields: PolicyFields,
) -> (KeyId, String) {
    let mut tx = console.begin().await.unwrap();
    let new = NewKey {
        account,
        parent: None,
        name: "key",
        policy: Policy::new(fields).unwrap(),
    };
    let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
    ledger_accounts::register_key(&mut tx, account, made.key.id, None)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    (made.key.id, made.plain.reveal().to_owned())
}

/// The channel to the simulator in one format.
pub(super) async fn channel(console: &Database, keyring: &Keyring, format: Format, port: u16) {
    let name = format!("simulator-{}", format.as_str());
    let sold = |name: String| (name, "sim-fast".to_owned());
    let mut models = BTreeMap::from([sold(model_of(format))]);
    let version = match format {
        Format::Chat => {
            models.extend([sold(CHAT_MODEL.to_owned())]);
            "v1"
        }
        Format::Messages | Format::Responses => "v1",
        Format::Gemini => "v1beta",
    };
    let base_url = format!("http://127.0.0.1:{port}/{version}");
    let named = (name.as_str(), provider_name(format));
    add_channel((console, keyring), named, &base_url, &models).await;
}

/// A channel of a name and a provider, with one credential.
pub(crate) async fn add_channel(
    (console, keyring): (&Database, &Keyring),
    (name, provider): (&str, String),
    base_url: &str,
    models: &BTreeMap<String, String>,
) {
    let context = credential_context(name, "main");
    let binding = Binding::of_operator(&context);
    let sealed = keyring
        .seal(Purpose::Credentials, &binding, b"sk-simulator")
        .unwrap();
    let new = NewChannel {
        name,
        provider: &provider,
        base_url: Some(base_url),
        priority: 0,
        weight: 1,
        region: None,
        residency: None,
        zero_retention: false,
        models,
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

pub(super) fn provider_name(format: Format) -> String {
    format!("patient_{}", format.as_str())
}

/// The simulator in the clothes of one format, with more patience than it is given by default: streams
/// may last for minutes.
pub(super) fn provider(format: Format) -> String {
    let name = provider_name(format);
    let (speaks, auth) = match format {
        Format::Chat => ("openai_chat", "bearer"),
        Format::Messages => ("claude_messages", "header:x-api-key"),
        Format::Responses => ("openai_responses", "bearer"),
        Format::Gemini => ("gemini", "header:x-goog-api-key"),
    };
    format!(
        "name = \"{name}\"\nbase_url = \"\"\nauth = \"{auth}\"\nformats = [\"{speaks}\"]\nquirks = []\n\
         connect_ms = 5000\nfirst_byte_ms = 10000\nidle_ms = 10000\ntotal_ms = 900000\n"
    )
}

/// A model for each upstream, callable by every format, and one for chat alone; all at one price.
fn prices() -> String {
    let prices = |name: &str| {
        format!(
            "[models.{name}.prices]\nbilling_unit = \"tokens\"\n\
             standard = {{ input = {INPUT}000, output = {OUTPUT}000 }}\n"
        )
    };
    let model = |upstream| {
        let name = model_of(upstream);
        format!(
            "[models.{name}]\ngroups = [\"default\"]\n\
             endpoints = [\"openai\", \"anthropic\", \"openai-response\", \"gemini\"]\n{}",
            prices(&name)
        )
    };
    format!(
        "[groups.default]\nrate = \"1\"\n[models.{CHAT_MODEL}]\ngroups = [\"default\"]\n{}{}",
        prices(CHAT_MODEL),
        Format::ALL.map(model).concat()
    )
}

/// The model of long answers, and a channel to it.
pub(super) async fn sell_long(console: &Database, keyring: &Keyring, port: u16) {
    let record = format!(
        "[models.{LONG_MODEL}]\ngroups = [\"default\"]\nspecs = {{ max_output_tokens = 32000 }}\n\
         [models.{LONG_MODEL}.prices]\nbilling_unit = \"tokens\"\n\
         standard = {{ input = {INPUT}000, output = {OUTPUT}000 }}\n"
    );
    publish_text(console, &record).await;
    let models = BTreeMap::from([(LONG_MODEL.to_owned(), "sim-fast".to_owned())]);
    let base_url = format!("http://127.0.0.1:{port}/v1");
    let named = ("long", provider_name(Format::Chat));
    add_channel((console, keyring), named, &base_url, &models).await;
}

/// Every cell of social data at one price, and a channel to its source.
pub(super) async fn social(console: &Database, keyring: &Keyring, simulator: SocketAddr) {
    let cells = Cells::builtin().unwrap();
    let names: Vec<&str> = cells.all().map(|cell| cell.model.as_str()).collect();
    let record = |name: &&str| {
        format!(
            "[models.{name:?}]\ngroups = [\"default\"]\nendpoints = []\ntasks = [\"social-data\"]\n\
             [models.{name:?}.prices]\nbilling_unit = \"per_call\"\nstandard = {{ per_call = {LOOK}000 }}\n"
        )
    };
    publish_text(console, &names.iter().map(record).collect::<String>()).await;
    let base_url = format!("http://{simulator}");
    let models = names
        .iter()
        .map(|name| ((*name).to_owned(), (*name).to_owned()));
    let named = ("source", "tikhub".to_owned());
    add_channel((console, keyring), named, &base_url, &models.collect()).await;
}

pub(super) async fn sell(console: &Database) {
    publish_text(console, &prices()).await;
}

pub(crate) async fn publish_text(console: &Database, text: &str) {
    let catalog = trunkline_catalog::Document::from_toml(text).unwrap();
    let signed = ChangeAuthor {
        author: "harness",
        note: "",
    };
    let mut tx = console.begin().await.unwrap();
    let done = publish(&mut tx, signed, |before| Change::adding(catalog, before)).await;
    tx.finish(done).await.unwrap();
}

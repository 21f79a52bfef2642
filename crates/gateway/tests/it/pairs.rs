//! Random models and random requests: each is quoted and then called, and the charge lies where the
//! quote said. Short in the gate; `just quotes` runs the long form.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_catalog::Document;
use trunkline_db::SystemClock;
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_store::{KeyGroup, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, RequestId};

use crate::nodes::{ManualClock, nanos};
use crate::random::{Dice, GROUPS, Model, RandomRequest};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, account};

const PAIRS: &str = "TRUNKLINE_QUOTES";
const SEED: &str = "TRUNKLINE_QUOTES_SEED";
const SHORT_PAIRS: u64 = 300;
/// Pairs that run at once, all at one moment of the clock.
const AT_ONCE: u64 = 16;
const MODELS: usize = 120;
const MONEY: i64 = 1_000_000_000_000_000;
const TWO_WEEKS: u64 = 14 * 24 * 3_600;
const STAND_INS: [(&str, &str); 7] = [
    ("cache_write_1h", "cache_write"),
    ("cache_read", "input"),
    ("cache_write", "input"),
    ("image_input", "input"),
    ("audio_input", "input"),
    ("image_output", "output"),
    ("audio_output", "output"),
];

/// A key, and what it pays.
#[derive(Debug, Clone)]
struct Payer {
    key: String,
    account: AccountId,
    topped_up: bool,
    /// None: the first of the book's automatic groups.
    group: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Counts {
    charged: u64,
    exact: u64,
    stray: u64,
    locked: u64,
    /// Charges of nothing.
    free: u64,
}

pub(crate) fn number(name: &str, short: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how many and from which seed; tests have no configuration"
    )]
    let value = std::env::var(name);
    value.map_or(short, |text| text.parse().expect("a number"))
}

// covers: D-2-40
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_charge_is_outside_its_quote_and_an_exact_quote_is_the_charge() {
    let seed = number(SEED, u64::from_be_bytes(random_bytes()));
    let pairs = number(PAIRS, SHORT_PAIRS);
    println!("seed {seed}: {SEED}={seed} runs the same again");
    let began = SystemClock.now().seconds();
    let hands = ManualClock::at(began);
    let harness = TestGateway::build(TestOptions {
        paid: MONEY,
        clock: Arc::new(hands.clone()),
        ..TestOptions::default()
    })
    .await;
    harness.two_weeks_ahead().await;
    let mut dice = Dice::new(seed);
    let models: Vec<Model> = (0..MODELS).map(|place| dice.model(place)).collect();
    let payers = open(&harness, &models).await;
    let harness = Arc::new(harness);
    let (mut counts, clock) = (Counts::default(), Instant::now());
    let mut done = 0;
    while done < pairs {
        // No background task keeps this node's keys fresh.
        harness.gateway.refresh().await.unwrap();
        hands.put(began + dice.below(TWO_WEEKS) as i64);
        let mut running = JoinSet::new();
        for _ in 0..AT_ONCE.min(pairs - done) {
            let model = models[dice.below(MODELS as u64) as usize].clone();
            let may = |payer: &&Payer| payer.group.is_none_or(|own| model.groups.contains(&own));
            let may: Vec<&Payer> = payers.iter().filter(may).collect();
            let payer = may[dice.below(may.len() as u64) as usize].clone();
            let case = dice.case(&model);
            let locks = dice.percent(50);
            running.spawn(pair(Arc::clone(&harness), model, payer, case, locks));
        }
        for counted in running.join_all().await {
            counts.add(&counted);
        }
        done += AT_ONCE;
    }
    let seconds = clock.elapsed().as_secs();
    println!("{pairs} pairs in {seconds} s from seed {seed}: {counts:?}");
    assert!(counts.charged > counts.stray && counts.exact > 0 && counts.stray > 0);
    harness.audit().await;
    let quoted_and_called = 2 * counts.charged;
    println!("figures: requests={quoted_and_called}");
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.charged += other.charged;
        self.exact += other.exact;
        self.stray += other.stray;
        self.locked += other.locked;
        self.free += other.free;
    }
}

/// Sells the models and opens an account that has paid in and one that has not, each with a key for
/// every group.
async fn open(harness: &TestGateway, models: &[Model]) -> Vec<Payer> {
    let groups: BTreeMap<&str, Value> = GROUPS
        .iter()
        .map(|(name, rate)| (*name, json!({ "rate": rate })))
        .collect();
    let entries: BTreeMap<&str, &Value> = models
        .iter()
        .map(|model| (model.name.as_str(), &model.entry))
        .collect();
    let document =
        json!({ "groups": groups, "auto_groups": ["third", "odd", "default"], "models": entries });
    let document = Document::from_json(&document.to_string()).unwrap();
    harness.sell_document(document).await;
    let names: Vec<(&str, &str)> = models
        .iter()
        .map(|model| (model.name.as_str(), model.name.as_str()))
        .collect();
    let base = harness.simulator.base_url();
    harness.channel("pairs", &base, 10, &names).await;
    let trial = account(&harness.console, 0, MONEY).await;
    let mut payers = Vec::new();
    for (account, topped_up) in [(harness.account, true), (trial, false)] {
        for group in GROUPS.iter().map(|(name, _)| Some(*name)).chain([None]) {
            let key_group = group.map_or(KeyGroup::Auto, |name| KeyGroup::Named(name.to_owned()));
            let fields = PolicyFields {
                group: key_group,
                ..PolicyFields::default()
            };
            payers.push(Payer {
                key: harness.key_of(account, fields).await,
                account,
                topped_up,
                group,
            });
        }
    }
    payers
}

/// The beginning of a text, for people.
fn cut(text: &str) -> String {
    text.chars().take(4_000).collect()
}

/// One quote and its call.
async fn pair(
    harness: Arc<TestGateway>,
    model: Model,
    payer: Payer,
    case: RandomRequest,
    locks: bool,
) -> Counts {
    let to = (harness.address, payer.key.as_str());
    let ask = format!("{{\"endpoint\":\"chat\",\"body\":{}}}", case.body);
    let quote = post(&harness, to, "/v1/quotes", &ask, &[]).await;
    assert_eq!(quote.status, 200, "{}\n{}", quote.text(), cut(&case.body));
    let quote = quote.json();
    check_lines(&quote);
    let id = quote["id"].as_str().unwrap();
    let lock = [("trunkline-quote", id)];
    let extra: &[(&'static str, &str)] = if locks { &lock } else { &[] };
    let called = post(&harness, to, "/v1/chat/completions", &case.body, extra).await;
    let mut counts = Counts::default();
    if case.is_stray {
        let warnings = quote["warnings"].to_string();
        assert!(warnings.contains("unknown_field"), "{warnings}");
        counts.stray = 1;
    }
    assert_eq!(called.status, 200, "{}\n{}", called.text(), cut(&case.body));
    let row = row(&harness, payer.account, &called).await;
    let charged = row.paid.nanos() + row.trial.nanos();
    let reported = format!("{quote:#}\n{row:?}\n{}\n{}", model.entry, cut(&case.body));
    assert_eq!(row.outcome, "complete", "{reported}");
    assert_eq!(row.price_version, quote["pricing_version"], "{reported}");
    assert_eq!(row.group, quote["group"], "{reported}");
    let amount = |name: &str| nanos(&quote[name]);
    assert!(charged <= amount("maximum_usd"), "{charged}: {reported}");
    assert!(charged >= amount("minimum_usd"), "{charged}: {reported}");
    let likely = amount("minimum_usd")..=amount("maximum_usd");
    assert!(likely.contains(&amount("expected_usd")), "{reported}");
    assert!(
        amount("reserved_usd") <= amount("maximum_usd") || quote["exact"] == true,
        "{reported}"
    );
    if quote["exact"] == true {
        assert_eq!(amount("price_usd"), charged, "{reported}");
        assert_eq!(likely, charged..=charged, "{reported}");
        assert_eq!(row.tier.as_deref(), quote["tier"].as_str(), "{reported}");
        counts.exact = 1;
    }
    assert_eq!(charged, by_hand(&model, &payer, &row), "{reported}");
    counts.charged = 1;
    counts.locked = u64::from(locks);
    counts.free = u64::from(charged == 0);
    counts
}

async fn post(
    harness: &TestGateway,
    to: (SocketAddr, &str),
    path: &str,
    body: &str,
    extra: &[(&'static str, &str)],
) -> GatewayResponse {
    let body = Bytes::copy_from_slice(body.as_bytes());
    GatewayResponse::read(harness.send_as(to, Method::POST, path, body, extra).await).await
}

async fn row(harness: &TestGateway, account: AccountId, called: &GatewayResponse) -> UsageRow {
    let id: RequestId = called.id().parse().unwrap();
    let found = usage::find(&harness.data, account, id).await.unwrap();
    found.expect("a call that is over has a row")
}

/// The lines of a quote, multiplied and rounded as it says, are its total.
fn check_lines(quote: &Value) {
    let (up, down) = ratio(quote["rate"].as_str().unwrap());
    let lines = quote["lines"].as_array().unwrap().iter();
    let pico: i128 = lines
        .map(|line| {
            let each = i128::from(line["price_pico_usd"].as_u64().unwrap());
            each * i128::from(line["units"].as_u64().unwrap())
        })
        .sum();
    let (total, whole) = if quote["exact"] == true {
        ("price_usd", half_up(pico * up, down * 1_000))
    } else {
        (
            "maximum_usd",
            (pico * up + down * 1_000 - 1) / (down * 1_000),
        )
    };
    assert_eq!(i128::from(nanos(&quote[total])), whole, "{quote:#}");
    let lines = quote["lines"].as_array().unwrap().iter();
    let parts: i64 = lines.map(|line| nanos(&line["amount_usd"])).sum();
    assert_eq!(parts, nanos(&quote[total]), "{quote:#}");
}

/// The charge once more, from the record as it was written and the units of the usage row.
fn by_hand(model: &Model, payer: &Payer, row: &UsageRow) -> i64 {
    let prices = &model.entry["prices"];
    let name = row.tier.as_deref().unwrap();
    let mut tiers = prices["tiers"].as_array().unwrap().iter();
    let tier = tiers.find(|tier| tier["tier"] == name).unwrap_or(prices);
    let column = match (payer.topped_up, &tier["paid"]) {
        (true, paid) if !paid.is_null() => paid,
        _ => &tier["standard"],
    };
    let price = |face: &str| {
        let mut face = face;
        while column[face].is_null() {
            face = STAND_INS.iter().find(|(from, _)| *from == face).unwrap().1;
        }
        i128::from(column[face].as_u64().unwrap())
    };
    let units = row.units.as_object().unwrap().iter();
    let pico: i128 = units
        .map(|(face, count)| price(face) * i128::from(count.as_u64().unwrap()))
        .sum();
    let rate = GROUPS.iter().find(|(group, _)| *group == row.group);
    let (up, down) = ratio(rate.unwrap().1);
    i64::try_from(half_up(pico * up, down * 1_000)).unwrap()
}

fn half_up(upper: i128, lower: i128) -> i128 {
    (2 * upper + lower) / (2 * lower)
}

/// `4/3`, `3` or `1.33`.
fn ratio(text: &str) -> (i128, i128) {
    if let Some((up, down)) = text.split_once('/') {
        return (up.parse().unwrap(), down.parse().unwrap());
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let all: i128 = format!("{whole}{part}").parse().unwrap();
    (all, 10_i128.pow(part.len() as u32))
}

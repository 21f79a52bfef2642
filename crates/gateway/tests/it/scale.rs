//! A catalog of ten thousand models: how long it takes to build, load and change, what it takes of
//! memory, and that a lookup costs what it costs in a small one. `just catalog-scale` runs it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_catalog::{
    Attributes, Book, Document, Entry, GroupChoice, Limits, PriceClass, PricingContext, bound,
};
use trunkline_db::SystemClock;
use trunkline_gateway::{CatalogSnapshot, Change, ChangeAuthor, publish};
use trunkline_types::Clock as _;

use crate::random::{Dice, GROUPS};
use crate::test_gateway::TestGateway;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const MANY: usize = 10_000;
/// Rounds of every size, one after the other; the middle one counts.
const ROUNDS: usize = 9;
const LOOKUPS: u32 = 40_000;
/// Catalogs that are held at once to see what one takes.
const HELD: u64 = 4;
/// Changes of one price that are timed.
const CHANGED: u64 = 50;
/// Pricing a call at ten thousand models against ten.
const MOST_GROWTH: f64 = 1.5;

fn entries(count: usize) -> BTreeMap<String, Value> {
    let mut dice = Dice::new(7);
    let one = |number| {
        let mut model = dice.model(number);
        // So that every model is sold to every account.
        model.entry["groups"] = json!(["default", "odd", "third"]);
        model.entry["description"] = json!("What it is good for, in a sentence or two. ".repeat(6));
        model.entry["capabilities"] = json!(["text", "vision", "tools"]);
        (model.name, model.entry)
    };
    (0..count).map(one).collect()
}

fn document(entries: &BTreeMap<String, Value>) -> Document {
    let groups: BTreeMap<&str, Value> = GROUPS
        .iter()
        .map(|(name, rate)| (*name, json!({ "rate": rate })))
        .collect();
    let whole = json!({ "groups": groups, "auto_groups": ["default"], "models": entries });
    Document::from_json(&whole.to_string()).unwrap()
}

/// Kilobytes that this process has for itself.
fn memory_kb() -> u64 {
    let status = String::from_utf8(std::fs::read("/proc/self/status").unwrap()).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn middle(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

/// A model with its first price higher by one.
fn dearer(book: &Book, name: &str, by: u64) -> (String, Option<Entry>) {
    let mut entry = serde_json::to_value(book.model(name).unwrap().entry()).unwrap();
    let face = if entry["prices"]["billing_unit"] == "tokens" {
        "output"
    } else {
        "per_call"
    };
    // No tier may be cheaper than this one, so all of them rise.
    let raise = |faces: &mut Value| {
        if let Some(price) = faces[face].as_u64() {
            faces[face] = (price + by).into();
        }
    };
    raise(&mut entry["prices"]["standard"]);
    if let Some(Value::Array(tiers)) = entry["prices"].get_mut("tiers") {
        tiers
            .iter_mut()
            .for_each(|tier| raise(&mut tier["standard"]));
    }
    (
        name.to_owned(),
        Some(serde_json::from_value(entry).unwrap()),
    )
}

/// Nanoseconds at every size: of finding any of the models, whose memory is the colder the more there
/// are, and of pricing a call of one of ten models that are in all of the catalogs.
fn lookups() -> Vec<(usize, f64, f64)> {
    let books: Vec<(Book, Vec<String>)> = SIZES
        .iter()
        .map(|size| {
            let book = Book::check(document(&entries(*size))).unwrap();
            let names: Vec<String> = book.models().map(str::to_owned).collect();
            let mut dice = Dice::new(9);
            let picked = (0..2_048).map(|_| names[dice.below(*size as u64) as usize].clone());
            (book, picked.collect())
        })
        .collect();
    let same: Vec<String> = entries(SIZES[0]).into_keys().collect();
    let (attributes, at) = (Attributes::none(), SystemClock.now());
    let limits = Limits {
        input: 900,
        output: 400,
        calls: 1,
        video_seconds: 0,
    };
    let mut found = vec![Vec::new(); SIZES.len()];
    let mut priced = found.clone();
    for _ in 0..ROUNDS {
        for (place, (book, names)) in books.iter().enumerate() {
            let mut name = names.iter().cycle();
            let began = Instant::now();
            for _ in 0..LOOKUPS {
                black_box(book.model(black_box(name.next().unwrap())));
            }
            found[place].push(began.elapsed());
            let mut name = same.iter().cycle();
            let began = Instant::now();
            for _ in 0..LOOKUPS {
                let sale = book
                    .sale(name.next().unwrap(), GroupChoice::Named("odd"))
                    .unwrap();
                let situation = PricingContext {
                    attributes: &attributes,
                    at,
                };
                let most = bound(sale.offer(), PriceClass::Paid, &limits, situation);
                black_box(most.unwrap().total);
            }
            priced[place].push(began.elapsed());
        }
    }
    let each = |all: Vec<Duration>| middle(all).as_secs_f64() * 1e9 / f64::from(LOOKUPS);
    let both = found.into_iter().zip(priced);
    SIZES
        .into_iter()
        .zip(both)
        .map(|(size, (found, priced))| (size, each(found), each(priced)))
        .collect()
}

fn built() -> (Duration, Duration, u64) {
    let raw = entries(MANY);
    let mut times = Vec::new();
    let mut held = Vec::new();
    let mut before = 0;
    for number in 0..=HELD {
        let document = document(&raw);
        let began = Instant::now();
        held.push(Book::check(document).unwrap());
        times.push(began.elapsed());
        // The first one leaves behind what the allocator keeps of its making.
        if number == 0 {
            before = memory_kb();
        }
    }
    let whole_kb = memory_kb().saturating_sub(before) / HELD;
    let book = held.pop().unwrap();
    let name = book.models().nth(MANY / 2).unwrap().to_owned();
    let mut changes = Vec::new();
    for by in 1..=CHANGED {
        let change = dearer(&book, &name, by);
        let began = Instant::now();
        black_box(book.changed(None, [change]).unwrap());
        changes.push(began.elapsed());
    }
    (middle(times), middle(changes), whole_kb)
}

#[tokio::test]
#[ignore = "takes a minute of a quiet machine: just catalog-scale"]
async fn ten_thousand_models_are_built_loaded_and_found_as_ten_are() {
    let (whole, change, whole_kb) = built();
    println!("built from documents {whole:?}, one price on top {change:?}");
    println!("memory {whole_kb} kB");
    let harness = TestGateway::new().await;
    let raw = entries(MANY);
    let bytes: usize = raw.values().map(|entry| entry.to_string().len()).sum();
    let began = Instant::now();
    harness.sell_document(document(&raw)).await;
    println!(
        "published and followed, {} kB of JSON: {:?}",
        bytes / 1_024,
        began.elapsed()
    );
    let began = Instant::now();
    let catalog = CatalogSnapshot::load(&mut harness.data.session().await.unwrap())
        .await
        .unwrap();
    println!(
        "loaded {} models: {:?}",
        catalog.book.count(),
        began.elapsed()
    );
    let mut tx = harness.console.begin().await.unwrap();
    let signed = ChangeAuthor {
        author: "scale",
        note: "",
    };
    let began = Instant::now();
    let done = publish(&mut tx, signed, |before| Change {
        frame: None,
        models: [dearer(before, "sim-fast", 5)].into_iter().collect(),
    })
    .await;
    tx.finish(done).await.unwrap();
    println!("one price published: {:?}", began.elapsed());
    let began = Instant::now();
    harness.gateway.refresh().await.unwrap();
    println!("and followed by a node: {:?}", began.elapsed());
    let figures = lookups();
    let (_, first_found, first_priced) = figures[0];
    for (size, found, priced) in &figures {
        println!(
            "{size} models: found in {found:.0} ns ({:.2}), priced in {priced:.0} ns ({:.2})",
            found / first_found,
            priced / first_priced
        );
    }
    let (_, _, priced) = figures[figures.len() - 1];
    let growth = priced / first_priced;
    assert!(growth < MOST_GROWTH, "{growth}");
}

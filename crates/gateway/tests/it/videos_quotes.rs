//! Random videos of every model of the starter: the quote is the charge, and the charge is the price of
//! what the upstream was sent, worked out once more from that alone.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};
use trunkline_catalog::{Book, Entry, GroupChoice, PriceClass, PricingContext, quote, starter};
use trunkline_gateway::VideoJob;
use trunkline_generation::video::{
    BillableUnits, Container, KnownMedia, MediaFacts, Outbound, family_of,
};
use trunkline_types::Timestamp;

use crate::nodes::nanos;
use crate::pairs::number;
use crate::random::Dice;
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};
use crate::videos::{MONEY, generation_with, make, moved, quick};
use crate::videos_media::{file_bytes, links};

/// How many, and from where.
const CASES: &str = "TRUNKLINE_VIDEOS";
const SEED: &str = "TRUNKLINE_VIDEOS_SEED";
const USUAL_CASES: u64 = 300;
const USUAL_SEED: u64 = 20_261_115;
/// What links of this gateway begin with.
const OURS: &str = "http://127.0.0.1:8080";
const PNG: &str = "https://example.com/a.png";
const LENGTHS: [u64; 5] = [2, 3, 7, 10, 14];

/// Clips that can be measured, and clips behind authentication.
struct Clips {
    open: Vec<String>,
    closed: Vec<String>,
    /// What is at the open ones.
    bytes: Vec<Bytes>,
}

impl Clips {
    async fn of(harness: &TestGateway) -> Self {
        let mut bytes = Vec::new();
        for seconds in LENGTHS {
            bytes.push(file_bytes(harness, &format!("clip-{seconds}s.mp4")).await);
        }
        let host = harness.simulator.address();
        let named = |host: String| {
            let all = LENGTHS.iter();
            all.map(move |seconds| format!("http://{host}/_media/clip-{seconds}s.mp4"))
                .collect()
        };
        Self {
            open: named(host.to_string()),
            closed: named("10.0.0.1".to_owned()),
            bytes,
        }
    }

    fn pick(&self, dice: &mut Dice) -> Value {
        let from = if dice.percent(70) {
            &self.open
        } else {
            &self.closed
        };
        let place = dice.below(from.len() as u64) as usize;
        json!(from[place])
    }

    /// What the links of the last job lead to, where they are ours.
    async fn measured(&self, harness: &TestGateway) -> KnownMedia {
        let job = harness.simulator.video_jobs().pop().unwrap();
        let mut all = KnownMedia::default();
        for url in links(&job.body) {
            let Some(path) = url.strip_prefix(OURS) else {
                continue;
            };
            let sent = harness.get(path).await.body;
            let mut lengths = self.bytes.iter().zip(LENGTHS);
            let (_, seconds) = lengths.find(|(bytes, _)| **bytes == sent).unwrap();
            let one = MediaFacts {
                millis: Some(seconds * 1_000),
                container: Some(Container::Mp4),
                ..MediaFacts::default()
            };
            all = all.with(url, one);
        }
        all
    }
}

/// A request that its family mostly takes.
fn request(dice: &mut Dice, model: &str, family: &str, clips: &Clips) -> Value {
    let mut body = json!({ "model": model, "prompt": "a cat" });
    let mut metadata = words(dice, family);
    add_media(dice, family, clips, (&mut body, &mut metadata));
    let sizes: &[&str] = match family.split('_').next().unwrap() {
        "a" | "e" => &[
            "1280*720",
            "1920*1080",
            "960*960",
            "832*480",
            "1000*1000",
            "1280x720",
        ],
        "c" => &["1280x720", "720x1280", "1024x1024", "1280*720"],
        "d" => &["768P", "2K", "1080P", "512P"],
        _ => &["1280*720"],
    };
    if dice.percent(50) {
        body["size"] = json!(dice.pick(sizes));
    }
    if dice.percent(60) {
        let whole = family.starts_with("d_legacy");
        let any = 1 + dice.below(16);
        body["duration"] = json!(if whole { dice.pick(&[6, 10, 5]) } else { any });
    }
    if !metadata.is_empty() {
        body["metadata"] = Value::Object(metadata);
    }
    body
}

/// Scalar fields of `metadata`.
fn words(dice: &mut Dice, family: &str) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut tell = |dice: &mut Dice, chance: u64, name: &str, values: &[&str]| {
        if dice.percent(chance) {
            metadata.insert(name.to_owned(), json!(dice.pick(values)));
        }
    };
    match family {
        "b_2_5" | "b_2_0" => {
            tell(dice, 60, "resolution", &["480p", "720p", "1080p"]);
            tell(dice, 30, "ratio", &["16:9", "adaptive"]);
        }
        "c_standard" => {
            tell(dice, 60, "mode", &["std", "pro", "4k"]);
            tell(dice, 60, "sound", &["on", "off"]);
        }
        "c_multi" => {
            tell(dice, 70, "mode", &["std", "pro", "4k"]);
            tell(dice, 50, "sound", &["on", "off"]);
            tell(dice, 90, "aspect_ratio", &["16:9", "1:1"]);
            tell(dice, 60, "duration", &["3", "5", "15", "16"]);
        }
        "d_native" => tell(dice, 85, "ratio", &["16:9", "1:1"]),
        "d_legacy_fast" => tell(dice, 90, "first_frame_image", &[PNG]),
        "d_legacy" | "d_legacy_oldest" => tell(dice, 30, "first_frame_image", &[PNG]),
        _ => tell(dice, 10, "stranger", &["x"]),
    }
    if family == "c_value" && dice.percent(80) {
        let resolution = dice.pick(&["720p", "1080p"]);
        let settings = json!({ "resolution": resolution, "duration": 2 + dice.below(15) });
        metadata.insert("settings".to_owned(), settings);
    }
    metadata
}

/// Pictures and clips, where the family has a place for them and sometimes where it has not.
fn add_media(
    dice: &mut Dice,
    family: &str,
    clips: &Clips,
    (body, metadata): (&mut Value, &mut Map<String, Value>),
) {
    match family {
        "c_multi" if dice.percent(30) => {
            let kind = dice.pick(&["feature", "base"]);
            let clip = json!({ "video_url": clips.pick(dice), "refer_type": kind });
            metadata.insert("video_list".to_owned(), json!([clip]));
        }
        "b_2_5" | "b_2_0" if dice.percent(35) => {
            let part = json!({ "type": "video_url", "role": "reference_video",
                "video_url": { "url": clips.pick(dice) } });
            metadata.insert("content".to_owned(), json!([part]));
        }
        "a_reference" | "d_native" if dice.percent(40) => body["video_url"] = clips.pick(dice),
        "a_edit" => body["video_url"] = clips.pick(dice),
        _ => {}
    }
    let (frame, pictures) = match family {
        "a_image" | "e_image" | "e_reference" => (95, 5),
        "a_reference" => (30, 60),
        "d_native" => (10, 40),
        "b_2_5" | "b_2_0" => (20, 30),
        _ => (8, 8),
    };
    if dice.percent(frame) {
        body["input_reference"] = json!(PNG);
    }
    if dice.percent(pictures) {
        body["images"] = json!(vec![PNG; 1 + dice.below(8) as usize]);
    }
}

/// The bill of what a simulator was sent, from that alone.
fn billed(harness: &TestGateway, entry: &Entry, measured: &KnownMedia) -> (BillableUnits, u64) {
    let job = harness.simulator.video_jobs().pop().unwrap();
    let truth = harness.simulator.requests();
    let mut posts = truth.iter().rev().filter(|served| !served.body.is_empty());
    let path = posts.next().unwrap().path.clone();
    let endpoint = [
        "text2video",
        "image2video",
        "omni-video",
        "text-to-video",
        "image-to-video",
    ];
    let endpoint = endpoint
        .into_iter()
        .find(|word| path.contains(word))
        .unwrap_or_default();
    let (family, variant) = family_of(entry.specs.video_family.as_deref().unwrap()).unwrap();
    let sent = Outbound {
        protocol: String::new(),
        endpoint: endpoint.to_owned(),
        body: job.body.as_object().unwrap().clone(),
    };
    let bill = (family.bill)(variant, &sent, &entry.specs, measured);
    (
        bill.unwrap_or_else(|refusal| panic!("{refusal:?}: {}", job.body)),
        job.seconds,
    )
}

fn priced(book: &Book, model: &str, bill: &BillableUnits) -> i64 {
    let (_, offer) = book.offer(model, GroupChoice::Named("default")).unwrap();
    let unit = book.model(model).unwrap().list().billing_unit();
    let units = bill.usage().billed(unit).unwrap();
    let situation = PricingContext {
        attributes: &bill.attributes,
        at: Timestamp::from_micros(0),
    };
    quote(offer, PriceClass::Paid, &units, situation)
        .unwrap()
        .total
        .nanos()
}

// covers: D-2-40
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_quote_is_the_charge_and_the_charge_is_the_price_of_what_was_sent() {
    // Enough for the long form.
    let harness = generation_with(TestOptions {
        settings: quick(),
        paid: 1_000 * MONEY,
        ..TestOptions::default()
    })
    .await;
    let records = starter().unwrap();
    let book = Book::check(records.clone()).unwrap();
    let models: Vec<(&String, &Entry)> = records
        .models
        .iter()
        .filter(|(_, entry)| entry.specs.video_family.is_some())
        .collect();
    let clips = Clips::of(&harness).await;
    let (cases, seed) = (number(CASES, USUAL_CASES), number(SEED, USUAL_SEED));
    println!("{cases} cases from {SEED}={seed}");
    let mut dice = Dice::new(seed);
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut bounds, mut charged, mut sent) = (0_u64, 0_i64, 0_u64);
    for case in 0..cases {
        let (model, entry) = models[case as usize % models.len()];
        let family = entry.specs.video_family.as_deref().unwrap();
        let body = request(&mut dice, model, family, &clips);
        let ask = json!({ "endpoint": "videos", "body": body }).to_string();
        let quoted = harness
            .send(Method::POST, "/v1/quotes", Bytes::from(ask))
            .await;
        let quoted = GatewayResponse::read(quoted).await;
        let before = harness.simulator.video_jobs().len();
        let got = make(&harness, &body).await;
        sent += 2;
        if quoted.status != 200 {
            assert_eq!(
                (got.status, got.code()),
                (quoted.status, quoted.code()),
                "{body}"
            );
            assert_eq!(harness.simulator.video_jobs().len(), before, "{body}");
            continue;
        }
        assert_eq!(
            got.status,
            200,
            "quoted, and then refused: {body}: {}",
            got.text()
        );
        let quoted = quoted.json();
        let lines = quoted["lines"].as_array().unwrap().iter();
        let parts: i64 = lines.map(|line| nanos(&line["amount_usd"])).sum();
        assert_eq!(parts, nanos(&quoted["maximum_usd"]), "{body}: {quoted:#}");
        let id = got.json()["id"].as_str().unwrap().to_owned();
        let charge = moved(&harness, &id, "charge").await;
        assert_eq!(charge, nanos(&quoted["maximum_usd"]), "{body}");
        assert_eq!(
            json!(got.header("trunkline-cost-usd")),
            quoted["maximum_usd"]
        );
        let measured = clips.measured(&harness).await;
        let (bill, seconds) = billed(&harness, entry, &measured);
        assert_eq!(charge, priced(&book, model, &bill), "{body}: {bill:?}");
        assert_eq!(quoted["exact"], bill.exact, "{body}");
        // The simulator cuts nothing, and reads the length of a source from its name, which ours have not.
        if bill.exact && family != "a_edit" {
            assert_eq!(seconds, bill.output_seconds, "{body}");
        }
        bounds += u64::from(!bill.exact);
        charged += charge;
        *taken.entry(model).or_default() += 1;
        trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Poll)
            .await
            .unwrap();
    }
    println!("taken: {taken:?}, {bounds} bounds, {charged} nano-USD");
    assert_eq!(
        taken.len(),
        models.len(),
        "every model is sold at least once: {taken:?}"
    );
    assert!(bounds > 0);
    harness.audit().await;
    println!("figures: requests={sent}");
}

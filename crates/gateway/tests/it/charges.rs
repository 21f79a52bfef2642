//! Random calls, and what they may cost: the charge is the smallest of what was used, the money, the caps and
//! the caller's limits; leaving a stream at any frame costs no more than staying. Short in the gate; `just
//! charges` runs the long form.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use trunkline_ledger::accounts as ledger_accounts;
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_store::PolicyFields;
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Money, RequestId};

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{self, FormatPair, channel_for, charged, price};
use crate::keys::calls::below;
use crate::nodes::nanos;
use crate::pairs::number;
use crate::random::Dice;
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, account};

const CASES: &str = "TRUNKLINE_CHARGES";
const SEED: &str = "TRUNKLINE_CHARGES_SEED";
/// Of each of the two properties.
const SHORT_CASES: u64 = 1_000;
const AT_ONCE: u64 = 16;
const PLENTY: i64 = 1_000_000_000_000;
/// Texts that are more tokens than they look.
const TEXTS: [&str; 5] = [
    "word ",
    "\u{1f642}\u{1f680}",
    "\u{91cf}\u{5b50}\u{529b}\u{5b66}",
    "{\"a\":[1,2]} ",
    "0123456789 ",
];

fn seeded(name: &str) -> (Dice, u64) {
    let seed = number(SEED, u64::from_be_bytes(random_bytes()));
    println!("{name}, seed {seed}: {SEED}={seed} runs the same again");
    (Dice::new(seed), number(CASES, SHORT_CASES))
}

/// The row of a call, once it is over.
async fn ended(harness: &TestGateway, account: AccountId, id: &str) -> UsageRow {
    let request: RequestId = id.parse().unwrap();
    for _ in 0..3_000 {
        if let Some(row) = usage::find(&harness.data, account, request).await.unwrap() {
            return row;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} does not end");
}

/// A call whose upstream may lie, by a payer with little money and limits of several kinds.
#[derive(Debug)]
struct Spending {
    body: Value,
    wallet: i64,
    cap: Option<i64>,
    max_cost: Option<i64>,
    locks_quote: bool,
}

impl Spending {
    fn draw(dice: &mut Dice) -> Self {
        let text = dice.pick(&TEXTS).repeat(1 + dice.below(40) as usize);
        let tokens = dice.below(60);
        let hidden = dice.pick(&[0, 0, 20, 400]);
        let factor = dice.pick(&[1, 1, 3, 200, 1_000_000]);
        let prompt = format!(
            "{text} [[reasoning:{hidden}]] [[tokens:{tokens}]] [[fault:lying_usage:{factor}]]"
        );
        let mut body = json!({
            "model": "gemini-to-chat",
            "messages": [{ "role": "user", "content": prompt }],
            "max_tokens": 1 + dice.below(500),
            "stream": dice.percent(50),
        });
        if dice.percent(10) {
            body["n"] = json!(2);
        }
        let amount = |dice: &mut Dice| 100_000 + dice.below(20_000_000) as i64;
        Self {
            body,
            wallet: amount(dice),
            cap: dice.percent(40).then(|| amount(dice)),
            max_cost: dice.percent(40).then(|| amount(dice)),
            locks_quote: dice.percent(30),
        }
    }

    /// Calls, and compares the charge with the smallest of all that bounds it. One if it was served.
    async fn check(self, harness: Arc<TestGateway>) -> u64 {
        let payer = account(&harness.console, self.wallet, 0).await;
        let own = harness.key_of(payer, PolicyFields::default()).await;
        let key = match self.cap {
            None => own,
            Some(cap) => {
                let cap = Money::from_nanos(cap).to_string();
                below(&harness, &own, json!({ "cap_usd": cap })).await.0
            }
        };
        let to = (harness.address, key.as_str());
        let mut extra: Vec<(&'static str, String)> = Vec::new();
        if let Some(most) = self.max_cost {
            let most = Money::from_nanos(most).to_string();
            extra.push(("trunkline-max-cost-usd", most));
        }
        let mut maximum = None;
        if self.locks_quote {
            let ask = json!({ "endpoint": "chat", "body": self.body });
            let bytes = Bytes::from(ask.to_string());
            let quote = harness.send_as(to, Method::POST, "/v1/quotes", bytes, &[]);
            let quote = GatewayResponse::read(quote.await).await;
            let quote = quote.json();
            maximum = Some(nanos(&quote["maximum_usd"]));
            extra.push(("trunkline-quote", quote["id"].as_str().unwrap().to_owned()));
        }
        let extra: Vec<(&'static str, &str)> = extra
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        let path = "/v1/chat/completions";
        let bytes = Bytes::from(self.body.to_string());
        let answer = harness.send_as(to, Method::POST, path, bytes, &extra);
        let got = GatewayResponse::read(answer.await).await;
        let posted = async || {
            let balance = ledger_accounts::balance(&harness.data, payer).await;
            balance.unwrap().unwrap().paid.nanos()
        };
        if got.status == 402 {
            assert_eq!(posted().await, self.wallet, "{self:?}");
            return 0;
        }
        assert_eq!(got.status, 200, "{self:?}: {}", got.text());
        let row = ended(&harness, payer, &got.id()).await;
        let bounds = [
            Some(price(&row)),
            Some(self.wallet),
            self.cap,
            self.max_cost,
            maximum,
        ];
        let least = bounds.into_iter().flatten().min().unwrap();
        assert_eq!(charged(&row), least, "{self:?} {bounds:?} {row:?}");
        assert_eq!(posted().await, self.wallet - least, "{self:?}");
        1
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_is_the_smallest_of_usage_money_caps_and_limits() {
    let (mut dice, cases) = seeded("charges");
    let harness = Arc::new(format_pairs::harness(TestOptions::default()).await);
    let (mut done, mut served) = (0, 0);
    while done < cases {
        harness.gateway.refresh().await.unwrap();
        let mut running = JoinSet::new();
        for _ in 0..AT_ONCE.min(cases - done) {
            running.spawn(Spending::draw(&mut dice).check(Arc::clone(&harness)));
        }
        served += running.join_all().await.into_iter().sum::<u64>();
        done += AT_ONCE;
    }
    assert!(served * 4 > cases, "{served} of {cases} were served");
    harness.posted_at_rest().await;
    harness.audit().await;
    println!("figures: requests={cases}");
}

/// A stream that one client reads to its end and another one leaves.
#[derive(Debug)]
struct Leaving {
    pair: FormatPair,
    prompt: String,
    /// The record says that the model thinks; its upstream does not show it.
    thinks: bool,
    frames: usize,
}

impl Leaving {
    fn draw(dice: &mut Dice) -> Self {
        let tokens = 1 + dice.below(24);
        let cached = dice.pick(&[0, 0, 5, 60, 100_000]);
        let thinks = dice.percent(50);
        let hidden = if thinks { dice.below(3_000) } else { 0 };
        let words = dice.pick(&TEXTS).repeat(1 + dice.below(60) as usize);
        let pace = dice.below(4);
        let prompt = format!(
            "{words} [[cached:{cached}]] [[reasoning:{hidden}]] [[tokens:{tokens}]] [[pace:{pace}]]"
        );
        Self {
            pair: FormatPair {
                caller: dice.pick(&ClientFormat::ALL),
                upstream: dice.pick(&ClientFormat::ALL),
                stream: true,
            },
            prompt,
            thinks,
            frames: dice.below(tokens + 8) as usize,
        }
    }

    fn model(&self) -> String {
        let upstream = self.pair.upstream;
        if self.thinks {
            format!("gemini-hide-{upstream}")
        } else {
            self.pair.model()
        }
    }

    /// One call, left after so many frames; none for the end.
    async fn call(&self, harness: &TestGateway, frames: Option<usize>) -> UsageRow {
        let model = self.model();
        let params = CallParams {
            prompt: &self.prompt,
            stream: true,
            ..CallParams::default()
        };
        let body = self.pair.caller.body(&model, &params);
        let path = self.pair.caller.path(&model, true);
        let bytes = Bytes::from(body.to_string());
        let mut answer = harness.send(Method::POST, &path, bytes).await;
        assert_eq!(answer.status, 200, "{self:?}");
        let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
        let mut text = Vec::new();
        let seen = |text: &[u8]| text.windows(2).filter(|it| it == b"\n\n").count();
        while frames.is_none_or(|frames| seen(&text) < frames) {
            let Some(piece) = answer.piece().await.unwrap() else {
                break;
            };
            text.extend_from_slice(&piece);
        }
        drop(answer);
        ended(harness, harness.account, &id).await
    }

    async fn check(self, harness: Arc<TestGateway>) -> u64 {
        let stayed = self.call(&harness, None).await;
        assert_eq!(stayed.outcome, "complete", "{self:?}");
        let left = self.call(&harness, Some(self.frames)).await;
        let (cost, most) = (charged(&left), charged(&stayed));
        assert!(
            cost <= most,
            "{cost} > {most}: {self:?} {left:?} {stayed:?}"
        );
        if left.outcome != "client_gone" {
            return 0;
        }
        assert_eq!(cost, price(&left), "{self:?} {left:?}");
        // Google tells what it has used in every piece; the others at their end.
        if self.thinks && self.pair.upstream != ClientFormat::Gemini {
            assert_eq!((cost, left.estimated), (most, false), "{self:?} {left:?}");
        }
        assert!(cost > 0, "{self:?} {left:?}");
        1
    }
}

/// Models whose records say that they think, and whose upstreams do not show it.
async fn sell_hidden(harness: &TestGateway) {
    let faces = format_pairs::PRICES.map(|(face, price)| format!("{face} = {price}"));
    for speaks in ClientFormat::ALL {
        let name = format!("gemini-hide-{speaks}");
        let record = format!(
            "[models.{name}]\ngroups = [\"default\"]\ntasks = [\"chat\", \"reasoning\"]\n\
             endpoints = [\"openai\", \"anthropic\", \"openai-response\", \"gemini\"]\n\
             specs = {{ max_output_tokens = 20000 }}\n\
             [models.{name}.prices]\nbilling_unit = \"tokens\"\nstandard = {{ {} }}\n",
            faces.join(", ")
        );
        harness.sell(&record).await;
        let models = [(name.as_str(), "sim-fast")];
        let channel = format!("hidden {speaks}");
        channel_for(harness, &channel, speaks, &harness.simulator, 10, &models).await;
    }
}

// covers: D-2-46
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_at_any_frame_costs_no_more_than_staying() {
    let (mut dice, cases) = seeded("leaving");
    let harness = format_pairs::harness(TestOptions {
        paid: PLENTY,
        ..TestOptions::default()
    })
    .await;
    sell_hidden(&harness).await;
    let harness = Arc::new(harness);
    let (mut done, mut left) = (0, 0);
    while done < cases {
        harness.gateway.refresh().await.unwrap();
        let mut running = JoinSet::new();
        for _ in 0..AT_ONCE.min(cases - done) {
            running.spawn(Leaving::draw(&mut dice).check(Arc::clone(&harness)));
        }
        left += running.join_all().await.into_iter().sum::<u64>();
        done += AT_ONCE;
    }
    assert!(left * 10 > cases, "{left} of {cases} left");
    harness.posted_at_rest().await;
    harness.audit().await;
    println!("figures: requests={}", 2 * cases);
}

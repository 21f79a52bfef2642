//! Conversations of all sixteen pairs and relayed calls, whose upstreams may lie.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_simulator::RequestRecord;

use super::books::Books;
use super::payers::{Means, Payer};
use super::relayed::{self, sell_relayed};
use super::{Answered, Call, TEXTS, background, patient, seeded, spend};
use crate::assertions::price_of;
use crate::client_encode::{CallParams, ClientFormat, PNG};
use crate::format_pairs::{self, FormatPair};
use crate::random::Dice;
use crate::test_gateway::{TestGateway, TestOptions};

/// Of a hundred calls, those that are no conversations.
const RELAYED: u64 = 15;
/// Largest images of vendors, in pixels a side.
const LARGEST: [u32; 3] = [2_048, 8_000, 16_384];

/// A call by a payer with little money and limits of several kinds.
#[derive(Debug)]
struct Spending {
    /// Under what the simulator has it.
    marker: String,
    call: Call,
}

/// The same when it was answered.
#[derive(Debug)]
struct Spent {
    case: Spending,
    means: Means,
    payer: Payer,
    answered: Answered,
}

/// The head of a picture, which is what sizes are read from.
fn large_png(side: u32) -> String {
    let mut file = STANDARD.decode(PNG).unwrap();
    file[16..20].copy_from_slice(&side.to_be_bytes());
    file[20..24].copy_from_slice(&side.to_be_bytes());
    STANDARD.encode(file)
}

/// The smallest maximum that is answered: OpenAI's Responses refuse fewer than sixteen tokens. For a caller of
/// another format the gateway asks for as many.
fn least_answer(pair: FormatPair) -> u64 {
    let is_own = (pair.caller, pair.upstream) == (ClientFormat::Responses, ClientFormat::Responses);
    if is_own { 16 } else { 1 }
}

impl Spending {
    fn draw(dice: &mut Dice, number: usize) -> (Self, Means) {
        let marker = format!("spending-{number}");
        let call = if dice.percent(RELAYED) {
            relayed::draw(dice, &marker)
        } else {
            Self::conversation(dice, number, &marker)
        };
        let amount = |dice: &mut Dice| 100_000 + dice.below(40_000_000) as i64;
        let means = Means::draw(dice, 30, amount);
        (Self { marker, call }, means)
    }

    /// The pairs take turns.
    fn conversation(dice: &mut Dice, number: usize, marker: &str) -> Call {
        let pairs = FormatPair::all();
        let pair = pairs[number % pairs.len()];
        let text = dice.pick(&TEXTS).repeat(1 + dice.below(40) as usize);
        // Claude counts one token when a stream begins, and never fewer at its end.
        let tokens = 1 + dice.below(60);
        let hidden = dice.pick(&[0, 0, 20, 400]);
        let factor = dice.pick(&[1, 1, 3, 200, 1_000_000]);
        let prompt = format!(
            "{text} [[reasoning:{hidden}]] [[tokens:{tokens}]] [[fault:lying_usage:{factor}]] \
             [[id:{marker}]]"
        );
        let params = CallParams {
            prompt: &prompt,
            most: Some(least_answer(pair) + dice.below(500)),
            image: dice.percent(20),
            stream: pair.stream,
            ..CallParams::default()
        };
        let mut body = pair.caller.body(&pair.model(), &params);
        let is_chat = (pair.caller, pair.upstream) == (ClientFormat::Chat, ClientFormat::Chat);
        if dice.percent(50) && is_chat {
            body["n"] = json!(2);
        }
        if params.image && dice.percent(50) {
            let large = large_png(dice.pick(&LARGEST));
            body = serde_json::from_str(&body.to_string().replace(PNG, &large)).unwrap();
        }
        let model = pair.model();
        let bytes = Bytes::from(body.to_string());
        let mut quote = json!({ "endpoint": pair.caller.as_str(), "body": body });
        if pair.caller == ClientFormat::Gemini {
            // Its body does not name its model.
            quote["model"] = json!(model);
            quote["stream"] = json!(pair.stream);
        }
        Call {
            method: Method::POST,
            path: pair.caller.path(&model, pair.stream),
            content_type: None,
            body: bytes,
            quote,
        }
    }

    async fn go(self, means: Means, payer: Payer, harness: Arc<TestGateway>) -> Spent {
        let answered = self.call.send(means, &payer, &harness).await;
        Spent {
            case: self,
            means,
            payer,
            answered,
        }
    }
}

impl Spent {
    /// Compares the charge with the smallest of all that bounds it, and what was used with what the simulator has
    /// reported. True if it was served.
    fn check(&self, books: &Books, reported: &HashMap<String, RequestRecord>) -> bool {
        let spent = books.spent(&self.payer, self.means);
        let Some(request) = self.answered.request else {
            let (status, text) = (self.answered.status, &self.answered.text);
            assert_eq!((status, spent), (402, 0), "{text}: {self:?}");
            return false;
        };
        let row = books.row(request);
        let used = price_of(&row.units);
        let bounds = [Some(used), Some(self.means.least()), self.answered.maximum];
        let least = bounds.into_iter().flatten().min().unwrap();
        assert_eq!(row.charged, least, "{self:?} {bounds:?} {row:?}");
        assert_eq!(row.lost, used - least, "{self:?} {bounds:?} {row:?}");
        assert_eq!(spent, least, "{self:?} {row:?}");
        let sum = |faces: &[&str]| -> u64 {
            let units = faces.iter().map(|face| row.units[*face].as_u64());
            units.map(|count| count.unwrap_or(0)).sum()
        };
        let input = sum(&["input", "image_input", "audio_input", "cache_read"]);
        let output = sum(&["output", "image_output", "audio_output"]);
        let record = &reported[&self.case.marker];
        if row.outcome != "complete" {
            // The money has ended before the usage came: no more is counted than was written by then.
            assert_eq!(row.outcome, "balance_exhausted", "{self:?} {row:?}");
            let is_written = !row.estimated || output <= record.completion_tokens;
            assert!(is_written, "{self:?} {row:?} {record:?}");
            return true;
        }
        // A moderation reports no usage, and is counted.
        let billed = (!row.estimated).then_some((input, output));
        assert_eq!(record.told_usage, billed, "{self:?} {row:?}");
        true
    }
}

/// G-02, G-09: not the hold, not what is used, but the smallest of them, to the nano-dollar.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_is_the_smallest_of_usage_money_caps_and_limits() {
    let (mut dice, cases) = seeded("charges", 4);
    let harness = format_pairs::harness(TestOptions {
        ledger: patient(),
        ..TestOptions::default()
    });
    let harness = harness.await;
    sell_relayed(&harness).await;
    let harness = Arc::new(harness);
    let _background = background(&harness);
    let mut number = 0;
    let draw = || {
        number += 1;
        Spending::draw(&mut dice, number)
    };
    let all = spend(&harness, cases, draw, Spending::go).await;
    let books = Books::at_rest(&harness).await;
    let records = harness.simulator.requests().into_iter();
    let reported = records.filter_map(|it| Some((it.marker.clone()?, it)));
    let reported: HashMap<String, RequestRecord> = reported.collect();
    let served = all.iter().filter(|it| it.check(&books, &reported)).count();
    println!("{served} of {cases} were served");
    assert!(served * 4 > all.len(), "too few to say anything");
    println!("figures: requests={cases}");
}

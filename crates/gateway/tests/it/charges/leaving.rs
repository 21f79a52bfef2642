//! Streams that a client leaves at any frame: cached or not, with reasoning that is not shown.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use trunkline_gateway::Settings;
use trunkline_simulator::RequestRecord;
use trunkline_types::RequestId;
use uuid::Uuid;

use super::books::{Books, Row};
use super::payers::{Means, Payer, payers};
use super::{Running, TEXTS, background, patient, seeded, served_price};
use crate::assertions::price_of;
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{self, FormatPair, channel_for};
use crate::random::Dice;
use crate::test_gateway::{TestGateway, TestOptions};

const PLENTY: i64 = 1_000_000_000_000;
/// Times that each stream is left; another client stays.
const LEFT: u64 = 5;
/// Streams of one payer: above a dollar of untold input an hour, its streams are read to their ends.
const OF_A_PAYER: u64 = 20;
/// How long thoughts are waited for. Most streams take a tenth of a second.
const READ_ON: Duration = Duration::from_secs(2);
/// Slow streams take longer than that, from where they are left: in their first frames.
const SLOW_TOKENS: u64 = 60;
const SLOW_PACE: u64 = 50;
const SLOW_FRAMES: u64 = 12;

/// A stream that one client reads to its end and others leave.
#[derive(Debug)]
struct Leaving {
    number: u64,
    pair: FormatPair,
    prompt: String,
    /// The record says that the model thinks; its upstream does not show it.
    thinks: bool,
    /// Tokens of it.
    hidden: u64,
    /// After so many each.
    frames: Vec<usize>,
}

/// One call of it.
#[derive(Debug)]
struct Left {
    request: Uuid,
    marker: String,
}

/// The same when all clients are gone; the first one had stayed.
#[derive(Debug)]
struct Gone {
    case: Leaving,
    stayed: Left,
    left: Vec<Left>,
}

impl Leaving {
    /// The pairs take turns.
    fn draw(dice: &mut Dice, number: u64) -> Self {
        let pairs = FormatPair::streamed();
        let is_slow = dice.percent(3);
        let tokens = if is_slow {
            SLOW_TOKENS
        } else {
            1 + dice.below(24)
        };
        let cached = dice.pick(&[0, 0, 5, 60, 100_000]);
        let thinks = is_slow || dice.percent(50);
        let hidden = if thinks { dice.below(3_000) } else { 0 };
        let words = dice.pick(&TEXTS).repeat(1 + dice.below(60) as usize);
        let pace = if is_slow { SLOW_PACE } else { dice.below(4) };
        let last = if is_slow { SLOW_FRAMES } else { tokens + 8 };
        let frames = (0..LEFT).map(|_| dice.below(last) as usize);
        Self {
            number,
            pair: pairs[number as usize % pairs.len()],
            prompt: format!(
                "{words} [[cached:{cached}]] [[reasoning:{hidden}]] [[tokens:{tokens}]] [[pace:{pace}]]"
            ),
            thinks,
            hidden,
            frames: frames.collect(),
        }
    }

    /// One call, left after so many frames; none for the end. Its answer may begin with a comment.
    async fn call(
        &self,
        place: usize,
        frames: Option<usize>,
        key: &str,
        harness: &TestGateway,
    ) -> Left {
        let upstream = self.pair.upstream;
        let model = if self.thinks {
            format!("gemini-hide-{upstream}")
        } else {
            self.pair.model()
        };
        // All of one length, which counts.
        let marker = format!("leaving-{:06}-{place}", self.number);
        let params = CallParams {
            prompt: &format!("{} [[id:{marker}]]", self.prompt),
            stream: true,
            ..CallParams::default()
        };
        let body = self.pair.caller.body(&model, &params);
        let path = self.pair.caller.path(&model, true);
        let bytes = Bytes::from(body.to_string());
        let to = (harness.address, key);
        let mut answer = harness.send_as(to, Method::POST, &path, bytes, &[]).await;
        assert_eq!(answer.status, 200, "{self:?}");
        let id = answer.headers["x-request-id"].to_str().unwrap();
        let id: RequestId = id.parse().unwrap();
        let mut text = Vec::new();
        let seen = |text: &[u8]| text.windows(2).filter(|it| it == b"\n\n").count();
        while frames.is_none_or(|frames| seen(&text) < frames) {
            let Some(piece) = answer.piece().await.unwrap() else {
                break;
            };
            text.extend_from_slice(&piece);
        }
        Left {
            request: id.uuid(),
            marker,
        }
    }

    async fn go(self, payer: Payer, harness: Arc<TestGateway>) -> Gone {
        let stayed = self.call(0, None, &payer.key, &harness).await;
        let mut left = Vec::new();
        for (place, frames) in self.frames.iter().enumerate() {
            let one = self.call(place + 1, Some(*frames), &payer.key, &harness);
            left.push(one.await);
        }
        Gone {
            case: self,
            stayed,
            left,
        }
    }
}

impl Gone {
    /// How many had left before the end.
    fn check(&self, books: &Books, served: &HashMap<String, RequestRecord>) -> usize {
        let stayed = books.row(self.stayed.request);
        assert_eq!(stayed.outcome, "complete", "{self:?}");
        let truth = served_price(&served[&self.stayed.marker]);
        assert_eq!(stayed.charged, truth, "{self:?} {stayed:?}");
        let is_gone = |one: &&Left| {
            let (row, record) = (books.row(one.request), &served[&one.marker]);
            let (cost, most) = (row.charged, stayed.charged);
            assert!(cost <= most, "{cost} > {most}: {self:?} {row:?}");
            assert!(cost <= row.held, "{self:?} {row:?}");
            // A guess takes no money beyond the hold.
            let used = price_of(&row.units);
            let due = if row.estimated {
                used.min(row.held)
            } else {
                used
            };
            assert_eq!((cost, row.lost), (due, used - due), "{self:?} {row:?}");
            if row.outcome != "client_gone" {
                return false;
            }
            assert!(cost > 0, "{self:?} {row:?}");
            self.check_left(row, record);
            true
        };
        self.left.iter().filter(is_gone).count()
    }

    /// What was served, where its usage came within the bound; else an estimate of no more than that, which is
    /// marked.
    fn check_left(&self, row: &Row, record: &RequestRecord) {
        let truth = served_price(record);
        assert!(row.charged <= truth, "{self:?} {row:?} {record:?}");
        if row.estimated {
            // One that is cancelled at once may be in the socket already.
            let is_read = self.case.thinks && record.finished;
            assert!(!is_read, "{self:?} {row:?} {record:?}");
            return;
        }
        let is_told = record.told_usage.is_some();
        assert!(is_told, "{self:?} {row:?} {record:?}");
        if self.case.pair.upstream == ClientFormat::Gemini {
            // Google tells what it has used in every piece, and later pieces may be in the socket.
            let face = |name: &str| row.units[name].as_u64().unwrap_or(0);
            let input = (face("input") + face("cache_read"), face("cache_read"));
            let served = (record.prompt_tokens, record.cache_read_tokens);
            assert_eq!(input, served, "{self:?} {row:?} {record:?}");
            let output = self.case.hidden..=record.completion_tokens;
            assert!(
                output.contains(&face("output")),
                "{self:?} {row:?} {record:?}"
            );
        } else {
            assert_eq!(row.charged, truth, "{self:?} {row:?} {record:?}");
        }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_at_any_frame_costs_no_more_than_staying() {
    let (mut dice, cases) = seeded("leaving", 3);
    let harness = format_pairs::harness(TestOptions {
        settings: Settings {
            read_on: READ_ON,
            ..Settings::default()
        },
        ledger: patient(),
        ..TestOptions::default()
    })
    .await;
    sell_hidden(&harness).await;
    let harness = Arc::new(harness);
    let _background = background(&harness);
    let streams = cases.div_ceil(LEFT);
    let rich = streams.div_ceil(OF_A_PAYER) as usize;
    let payers = payers(&harness, vec![Means::only(PLENTY); rich].into_iter()).await;
    let mut running = Running::new();
    for number in 0..streams {
        let case = Leaving::draw(&mut dice, number);
        let payer = payers[(number / OF_A_PAYER) as usize].clone();
        running.add(case.go(payer, Arc::clone(&harness))).await;
    }
    let all = running.ended().await;
    let books = Books::at_rest(&harness).await;
    let records = harness.simulator.requests().into_iter();
    let served = records.filter_map(|it| Some((it.marker.clone()?, it)));
    let served: HashMap<String, RequestRecord> = served.collect();
    let gone: usize = all.iter().map(|it| it.check(&books, &served)).sum();
    println!("{gone} of {cases} left");
    assert!(gone as u64 * 10 > cases, "too few to say anything");
    println!("figures: requests={}", streams * (1 + LEFT));
}

//! Random calls, and what they may cost: the charge is the smallest of what was used, the money, the caps and
//! the caller's limits; leaving a stream at any frame costs no more than staying. All calls are made first, many
//! at once; then the books are read once and compared with every case. Short in the gate; `just charges` runs the
//! long form.

mod books;
mod leaving;
mod operations;
mod payers;
mod relayed;
mod sessions;
mod spending;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use trunkline_gateway::VideoJob;
use trunkline_ledger::LedgerSettings;
use trunkline_simulator::RequestRecord;
use trunkline_testkit::random_bytes;
use trunkline_types::{Money, RequestId};
use uuid::Uuid;

use crate::assertions::price_of;
use crate::nodes::nanos;
use crate::pairs::number;
use crate::random::Dice;
use crate::test_gateway::{GatewayResponse, TestGateway};
use payers::{Means, Payer, payers};

const CASES: &str = "TRUNKLINE_CHARGES";
const SEED: &str = "TRUNKLINE_CHARGES_SEED";
/// Of all properties together.
const SHORT_CASES: u64 = 2_000;
/// Cases in progress; the next one begins when any of them has ended.
const AT_ONCE: usize = 24;
/// Cases whose payers are made together: the gateway reads their keys once.
const BLOCK: usize = 250;
const REFRESH: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(100);
/// Texts that are more tokens than they look.
const TEXTS: [&str; 5] = [
    "word ",
    "\u{1f642}\u{1f680}",
    "\u{91cf}\u{5b50}\u{529b}\u{5b66}",
    "{\"a\":[1,2]} ",
    "0123456789 ",
];

/// A property's tenths of all cases.
fn seeded(name: &str, tenths: u64) -> (Dice, u64) {
    let seed = number(SEED, u64::from_be_bytes(random_bytes()));
    let cases = (number(CASES, SHORT_CASES) * tenths).div_ceil(10);
    println!("{name}: {cases} cases, seed {seed}: {SEED}={seed} runs the same again");
    (Dice::new(seed), cases)
}

/// A ledger that is waited for. A second is enough for a machine that has nothing else to do; these calls share
/// theirs with a compiler, and one that is refused because the processor was taken says nothing about money.
fn patient() -> LedgerSettings {
    LedgerSettings {
        admission_wait: Duration::from_secs(30),
        settlement_wait: Duration::from_secs(60),
        ..LedgerSettings::default()
    }
}

/// What a node does besides calls: it reads keys again, and asks vendors for its videos.
fn background(harness: &Arc<TestGateway>) -> AbortOnDropHandle<()> {
    let harness = Arc::clone(harness);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
    let task = tokio::spawn(async move {
        let mut refreshed = tokio::time::Instant::now();
        loop {
            if refreshed.elapsed() > REFRESH {
                harness.gateway.refresh().await.unwrap();
                refreshed = tokio::time::Instant::now();
            }
            let claimed = trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Poll);
            claimed.await.unwrap();
            tokio::time::sleep(POLL).await;
        }
    });
    AbortOnDropHandle::new(task)
}

/// Cases in progress, so many at once, and what has become of the others.
struct Running<Done> {
    tasks: JoinSet<Done>,
    done: Vec<Done>,
}

impl<Done: Send + 'static> Running<Done> {
    fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            done: Vec::new(),
        }
    }

    async fn add(&mut self, case: impl Future<Output = Done> + Send + 'static) {
        if self.tasks.len() >= AT_ONCE {
            let ended = self.tasks.join_next().await.unwrap();
            self.done.push(ended.unwrap());
        }
        self.tasks.spawn(case);
    }

    async fn ended(mut self) -> Vec<Done> {
        self.done.extend(self.tasks.join_all().await);
        self.done
    }
}

/// A request.
#[derive(Debug)]
struct Call {
    method: Method,
    path: String,
    /// Of a body that is not JSON.
    content_type: Option<String>,
    body: Bytes,
    /// How its quote names it.
    quote: Value,
}

/// What a request was answered.
#[derive(Debug)]
struct Answered {
    status: u16,
    /// Of an error.
    text: String,
    /// Under what the books have it.
    request: Option<Uuid>,
    /// Of its quote, where it had one.
    maximum: Option<i64>,
}

impl Call {
    /// Asks for a quote first, where the payer wants one.
    async fn send(&self, means: Means, payer: &Payer, harness: &TestGateway) -> Answered {
        let to = (harness.address, payer.key.as_str());
        let mut extra: Vec<(&'static str, String)> = Vec::new();
        if let Some(most) = means.max_cost {
            let most = Money::from_nanos(most).to_string();
            extra.push(("trunkline-max-cost-usd", most));
        }
        if let Some(kind) = &self.content_type {
            extra.push(("content-type", kind.clone()));
        }
        let mut maximum = None;
        if means.locks_quote {
            let bytes = Bytes::from(self.quote.to_string());
            let quote = harness.send_as(to, Method::POST, "/v1/quotes", bytes, &[]);
            let quote = GatewayResponse::read(quote.await).await;
            assert_eq!(quote.status, 200, "{self:?}: {}", quote.text());
            let quote = quote.json();
            maximum = Some(nanos(&quote["maximum_usd"]));
            extra.push(("trunkline-quote", quote["id"].as_str().unwrap().to_owned()));
        }
        let extra: Vec<(&'static str, &str)> = extra
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        let method = self.method.clone();
        let sent = harness.send_as(to, method, &self.path, self.body.clone(), &extra);
        let got = GatewayResponse::read(sent.await).await;
        Answered {
            status: got.status.as_u16(),
            request: got.status.is_success().then(|| self.request(&got)),
            text: if got.status.is_success() {
                String::new()
            } else {
                got.text()
            },
            maximum,
        }
    }

    /// Videos are in the books under the name of their task.
    fn request(&self, got: &GatewayResponse) -> Uuid {
        if self.path == "/v1/videos" {
            let id = got.json()["id"].as_str().unwrap().to_owned();
            return id.strip_prefix("task_").unwrap().parse().unwrap();
        }
        let id: RequestId = got.id().parse().unwrap();
        id.uuid()
    }
}

/// Draws cases in blocks, makes their payers, and has them all done.
async fn spend<Case, Done, Doing>(
    harness: &Arc<TestGateway>,
    cases: u64,
    mut draw: impl FnMut() -> (Case, Means),
    go: impl Fn(Case, Means, Payer, Arc<TestGateway>) -> Doing,
) -> Vec<Done>
where
    Done: Send + 'static,
    Doing: Future<Output = Done> + Send + 'static,
{
    let mut drawn: Vec<(Case, Means)> = (0..cases).map(|_| draw()).collect();
    let mut running = Running::new();
    while !drawn.is_empty() {
        let block: Vec<(Case, Means)> = drawn.drain(..drawn.len().min(BLOCK)).collect();
        let payers = payers(harness, block.iter().map(|(_, means)| *means)).await;
        for ((case, means), payer) in block.into_iter().zip(payers) {
            let case = go(case, means, payer, Arc::clone(harness));
            running.add(case).await;
        }
    }
    running.ended().await
}

/// What the simulator has served, at our prices.
fn served_price(record: &RequestRecord) -> i64 {
    let (read, written) = (record.cache_read_tokens, record.cache_written_5m_tokens);
    let units = json!({
        "input": record.prompt_tokens - read - written,
        "cache_read": read,
        "cache_write": written,
        "output": record.completion_tokens,
    });
    price_of(&units)
}

//! The fault matrix row by row, in every format: each fault strikes at its named step, once, and what
//! clients were told, what the upstream served and the books must agree afterwards. docs/dev/faults.md is the
//! index.
//!
//! Where a step can be met by many calls at once, every pair of a caller's format and an upstream's is
//! there; where only one call can be caught, every caller is, each with another upstream.

mod database;
mod disconnects;
mod index;
mod process;
mod standby;

use std::time::Duration;

use tokio::time::Instant;
use trunkline_simulator::RequestRecord;
use trunkline_testkit::all_at_once;
use trunkline_upstream::{BodyError, Client, SendError, UpstreamResponse};

use crate::faults::client_view::{ClientView, reported, words};
use crate::faults::formats::{CallParams, Pair};
use crate::faults::process_harness::{INPUT, MONEY, OUTPUT, ProcessHarness};

/// Longest wait for a step to be reached.
const STEP: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);
/// Largest body that a test reads.
const MOST: usize = 64_000_000;

/// One gateway and one client.
struct Scene {
    harness: ProcessHarness,
    client: Client,
}

/// A stream under way, and what has come of it.
struct Stream {
    pair: Pair,
    answer: UpstreamResponse,
    text: Vec<u8>,
}

impl Scene {
    fn new(harness: ProcessHarness) -> Self {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        Self { harness, client }
    }

    /// Sends a call whose prompt says how the upstream behaves, and waits for its head.
    async fn call(
        &self,
        pair: Pair,
        prompt: &str,
        stream: bool,
    ) -> Result<UpstreamResponse, SendError> {
        let params = CallParams {
            prompt,
            stream,
            most: 4_000,
        };
        let call = pair.call((self.harness.address, &self.harness.key), params);
        self.client.send(call).await
    }

    /// A call from beginning to end.
    async fn reported(&self, pair: Pair, prompt: &str, stream: bool) -> ClientView {
        match self.call(pair, prompt, stream).await {
            Ok(answer) => rest(pair, answer, stream).await,
            Err(_) => ClientView::Unknown,
        }
    }

    /// A stream that has said its first word.
    async fn stream(&self, pair: Pair, prompt: &str) -> Stream {
        let answer = self.call(pair, prompt, true).await.unwrap();
        let mut stream = Stream {
            pair,
            answer,
            text: Vec::new(),
        };
        stream.read_words(1).await;
        stream
    }

    /// Such a stream of every pair; each is marked with its pair's name.
    async fn streams(&self, prompt: &str) -> Vec<Stream> {
        let begun = Pair::all().into_iter().map(|pair| async move {
            let prompt = format!("[[id:{pair}]] {prompt}");
            self.stream(pair, &prompt).await
        });
        all_at_once(begun.collect()).await
    }

    async fn until_free(&self) {
        reached("nothing is held", async || {
            self.harness.balance().await.1 == 0
        })
        .await;
    }

    /// Waits until so many calls hold money.
    async fn until_held(&self, calls: usize) {
        let query = "SELECT count(*)::text FROM ledger.any_hold WHERE state = 'open'";
        let calls = calls.to_string();
        reached("money is held", async || {
            self.harness.postgres.ask(query).await == [calls.as_str()]
        })
        .await;
    }

    /// Waits until the upstream has this call.
    async fn until_asked(&self, marker: &str) {
        reached("the upstream is asked", async || {
            !self.served(marker).is_empty()
        })
        .await;
    }

    async fn until_served(&self, marker: &str) {
        reached("the upstream is done", async || {
            self.served(marker).iter().any(|served| served.finished)
        })
        .await;
    }

    /// Waits until the upstream is done with a call of every pair.
    async fn until_all_served(&self) {
        for pair in Pair::all() {
            self.until_served(&pair.to_string()).await;
        }
    }

    async fn until_struck(&self, before: usize) {
        let wire = self.harness.postgres.wire();
        reached("a commit is caught", async || wire.strikes() > before).await;
    }

    fn served(&self, marker: &str) -> Vec<RequestRecord> {
        let mut all = self.harness.simulator.requests();
        all.retain(|served| served.marker.as_deref() == Some(marker));
        all
    }

    fn price(&self, marker: &str) -> i64 {
        let served = self.served(marker);
        assert_eq!(served.len(), 1, "{served:?}");
        let of = |tokens: u64, each: i64| i64::try_from(tokens).unwrap() * each;
        of(served[0].prompt_tokens, INPUT) + of(served[0].completion_tokens, OUTPUT)
    }

    /// What one call of every pair costs.
    fn price_of_all(&self) -> i64 {
        let pairs = Pair::all().into_iter();
        pairs.map(|pair| self.price(&pair.to_string())).sum()
    }

    /// Outcome and charge of every call so far, oldest first.
    async fn usage(&self) -> Vec<String> {
        let query = "SELECT outcome || ' ' || (paid + trial) FROM ledger.usage ORDER BY request_id";
        self.harness.postgres.ask(query).await
    }

    /// Reasons of every loss that was noted.
    async fn losses(&self) -> Vec<String> {
        let query = "SELECT reason::text FROM ledger.write_off ORDER BY request_id";
        self.harness.postgres.ask(query).await
    }

    /// Every call so far was charged, each pair's once and exactly.
    async fn all_are_charged(&self) {
        let mut prices: Vec<String> = Pair::all()
            .into_iter()
            .map(|pair| format!("complete {}", self.price(&pair.to_string())))
            .collect();
        let mut usage = self.usage().await;
        prices.sort_unstable();
        usage.sort_unstable();
        assert_eq!(usage, prices);
    }

    /// After everything: nothing held, this much spent, and the books hold.
    async fn spent(&self, nanos: i64) {
        self.until_free().await;
        assert_eq!(self.harness.balance().await, (MONEY - nanos, 0));
        self.harness.audit().await;
    }

    /// The gateway serves, and charges what it serves.
    async fn serves_again(&self, marker: &str) -> i64 {
        let before = self.harness.balance().await.0;
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        assert_eq!(
            self.reported(Pair::CHAT, &prompt, true).await,
            ClientView::Complete
        );
        let after = self.harness.balance().await.0;
        assert_eq!(before - after, self.price(marker));
        before - after
    }
}

// === impl Stream ===

impl Stream {
    /// Reads until so many words have come.
    async fn read_words(&mut self, count: usize) {
        while words(self.pair.caller, true, &self.text) < count {
            let piece = self.answer.piece().await.unwrap();
            let piece = piece.unwrap_or_else(|| panic!("{}: {}", self.pair, self.text()));
            self.text.extend_from_slice(&piece);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// What its client knows when it has ended, or broken off.
    async fn ends(mut self) -> (Pair, ClientView) {
        match self.answer.whole(MOST).await {
            Ok(bytes) => {
                self.text.extend_from_slice(&bytes);
                (self.pair, reported(self.pair.caller, 200, true, &self.text))
            }
            Err(BodyError::Broken(_) | BodyError::Stalled | BodyError::TooLarge(_)) => {
                (self.pair, ClientView::Unknown)
            }
        }
    }
}

/// All of them end in this way.
async fn all_end(streams: Vec<Stream>, expected: &ClientView) {
    let ends = streams.into_iter().map(Stream::ends);
    for (pair, reported) in all_at_once(ends.collect()).await {
        assert_eq!(&reported, expected, "{pair}");
    }
}

/// What a client knows when an answer has ended, or broken off.
async fn rest(pair: Pair, mut answer: UpstreamResponse, stream: bool) -> ClientView {
    let status = answer.status.as_u16();
    match answer.whole(MOST).await {
        Ok(bytes) => reported(pair.caller, status, stream, &bytes),
        Err(BodyError::Broken(_) | BodyError::Stalled | BodyError::TooLarge(_)) => {
            ClientView::Unknown
        }
    }
}

async fn reached(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < STEP, "not reached: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

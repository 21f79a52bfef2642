//! The fault matrix row by row: each fault strikes at its named step, once, and what the client was
//! told, what the upstream served and the books must agree afterwards. docs/faults.md is the index.

mod database;
mod index;
mod process;
mod standby;

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use trunkline_simulator::Served;
use trunkline_upstream::{Answer, BodyError, Client, SendError};

use crate::arena::{Arena, INPUT, MONEY, OUTPUT};
use crate::load::{Told, outgoing, told};

/// Longest wait for a step to be reached.
const STEP: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);
/// Largest body that a test reads.
const MOST: usize = 64_000_000;

/// One gateway and one client.
struct Scene {
    arena: Arena,
    client: Client,
}

impl Scene {
    fn new(arena: Arena) -> Self {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        Self { arena, client }
    }

    /// Sends a call whose prompt says how the upstream behaves, and waits for its head.
    async fn call(&self, prompt: &str, stream: bool) -> Result<Answer, SendError> {
        let body = json!({
            "model": "sim-fast",
            "messages": [{ "role": "user", "content": prompt }],
            "stream": stream,
            "max_tokens": 4_000,
        });
        let call = outgoing(self.arena.address, &self.arena.key, &body.to_string());
        self.client.send(call).await
    }

    /// A call from beginning to end.
    async fn told(&self, prompt: &str, stream: bool) -> Told {
        match self.call(prompt, stream).await {
            Ok(answer) => rest(answer, stream).await,
            Err(_) => Told::Unknown,
        }
    }

    async fn until_held(&self) {
        reached("money is held", async || self.arena.balance().await.1 > 0).await;
    }

    async fn until_free(&self) {
        reached("nothing is held", async || {
            self.arena.balance().await.1 == 0
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

    async fn until_struck(&self, before: usize) {
        let wire = self.arena.postgres.wire();
        reached("a commit is caught", async || wire.strikes() > before).await;
    }

    fn served(&self, marker: &str) -> Vec<Served> {
        let mut all = self.arena.simulator.truth();
        all.retain(|served| served.marker.as_deref() == Some(marker));
        all
    }

    fn price(&self, marker: &str) -> i64 {
        let served = self.served(marker);
        assert_eq!(served.len(), 1, "{served:?}");
        let of = |tokens: u64, each: i64| i64::try_from(tokens).unwrap() * each;
        of(served[0].prompt_tokens, INPUT) + of(served[0].completion_tokens, OUTPUT)
    }

    /// Outcome and charge of every call so far, oldest first.
    async fn usage(&self) -> Vec<String> {
        let query = "SELECT outcome || ' ' || (paid + trial) FROM ledger.usage ORDER BY request_id";
        self.arena.postgres.ask(query).await
    }

    /// Reasons of every loss that was noted.
    async fn losses(&self) -> Vec<String> {
        let query = "SELECT reason::text FROM ledger.write_off ORDER BY request_id";
        self.arena.postgres.ask(query).await
    }

    /// After everything: nothing held, this much spent, and the books hold.
    async fn spent(&self, nanos: i64) {
        self.until_free().await;
        assert_eq!(self.arena.balance().await, (MONEY - nanos, 0));
        self.arena.audit().await;
    }

    /// The gateway serves, and charges what it serves.
    async fn serves_again(&self, marker: &str) -> i64 {
        let before = self.arena.balance().await.0;
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        assert_eq!(self.told(&prompt, true).await, Told::Complete);
        let after = self.arena.balance().await.0;
        assert_eq!(before - after, self.price(marker));
        before - after
    }
}

/// What a client knows when an answer has ended, or broken off.
async fn rest(mut answer: Answer, stream: bool) -> Told {
    let status = answer.status.as_u16();
    match answer.whole(MOST).await {
        Ok(bytes) => told(status, stream, &bytes),
        Err(BodyError::Broken(_) | BodyError::Stalled | BodyError::TooLarge(_)) => Told::Unknown,
    }
}

/// Reads until this word has come.
async fn read_until(answer: &mut Answer, word: &str) {
    let mut text = String::new();
    while !text.contains(word) {
        let piece = answer.piece().await.unwrap().expect("the stream goes on");
        text.push_str(&String::from_utf8_lossy(&piece));
    }
}

async fn reached(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < STEP, "not reached: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

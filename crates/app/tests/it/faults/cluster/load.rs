//! Callers that go on until they are told to stop, over all gateways, and write down what they were told.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use trunkline_testkit::{Postgres, random_bytes};
use trunkline_upstream::{Client, SendError};

use super::fixtures::{Customer, MODEL};
use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Format};

/// Between two calls of one caller, so that the machine has time for all callers.
const BREATH: Duration = Duration::from_millis(40);

/// What a caller knows of one call.
#[derive(Debug, Clone)]
pub(crate) struct CallRecord {
    pub(crate) id: Option<String>,
    pub(crate) reported: ClientView,
}

pub(crate) struct Callers {
    addresses: Vec<SocketAddr>,
    customers: Vec<Customer>,
    goes_on: AtomicBool,
    numbers: AtomicU64,
    complete: AtomicU64,
}

impl Callers {
    /// So many callers, each with one of the customers' keys.
    pub(crate) fn start(
        addresses: Vec<SocketAddr>,
        customers: Vec<Customer>,
        callers: usize,
    ) -> (Arc<Self>, JoinHandle<Vec<CallRecord>>) {
        let load = Arc::new(Self {
            addresses,
            customers,
            goes_on: AtomicBool::new(true),
            numbers: AtomicU64::new(0),
            complete: AtomicU64::new(0),
        });
        let own = Arc::clone(&load);
        #[expect(
            clippy::disallowed_methods,
            reason = "the test that starts the clients joins them"
        )]
        let running = tokio::spawn(async move {
            let mut running = JoinSet::new();
            for number in 0..callers {
                let load = Arc::clone(&own);
                running.spawn(async move { load.one(number).await });
            }
            running.join_all().await.into_iter().flatten().collect()
        });
        (load, running)
    }

    pub(crate) fn end(&self) {
        self.goes_on.store(false, Ordering::Relaxed);
    }

    /// Answers that were whole so far.
    pub(crate) fn complete(&self) -> u64 {
        self.complete.load(Ordering::Relaxed)
    }

    /// Waits until so many more answers were whole.
    pub(crate) async fn serves(&self, more: u64, within: Duration) {
        let (before, began) = (self.complete(), Instant::now());
        while self.complete() < before + more {
            let now = self.complete() - before;
            assert!(
                began.elapsed() < within,
                "only {now} of {more} calls were answered"
            );
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn one(&self, number: usize) -> Vec<CallRecord> {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let customer = number % self.customers.len();
        let mut history = Vec::new();
        while self.goes_on.load(Ordering::Relaxed) {
            let called = self.call(&client, customer).await;
            if called.reported == ClientView::Complete {
                self.complete.fetch_add(1, Ordering::Relaxed);
            }
            history.push(called);
            tokio::time::sleep(BREATH).await;
        }
        history
    }

    async fn call(&self, client: &Client, customer: usize) -> CallRecord {
        let [tokens, dice] = random_bytes::<2>();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let place = usize::try_from(number).unwrap() % self.addresses.len();
        let prompt = format!("[[tokens:{}]]", 1 + tokens % 20);
        let stream = dice.is_multiple_of(2);
        let params = CallParams {
            prompt: &prompt,
            stream,
            most: 32,
        };
        let to = (self.addresses[place], self.customers[customer].key.as_str());
        let mut called = CallRecord {
            id: None,
            reported: ClientView::Unknown,
        };
        let sent = client.send(Format::Chat.call(to, MODEL, params)).await;
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(SendError::NotSent(_) | SendError::Broken(_) | SendError::Silent) => return called,
        };
        let id = answer.headers.get("x-request-id");
        called.id = id.and_then(|id| Some(id.to_str().ok()?.to_owned()));
        // Without our id it is not ours: beyond a cut link another node may answer.
        if let (Some(_), Ok(bytes)) = (&called.id, answer.whole(1_000_000).await) {
            called.reported = reported(Format::Chat, answer.status.as_u16(), stream, &bytes);
        }
        called
    }
}

/// Usage rows by request: outcome and what was charged.
pub(crate) async fn rows(postgres: &Postgres) -> HashMap<String, (String, i64)> {
    let rows = "SELECT 'req_' || replace(request_id::text, '-', '') || ' ' || outcome || ' ' || (paid + trial)::text FROM ledger.usage";
    let parsed = postgres.ask(rows).await.into_iter().map(|row| {
        let words: Vec<&str> = row.split(' ').collect();
        (
            words[0].to_owned(),
            (words[1].to_owned(), words[2].parse().unwrap()),
        )
    });
    parsed.collect()
}

/// Whole answers were charged, failures were not; returns how many there were of each.
pub(crate) async fn judge(postgres: &Postgres, history: &[CallRecord]) -> (usize, usize, usize) {
    let rows = rows(postgres).await;
    let (mut complete, mut failed, mut unknown) = (0, 0, 0);
    for called in history {
        let row = called.id.as_ref().and_then(|id| rows.get(id));
        match &called.reported {
            ClientView::Complete => {
                // A stream whose budget ran out ends as at its length: it is whole, and paid as far as it went.
                let ends = ["complete", "balance_exhausted"];
                let charged = row
                    .is_some_and(|(outcome, paid)| ends.contains(&outcome.as_str()) && *paid > 0);
                assert!(
                    charged,
                    "an answer that was whole is not in the books: {called:?} {row:?}"
                );
                complete += 1;
            }
            ClientView::Failed(_) => {
                let free = row.is_none_or(|(_, paid)| *paid == 0);
                assert!(free, "a failure was charged: {called:?} {row:?}");
                failed += 1;
            }
            ClientView::Unknown | ClientView::Left => unknown += 1,
            ClientView::Nonsense(text) => panic!("neither an answer nor an error: {text}"),
        }
    }
    (complete, failed, unknown)
}

/// How often each failure was told.
pub(crate) fn codes(history: &[CallRecord]) -> HashMap<String, usize> {
    let mut codes = HashMap::new();
    for called in history {
        if let ClientView::Failed(code) = &called.reported {
            *codes.entry(code.clone()).or_default() += 1;
        }
    }
    codes
}

//! Clients that call without a pause, each time in another format, and write down what they were told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use trunkline_testkit::random_bytes;
use trunkline_upstream::{Client, SendError};

use crate::faults::client_view::{ClientView, reported, words};
use crate::faults::formats::{CallParams, Pair};

/// Upstream faults that a prompt may ask for; each must cost nothing.
const FAULTS: [&str; 8] = [
    "close_before_headers",
    "status:500",
    "status:503",
    "truncated_json",
    "error_inside200",
    "close_mid_stream:2",
    "garbage_frame:2",
    "error_frame_mid_stream:2",
];

const BETWEEN_TRIES: Duration = Duration::from_millis(30);

/// What a client knows about a call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) marker: String,
    /// The format it speaks, and the one its upstream does.
    pub(crate) pair: Pair,
    pub(crate) stream: bool,
    /// The gateway's id, if its head arrived.
    pub(crate) id: Option<String>,
    pub(crate) reported: ClientView,
    /// The most it could have cost, nano-USD.
    pub(crate) most: i64,
    /// From when to when its client was busy with it.
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

pub(crate) struct Load {
    address: SocketAddr,
    key: String,
    left: AtomicU64,
    goes_on: AtomicBool,
    numbers: AtomicU64,
}

impl Load {
    pub(crate) fn new(address: SocketAddr, key: &str, calls: u64) -> Arc<Self> {
        Arc::new(Self {
            address,
            key: key.to_owned(),
            left: AtomicU64::new(calls),
            goes_on: AtomicBool::new(true),
            numbers: AtomicU64::new(0),
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// No more calls than were asked for.
    pub(crate) fn end(&self) {
        self.goes_on.store(false, Ordering::Relaxed);
    }

    /// Runs so many clients until all calls are made.
    pub(crate) async fn run(self: Arc<Self>, clients: usize) -> Vec<Call> {
        let mut running = JoinSet::new();
        for _ in 0..clients {
            let load = Arc::clone(&self);
            running.spawn(async move { load.client().await });
        }
        let histories = running.join_all().await;
        histories.into_iter().flatten().collect()
    }

    async fn client(&self) -> Vec<Call> {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let mut history = Vec::new();
        let take = |left: u64| left.checked_sub(1);
        while self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
            || self.goes_on.load(Ordering::Relaxed)
        {
            let mut call = self.call(&client).await;
            call.ended = Instant::now();
            history.push(call);
        }
        history
    }

    async fn call(&self, client: &Client) -> Call {
        let dice: [u8; 5] = random_bytes();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let marker = format!("m{number}");
        let tokens = u64::from(dice[0] % 60) + 1;
        let stream = dice[1].is_multiple_of(2);
        let fault = match dice[2] {
            0..26 => format!("[[fault:{}]]", FAULTS[usize::from(dice[2]) % FAULTS.len()]),
            _ => String::new(),
        };
        let leaves = stream && dice[3] < 16;
        let pace = dice[3] % 4;
        let prompt = format!("[[id:{marker}]] [[tokens:{tokens}]] [[pace:{pace}]] {fault}");
        let params = CallParams {
            prompt: &prompt,
            stream,
            most: 64,
        };
        let pair = Pair::numbered(usize::from(dice[4]));
        let mut call = Call {
            marker,
            pair,
            stream,
            id: None,
            reported: ClientView::Unknown,
            most: 1_000_000,
            began: Instant::now(),
            ended: Instant::now(),
        };
        let mut answer = loop {
            match client
                .send(pair.call((self.address, &self.key), params))
                .await
            {
                Ok(answer) => break answer,
                // No node is there: a real client would wait, and nothing has left it yet.
                Err(SendError::NotSent(_)) => tokio::time::sleep(BETWEEN_TRIES).await,
                Err(SendError::Broken(_) | SendError::Silent) => return call,
            }
        };
        let id = answer.headers.get("x-request-id");
        call.id = id.and_then(|id| Some(id.to_str().ok()?.to_owned()));
        if leaves && answer.status == 200 {
            drop(answer.piece().await);
            call.reported = ClientView::Left;
            return call;
        }
        let Ok(bytes) = answer.whole(10_000_000).await else {
            return call;
        };
        call.reported = reported(pair.caller, answer.status.as_u16(), stream, &bytes);
        let words = words(pair.caller, stream, &bytes);
        if call.reported == ClientView::Complete && u64::try_from(words).unwrap() != tokens {
            call.reported =
                ClientView::Nonsense(format!("{words} words of {tokens} are called whole"));
        }
        call
    }
}

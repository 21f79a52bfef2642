//! Customers who listen to their events over whichever gateway answers, and come back with the last id
//! they saw.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_db::{Database, SystemClock, events};
use trunkline_testkit::random_bytes;
use trunkline_types::{Clock as _, RequestId, Topic};
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use super::fixtures::Customer;

/// Longer than the pause between two signs of life.
const SILENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// What one listener heard.
#[derive(Debug, Default)]
pub(crate) struct ReceivedEvents {
    /// Numbers of its own account's events, in the order in which they came.
    pub(crate) numbers: Vec<i64>,
    /// How often it came back.
    pub(crate) returns: u64,
}

pub(crate) struct EventReaders {
    addresses: Vec<SocketAddr>,
    goes_on: AtomicBool,
    received: AtomicU64,
}

impl EventReaders {
    /// One listener for each customer.
    pub(crate) fn start(
        addresses: Vec<SocketAddr>,
        customers: &[Customer],
    ) -> (Arc<Self>, JoinSet<(usize, ReceivedEvents)>) {
        let readers = Arc::new(Self {
            addresses,
            goes_on: AtomicBool::new(true),
            received: AtomicU64::new(0),
        });
        let mut running = JoinSet::new();
        for (number, customer) in customers.iter().enumerate() {
            let (own, key) = (Arc::clone(&readers), customer.key.clone());
            running.spawn(async move { (number, own.listen(number, &key).await) });
        }
        (readers, running)
    }

    /// Events that were heard so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Waits until so many were heard in all, then disconnects all readers.
    pub(crate) async fn until(&self, events: u64, within: Duration) {
        let began = Instant::now();
        while self.received() < events && began.elapsed() < within {
            tokio::time::sleep(PAUSE).await;
        }
        self.goes_on.store(false, Ordering::Relaxed);
    }

    async fn listen(&self, number: usize, key: &str) -> ReceivedEvents {
        let client = Client::new(Duration::from_secs(2)).unwrap();
        let (mut received, mut last) = (ReceivedEvents::default(), None);
        let mut place = number;
        while self.goes_on.load(Ordering::Relaxed) {
            let address = self.addresses[place % self.addresses.len()];
            place += 1;
            self.one_connection(&client, (address, key), &mut received, &mut last)
                .await;
            received.returns += 1;
            tokio::time::sleep(PAUSE).await;
        }
        received
    }

    async fn one_connection(
        &self,
        client: &Client,
        (address, key): (SocketAddr, &str),
        received: &mut ReceivedEvents,
        last: &mut Option<String>,
    ) {
        let from = if last.is_none() { "?from=start" } else { "" };
        let mut headers = HeaderMap::new();
        let bearer = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        headers.insert(AUTHORIZATION, bearer);
        if let Some(last) = last {
            headers.insert("last-event-id", HeaderValue::from_str(last).unwrap());
        }
        let ask = Outgoing {
            method: Method::GET,
            uri: format!("http://{address}/v1/events{from}").parse().unwrap(),
            headers,
            body: bytes::Bytes::new().into(),
            deadlines: Deadlines {
                first_byte: Duration::from_secs(5),
                idle: SILENCE,
                total: Duration::from_secs(3_600),
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let Ok(mut answer) = client.send(ask).await else {
            return;
        };
        if answer.status != 200 {
            return;
        }
        let (mut text, mut spoke) = (String::new(), Instant::now());
        while self.goes_on.load(Ordering::Relaxed) {
            let piece = tokio::time::timeout(PAUSE, answer.piece());
            match piece.await {
                // Nothing yet: look whether a waiter is left, and whether the server sends.
                Err(_) if spoke.elapsed() < SILENCE => continue,
                Err(_) | Ok(Err(_) | Ok(None)) => return,
                Ok(Ok(Some(piece))) => text.push_str(&String::from_utf8_lossy(&piece)),
            }
            spoke = Instant::now();
            while let Some(end) = text.find("\n\n") {
                let event: String = text.drain(..end + 2).collect();
                self.hear(&event, received, last);
            }
        }
    }

    fn hear(&self, event: &str, received: &mut ReceivedEvents, last: &mut Option<String>) {
        let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let (Some(data), Some(id)) = (line("data: "), line("id: ")) else {
            return;
        };
        let body: Value = serde_json::from_str(data).unwrap();
        assert_ne!(line("event: "), Some("stream.gap"), "{event}");
        *last = Some(id.to_owned());
        if line("event: ") == Some("call.refunded") {
            received.numbers.push(body["seq"].as_i64().unwrap());
            self.received.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes events for every customer in turn, a few in each transaction, as fast as it is told.
pub(crate) async fn tell(data: &Database, customers: &[Customer], each: u64, pause: Duration) {
    for round in 0..each {
        for customer in customers {
            let event = events::NewEvent {
                id: RequestId::new(SystemClock.now(), random_bytes()).uuid(),
                account: customer.account,
                topic: Topic::CallRefunded,
                task: None,
                body: json!({ "round": round }),
            };
            let mut tx = data.begin().await.unwrap();
            let written = events::append(&mut tx, &[event]).await;
            tx.finish(written).await.unwrap();
        }
        tokio::time::sleep(pause).await;
    }
}

/// Every number once, in order, from the first to the last.
pub(crate) fn check(received: &[(usize, ReceivedEvents)], each: u64) {
    let all: Vec<i64> = (1..=i64::try_from(each).unwrap()).collect();
    for (customer, received) in received {
        let first_wrong = received
            .numbers
            .iter()
            .zip(&all)
            .find(|(is, should)| is != should);
        assert_eq!(
            received.numbers.len(),
            all.len(),
            "customer {customer} heard {} of {} events, first wrong {first_wrong:?}",
            received.numbers.len(),
            all.len()
        );
        assert_eq!(first_wrong, None, "customer {customer}");
    }
}

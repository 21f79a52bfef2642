//! A rolling restart: gateways are stopped and started one by one while calls run and streams are open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use trunkline_testkit::privileged;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol, SendError, UpstreamResponse};

use super::fixtures::{Customer, MODEL};
use super::{Cluster, ClusterOptions};
use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::{CallParams, Format};
use crate::faults::number;
use crate::faults::process_harness::{MONEY, audit_of};

const STREAMS: &str = "TRUNKLINE_CLUSTER_STREAMS";
const LOOK: Duration = Duration::from_millis(300);
/// A new call of each caller.
const EVERY: Duration = Duration::from_millis(250);
const CALLERS: usize = 8;
/// Frames of an open stream, and the pause between two: longer than one restart.
const FRAMES: u64 = 60;
const PACE_MS: u64 = 300;

/// What a load balancer does: asks who is ready, and sends calls there.
struct Balancer {
    addresses: Vec<SocketAddr>,
    ready: Vec<AtomicBool>,
    turn: AtomicUsize,
    goes_on: AtomicBool,
    client: Client,
}

impl Balancer {
    fn new(addresses: Vec<SocketAddr>) -> Arc<Self> {
        Arc::new(Self {
            ready: addresses.iter().map(|_| AtomicBool::new(true)).collect(),
            addresses,
            turn: AtomicUsize::new(0),
            goes_on: AtomicBool::new(true),
            client: Client::new(Duration::from_secs(2)).unwrap(),
        })
    }

    async fn watch(&self) {
        while self.goes_on.load(Ordering::Relaxed) {
            for (address, ready) in self.addresses.iter().zip(&self.ready) {
                let answered = self.client.send(question(*address)).await;
                ready.store(
                    answered.is_ok_and(|answer| answer.status == 200),
                    Ordering::Relaxed,
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Sends a call to a node that is ready; one that was not taken goes to the next.
    async fn send(
        &self,
        customer: &Customer,
        params: CallParams<'_>,
    ) -> Result<UpstreamResponse, SendError> {
        let mut last = SendError::Silent;
        for _ in 0..10 * self.addresses.len() {
            let place = self.turn.fetch_add(1, Ordering::Relaxed) % self.addresses.len();
            if !self.ready[place].load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
            let to = (self.addresses[place], customer.key.as_str());
            match self.client.send(Format::Chat.call(to, MODEL, params)).await {
                Err(error @ SendError::NotSent(_)) => last = error,
                other @ (Ok(_) | Err(_)) => return other,
            }
        }
        Err(last)
    }

    async fn calls(&self, customer: &Customer) -> usize {
        let mut made = 0;
        while self.goes_on.load(Ordering::Relaxed) {
            let stream = made % 2 == 0;
            let params = CallParams {
                prompt: "[[tokens:3]]",
                stream,
                most: 16,
            };
            let mut answer = self
                .send(customer, params)
                .await
                .expect("a new call is taken");
            let bytes = answer.whole(100_000).await.expect("it is answered");
            let received = reported(Format::Chat, answer.status.as_u16(), stream, &bytes);
            assert_eq!(received, ClientView::Complete, "call {made}");
            made += 1;
            tokio::time::sleep(EVERY).await;
        }
        made
    }

    async fn stream(&self, customer: &Customer) -> ClientView {
        let prompt = format!("[[tokens:{FRAMES}]] [[pace:{PACE_MS}]]");
        let params = CallParams {
            prompt: &prompt,
            stream: true,
            most: 100,
        };
        let mut answer = self
            .send(customer, params)
            .await
            .expect("a stream is taken");
        match answer.whole(1_000_000).await {
            Ok(bytes) => reported(Format::Chat, answer.status.as_u16(), true, &bytes),
            Err(_) => ClientView::Unknown,
        }
    }
}

fn question(address: SocketAddr) -> Outgoing<'static> {
    let soon = Duration::from_secs(2);
    Outgoing {
        method: http::Method::GET,
        uri: format!("http://{address}/readyz").parse().unwrap(),
        headers: http::HeaderMap::new(),
        body: bytes::Bytes::new().into(),
        deadlines: Deadlines {
            first_byte: soon,
            idle: soon,
            total: soon,
        },
        proxy: None,
        protocol: Protocol::Http1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_new_call_and_cuts_no_stream() {
    if !privileged().await {
        return;
    }
    let mut the_cluster = Cluster::new(ClusterOptions::default()).await;
    let streams = number(STREAMS, 200);
    let customer = the_cluster.customer(MONEY).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let balancer = Balancer::new(the_cluster.addresses());
    let watching = Arc::clone(&balancer);
    #[expect(clippy::disallowed_methods, reason = "it is joined below")]
    let watching = tokio::spawn(async move { watching.watch().await });
    let mut open = JoinSet::new();
    for _ in 0..streams {
        let (balancer, customer) = (Arc::clone(&balancer), customer.clone());
        open.spawn(async move { balancer.stream(&customer).await });
    }
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (balancer, customer) = (Arc::clone(&balancer), customer.clone());
        callers.spawn(async move { balancer.calls(&customer).await });
    }
    // All streams are open before the first gateway goes.
    tokio::time::sleep(Duration::from_secs(4)).await;
    for number in 0..the_cluster.gateways.len() {
        the_cluster.gateways[number].stop().await;
        the_cluster.gateways[number].start().await;
        // Until the balancer has seen it.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let ends = open.join_all().await;
    balancer.goes_on.store(false, Ordering::Relaxed);
    let made: usize = callers.join_all().await.into_iter().sum();
    watching.await.unwrap();
    let whole = ends
        .iter()
        .filter(|end| **end == ClientView::Complete)
        .count();
    println!("{made} new calls and {whole} of {streams} streams were whole over three restarts");
    assert_eq!(
        whole,
        ends.len(),
        "{ends:?}\n{}",
        the_cluster.logs("under way")
    );
    assert!(made > 50);
    the_cluster.settled().await;
    audit_of(&the_cluster.postgres).await;
    println!("figures: requests={}", made + whole);
}

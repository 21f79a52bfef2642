//! Limits over several gateways: one Redis, and none. Channels too have limits over all of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::Value;
use tokio::sync::watch;
use trunkline_db::SystemClock;
use trunkline_limits::{Limits, Mode, RedisSettings};
use trunkline_store::PolicyFields;
use trunkline_store::channels::{self, ChannelId, ChannelState};
use trunkline_testkit::Redis;
use trunkline_types::Secret;

use crate::nodes::Node;
use crate::test_gateway::{
    ChannelOptions, GatewayResponse, TestGateway, TestOptions, ask, ask_streaming,
};

const CHAT: &str = "/v1/chat/completions";
const HANGS: &str = "[[fault:hang_mid_stream:1]] hello";

/// Counters of a node on a Redis.
async fn counters(url: String, name: &str, timeout: Duration) -> (Limits, watch::Sender<bool>) {
    let settings = RedisSettings {
        timeout,
        ..RedisSettings::new(Secret::new(url), name)
    };
    let (limits, keeper) = Limits::redis(settings).unwrap();
    let (stop, stopped) = watch::channel(false);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(keeper.run(stopped));
    becomes(&limits, Mode::Shared).await;
    (limits, stop)
}

async fn becomes(limits: &Limits, mode: Mode) {
    for _ in 0..3_000 {
        if limits.mode() == mode {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("limits are never counted by {}", mode.as_str());
}

/// Two gateways on one database and one Redis.
struct TwoGateways {
    harness: TestGateway,
    second: Node,
    _stops: [watch::Sender<bool>; 2],
    _redis: Redis,
}

impl TwoGateways {
    async fn start() -> Self {
        let redis = Redis::start().await;
        let patient = Duration::from_secs(5);
        let (first, stop) = counters(redis.url(), "n1", patient).await;
        let (second, other_stop) = counters(redis.url(), "n2", patient).await;
        first.set_nodes(2);
        second.set_nodes(2);
        let harness = TestGateway::build(TestOptions {
            limits: first,
            ..TestOptions::default()
        })
        .await;
        let clock = Arc::new(SystemClock);
        let second = harness.second_node_counting(clock, second).await;
        Self {
            harness,
            second,
            _stops: [stop, other_stop],
            _redis: redis,
        }
    }

    async fn refresh(&self) {
        self.harness.gateway.refresh().await.unwrap();
        self.second.gateway.refresh().await.unwrap();
    }

    async fn chat(
        &self,
        which: usize,
        key: &str,
        body: &Value,
    ) -> trunkline_upstream::UpstreamResponse {
        let address = [self.harness.address, self.second.address][which];
        let body = Bytes::from(body.to_string());
        self.harness
            .send_as((address, key), Method::POST, CHAT, body, &[])
            .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gateways_give_one_key_its_limit_once() {
    let two = TwoGateways::start().await;
    let fields = PolicyFields {
        requests_per_minute: Some(10),
        concurrent_calls: Some(3),
        ..PolicyFields::default()
    };
    let key = two.harness.make_key(fields).await;
    two.refresh().await;
    let mut served = 0;
    for turn in 0..16 {
        let got = GatewayResponse::read(two.chat(turn % 2, &key, &ask("hello")).await).await;
        served += usize::from(got.status == 200);
        if got.status == 429 {
            assert_eq!(got.code(), "rate_limit_exceeded");
        }
    }
    assert_eq!(served, 10);
    let other = two
        .harness
        .make_key(PolicyFields {
            concurrent_calls: Some(3),
            ..PolicyFields::default()
        })
        .await;
    two.refresh().await;
    let mut held = Vec::new();
    for turn in 0..8 {
        let answer = two.chat(turn % 2, &other, &ask_streaming(HANGS)).await;
        if answer.status == 200 {
            held.push(answer);
        }
    }
    assert_eq!(held.len(), 3, "calls at once are exact over both");
    two.harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_is_asked_no_more_than_it_allows_over_both_gateways() {
    let two = TwoGateways::start().await;
    let harness = &two.harness;
    let base = harness.simulator.base_url();
    let options = |requests, at_once| ChannelOptions {
        priority: 0,
        requests_per_minute: requests,
        concurrent_calls: at_once,
        ..ChannelOptions::default()
    };
    // Before the harness's own, which has no limits.
    let models = [("sim-fast", "sim-fast")];
    harness
        .channel_with("narrow", &base, &models, options(Some(4), None))
        .await;
    two.refresh().await;
    for turn in 0..10 {
        let got =
            GatewayResponse::read(two.chat(turn % 2, &harness.key, &ask("hello")).await).await;
        assert_eq!(got.status, 200, "another channel serves: {}", got.text());
    }
    let sql = "SELECT count(*)::text FROM ledger.usage AS u, app.channel AS c
        WHERE c.name = 'narrow' AND u.attempts @> jsonb_build_array(jsonb_build_object('channel', c.id))";
    assert_eq!(harness.db.ask(sql).await, ["4"]);
    // A model that only a full channel serves.
    let only = [("sim-reason", "sim-reason")];
    let first = harness
        .db
        .ask("SELECT id::text FROM app.channel WHERE name = 'first'")
        .await;
    let first = ChannelId::new(first[0].parse().unwrap());
    let mut tx = harness.console.begin().await.unwrap();
    let off = channels::set_state(&mut tx, first, ChannelState::Off).await;
    assert!(tx.finish(off).await.unwrap());
    harness
        .channel_with("alone", &base, &only, options(None, Some(1)))
        .await;
    two.refresh().await;
    let mut slow = ask_streaming(HANGS);
    slow["model"] = "sim-reason".into();
    let held = two.chat(0, &harness.key, &slow).await;
    assert_eq!(held.status, 200);
    let mut quick = ask("hello");
    quick["model"] = "sim-reason".into();
    let got = GatewayResponse::read(two.chat(1, &harness.key, &quick).await).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (429, "upstream_rate_limited")
    );
    assert_eq!(got.header("retry-after").as_deref(), Some("1"));
    drop(held);
    for _ in 0..500 {
        let got = GatewayResponse::read(two.chat(1, &harness.key, &quick).await).await;
        if got.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the channel's place did not come back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_calls_go_on_within_the_share_and_the_metrics_say_so() {
    let redis = Redis::start().await;
    let wire = redis.wire();
    let quick = Duration::from_millis(500);
    let (limits, _stop) = counters(redis.url_through(&wire), "n1", quick).await;
    limits.set_nodes(3);
    let harness = TestGateway::build(TestOptions {
        limits: limits.clone(),
        ..TestOptions::default()
    })
    .await;
    let in_mode = async |mode: &str| {
        let line = format!("trunkline_limits_mode{{mode=\"{mode}\"}} 1");
        let page = harness.metrics().await;
        assert!(page.contains(&line), "{page}");
    };
    let limited = || PolicyFields {
        requests_per_minute: Some(9),
        ..PolicyFields::default()
    };
    in_mode("redis").await;
    let served = async |key: &str| {
        let mut served = 0;
        for _ in 0..12 {
            let body = Bytes::from(ask("hello").to_string());
            let sender = (harness.address, key);
            let got = harness.send_as(sender, Method::POST, CHAT, body, &[]).await;
            let status = got.status.as_u16();
            assert!([200, 429].contains(&status), "{status}");
            served += usize::from(status == 200);
        }
        served
    };
    let key = harness.make_key(limited()).await;
    wire.delay(Duration::from_secs(2));
    assert_eq!(served(&key).await, 3, "a third");
    in_mode("fallback").await;
    wire.pass();
    becomes(&limits, Mode::Shared).await;
    in_mode("redis").await;
    let key = harness.make_key(limited()).await;
    redis.kill_9();
    assert_eq!(served(&key).await, 3);
    in_mode("fallback").await;
    redis.restart();
    becomes(&limits, Mode::Shared).await;
    let key = harness.make_key(limited()).await;
    assert_eq!(served(&key).await, 9);
    redis.flush();
    assert_eq!(served(&key).await, 0, "this node knows what it gave out");
    let errors = "trunkline_limits_redis_errors_total 0\n";
    assert!(!harness.metrics().await.contains(errors));
    harness.posted_at_rest().await;
    harness.audit().await;
}

//! A conversation stays with the credential whose prompt cache it warmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_simulator::{Fault, Rule, Settings as SimulatorSettings, Simulator};
use trunkline_types::Money;

use crate::keys::calls::call_at;
use crate::test_gateway::{CANARY, ChannelOptions, GatewayResponse, TestGateway};
use crate::upstreams::always;

const MODELS: [(&str, &str); 1] = [("sim-fast", "sim-fast")];
const B: &str = "credential-of-the-affinity-tests-bbbb";
const C: &str = "credential-of-the-affinity-tests-cccc";
const TURNS: usize = 50;
const PATH: &str = "/v1/chat/completions";

/// An upstream with three credentials and a prompt cache for each, asked before all others.
async fn caching(harness: &TestGateway) -> Simulator {
    let settings = SimulatorSettings {
        caches_prompts: true,
        ..SimulatorSettings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let options = ChannelOptions {
        more_credentials: &[("b", B), ("c", C)],
        ..ChannelOptions::default()
    };
    harness
        .channel_with("caching", &simulator.base_url(), &MODELS, options)
        .await;
    simulator
}

/// A turn of a conversation, about a block of the cache longer than the one before.
fn grow(messages: &mut Vec<Value>, turn: usize) {
    if turn > 0 {
        messages.push(json!({ "role": "assistant", "content": "Go on." }));
    }
    let text = format!("turn {turn} {}", "word ".repeat(800));
    messages.push(json!({ "role": "user", "content": text }));
}

fn body_of(messages: &[Value]) -> Value {
    json!({ "model": "sim-fast", "messages": messages, "max_tokens": 2 })
}

/// The ends of the credentials that were used.
fn used(simulator: &Simulator) -> BTreeSet<String> {
    let requests = simulator.requests().into_iter();
    requests.map(|request| request.key).collect()
}

#[tokio::test]
async fn a_customers_conversation_reads_its_prompt_cache_on_every_node_and_is_charged_for_it_so() {
    let harness = TestGateway::new().await;
    let simulator = caching(&harness).await;
    let other = harness.second_node(Arc::new(SystemClock)).await;
    let mut messages = Vec::new();
    let mut charged = 0;
    for turn in 0..TURNS {
        grow(&mut messages, turn);
        let node = [harness.address, other.address][turn % 2];
        let to = (node, harness.key.as_str());
        let got = call_at(&harness, to, (Method::POST, PATH), Some(body_of(&messages))).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let request = simulator.requests().pop().unwrap();
        let cached = request.cache_read_tokens;
        let details = &got.json()["usage"]["cost_details"];
        // What it would have cost without a cache, less what it cost.
        let saved = i64::try_from(cached * 1_800).unwrap();
        match details["cache_saving_usd"].as_str() {
            Some(saving) => assert_eq!(saving.parse::<Money>().unwrap().nanos(), saved),
            None => assert_eq!(saved, 0, "{details}"),
        }
        assert_eq!(
            got.json()["usage"]["prompt_tokens_details"]["cached_tokens"],
            cached
        );
        // 2 USD a million tokens, 0.2 for what is read from the cache, 8 for the answer.
        let input = (request.prompt_tokens - cached) * 2_000 + cached * 200;
        let cost = i64::try_from(input + request.completion_tokens * 8_000).unwrap();
        let id = got.headers.get("x-request-id").unwrap().to_str().unwrap();
        let (outcome, receipt, _, estimated) = harness.usage(id).await;
        assert_eq!(
            (outcome.as_str(), receipt, estimated),
            ("complete", cost, false)
        );
        charged += cost;
    }
    assert_eq!(used(&simulator).len(), 1, "one credential");
    let requests = simulator.requests();
    let (mut all, mut uncached) = (0, 0);
    for request in &requests {
        all += request.prompt_tokens;
        uncached += request.prompt_tokens - request.cache_read_tokens;
    }
    assert!(uncached * 5 < all, "{uncached} of {all}");
    // Without affinity each turn goes to another of the three, and finds a cache that is turns behind.
    let without = uncached_without_affinity(&harness).await;
    assert!(
        uncached * 2 <= without,
        "{uncached} with affinity, {without} without"
    );
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000 - charged);
    harness.audit().await;
    simulator.stop().await;
}

/// Uncached input tokens of the same conversation at the same upstream, its turns sent with one credential after the
/// other.
async fn uncached_without_affinity(harness: &TestGateway) -> u64 {
    let settings = SimulatorSettings {
        caches_prompts: true,
        ..SimulatorSettings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let mut messages = Vec::new();
    for turn in 0..TURNS {
        grow(&mut messages, turn);
        let body = Bytes::from(body_of(&messages).to_string());
        let to = (simulator.address(), [CANARY, B, C][turn % 3]);
        let sent = harness.send_as(to, Method::POST, PATH, body, &[]).await;
        assert_eq!(GatewayResponse::read(sent).await.status, 200);
    }
    let requests = simulator.requests();
    simulator.stop().await;
    requests
        .iter()
        .map(|request| request.prompt_tokens - request.cache_read_tokens)
        .sum()
}

#[tokio::test]
async fn a_customers_conversation_moves_only_when_its_own_credential_fails() {
    let harness = TestGateway::new().await;
    let simulator = caching(&harness).await;
    let mut conversations = Vec::new();
    // Some of each credential.
    for number in 0..40 {
        let messages = vec![json!({ "role": "user", "content": format!("talk {number}") })];
        assert_eq!(harness.chat(&body_of(&messages)).await.status, 200);
        let key = simulator.requests().pop().unwrap().key;
        conversations.push((messages, key));
    }
    assert_eq!(used(&simulator).len(), 3, "all are used");
    let limited = Fault::RateLimited {
        retry_after_secs: 60,
    };
    simulator.plan(Rule {
        key: Some(C.to_owned()),
        ..always(limited)
    });
    for (messages, before) in &conversations {
        assert_eq!(harness.chat(&body_of(messages)).await.status, 200);
        let now = simulator.requests().pop().unwrap().key;
        if before == "cccc" {
            assert_ne!(now, "cccc");
        } else {
            assert_eq!(&now, before, "its credential is healthy");
        }
    }
    simulator.stop().await;
}

#[tokio::test]
async fn calls_with_one_prompt_cache_key_share_a_credential() {
    let harness = TestGateway::new().await;
    let simulator = caching(&harness).await;
    for number in 0..12 {
        let messages = [json!({ "role": "user", "content": format!("talk {number}") })];
        let mut body = body_of(&messages);
        body["prompt_cache_key"] = json!("repository-7");
        assert_eq!(harness.chat(&body).await.status, 200);
    }
    assert_eq!(used(&simulator).len(), 1);
    simulator.stop().await;
}

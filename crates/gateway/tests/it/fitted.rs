//! Calls without a maximum on a small balance: the gateway chooses one that a tenth of what is free pays
//! for, sends it and says so.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use trunkline_catalog::{Entry, starter};
use trunkline_gateway::Settings;
use trunkline_ledger::accounts::balance;
use trunkline_store::PolicyFields;
use trunkline_types::{AccountId, EndpointType, Money};

use crate::test_gateway::{GatewayResponse, TestGateway, account, ask};

const DOLLAR: i64 = 1_000_000_000;
/// Output tokens of a usual answer.
const USUAL: u64 = 2_048;
const CHAT_PATHS: [&str; 4] = [
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/responses",
    "/v1/completions",
];

/// The starter catalog behind the simulator, and the names of its records that take conversations, or
/// that do not although they have OpenAI's endpoint.
async fn starter_gateway(conversations: bool) -> (TestGateway, Vec<String>) {
    let harness = TestGateway::with(Settings::default(), DOLLAR, 0).await;
    let document = starter().unwrap();
    let is_chat = |entry: &Entry| entry.tasks.iter().any(|task| task == "chat");
    let models = document
        .models
        .iter()
        .filter(|(_, entry)| entry.serves(EndpointType::Openai) && is_chat(entry) == conversations);
    let names: Vec<String> = models.map(|(name, _)| name.clone()).collect();
    harness.sell_document(document).await;
    let served: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "sim-fast"))
        .collect();
    let base = harness.simulator.base_url();
    harness.channel("starter", &base, 10, &served).await;
    (harness, names)
}

fn hello(model: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": "Hello" }] })
}

/// A customer with one dollar.
async fn customer(harness: &TestGateway) -> (AccountId, String) {
    let account = account(&harness.console, DOLLAR, 0).await;
    let key = harness.key_of(account, PolicyFields::default()).await;
    (account, key)
}

async fn call(harness: &TestGateway, key: &str, path: &str, body: &Value) -> GatewayResponse {
    let sent = harness.send_as(
        (harness.address, key),
        Method::POST,
        path,
        Bytes::from(body.to_string()),
        &[],
    );
    GatewayResponse::read(sent.await).await
}

// covers: D-2-82, D-7-CHAT-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hello_to_every_chat_record_passes_on_one_dollar_alone_and_eight_at_once() {
    let (harness, names) = starter_gateway(true).await;
    assert!(names.len() > 40, "{names:?}");
    let mut cut = Vec::new();
    for name in &names {
        let (_, key) = customer(&harness).await;
        let body = hello(name);
        let alone = call(&harness, &key, "/v1/chat/completions", &body).await;
        assert_eq!(alone.status, 200, "{name}: {}", alone.text());
        let sent = harness.simulator.requests().last().unwrap().body.clone();
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        let most = sent["max_completion_tokens"].as_u64().unwrap();
        let warned = alone.header("trunkline-warnings").unwrap();
        assert!(warned.contains("max_tokens_defaulted"), "{name}: {warned}");
        if most < USUAL && starter().unwrap().models[name].specs.max_output() >= USUAL {
            cut.push(name.as_str());
        }
        let (_, key) = customer(&harness).await;
        let eight = (0..8).map(|_| call(&harness, &key, "/v1/chat/completions", &body));
        for got in join_all(eight).await {
            assert_eq!(got.status, 200, "{name}, eight at once: {}", got.text());
        }
    }
    // The figure of ADR 39 and of the guide.
    assert_eq!(cut, ["claude-fable-5-1", "gpt-6-astra"]);
    assert_eq!(names.len(), 52);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_calls_in_flight_hold_a_tenth_each_of_what_is_free_and_never_more_than_the_wallet() {
    let (harness, _) = starter_gateway(true).await;
    let (account, key) = customer(&harness).await;
    let mut body = hello("kimi-k3");
    body["messages"][0]["content"] = "Hello [[fault:slow_first_byte:1500]]".into();
    let eight = (0..8).map(|_| call(&harness, &key, "/v1/chat/completions", &body));
    let watch = async {
        let mut most = Money::ZERO;
        while most < Money::from_nanos(DOLLAR / 2) {
            let now = balance(&harness.data, account).await.unwrap().unwrap();
            most = most.max(now.paid_held);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        balance(&harness.data, account)
            .await
            .unwrap()
            .unwrap()
            .paid_held
    };
    let (answers, held) = tokio::join!(join_all(eight), watch);
    for got in answers {
        assert_eq!(got.status, 200, "{}", got.text());
    }
    let (least, most) = (DOLLAR / 2, DOLLAR * 82 / 100);
    assert!((least..=most).contains(&held.nanos()), "{held}");
    harness.audit().await;
}

#[tokio::test]
async fn a_budget_lower_than_the_wallet_fits_the_maximum_too() {
    let (harness, _) = starter_gateway(true).await;
    let (account, key) = customer(&harness).await;
    let mut tx = harness.console.begin().await.unwrap();
    let period = trunkline_ledger::accounts::Period::Total;
    let limit = Some(Money::from_nanos(DOLLAR / 20));
    let set = trunkline_ledger::accounts::set_budget(&mut tx, account, None, period, "UTC", limit);
    assert!(set.await.unwrap());
    tx.commit().await.unwrap();
    let got = call(&harness, &key, "/v1/chat/completions", &hello("gpt-5.5")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

// covers: D-2-87
#[tokio::test]
async fn the_maximum_that_a_402_names_counts_every_choice() {
    let harness = TestGateway::with(Settings::default(), 10_000_000, 0).await;
    let mut body = ask("Hello [[tokens:5]]");
    body["n"] = 4.into();
    body["max_tokens"] = 10_000.into();
    let refused = harness.chat(&body).await;
    assert_eq!(refused.status, 402, "{}", refused.text());
    let named = refused.json()["error"]["max_tokens_affordable"].clone();
    let named = named.as_u64().unwrap();
    body["max_tokens"] = (named + 1).into();
    assert_eq!(harness.chat(&body).await.status, 402, "one more fails");
    body["max_tokens"] = named.into();
    assert_eq!(harness.chat(&body).await.status, 200, "{named} passes");
    body["max_tokens"] = 10_000.into();
    let limit = [("trunkline-max-cost-usd", "0.001")];
    let refused = harness.chat_with(&body, &limit).await;
    assert_eq!(refused.code(), "max_cost_exceeded");
    let named = refused.json()["error"]["max_tokens_affordable"].clone();
    let named = named.as_u64().unwrap();
    body["max_tokens"] = (named + 1).into();
    assert_eq!(harness.chat_with(&body, &limit).await.status, 402);
    body["max_tokens"] = named.into();
    assert_eq!(harness.chat_with(&body, &limit).await.status, 200);
    harness.audit().await;
}

// covers: D-7-MON-13
#[tokio::test]
async fn records_of_the_starter_catalog_that_write_no_answers_take_no_conversation() {
    let (harness, names) = starter_gateway(false).await;
    assert!(names.len() > 10, "{names:?}");
    for name in [
        "text-embedding-3-small",
        "rerank-v3.5",
        "omni-moderation-latest",
    ] {
        assert!(names.iter().any(|one| one == name), "{name}");
    }
    for name in &names {
        for path in CHAT_PATHS {
            let mut body = hello(name);
            match path {
                "/v1/responses" => body = json!({ "model": name, "input": "Hello" }),
                "/v1/completions" => body = json!({ "model": name, "prompt": "Hello" }),
                _ => body["max_tokens"] = 20.into(),
            }
            let got = call(&harness, &harness.key, path, &body).await;
            let code = got.json()["error"]["code"].clone();
            let answer = (got.status.as_u16(), code);
            assert_eq!(
                answer,
                (400, json!("endpoint_not_supported")),
                "{name} {path}"
            );
        }
    }
    assert!(harness.simulator.requests().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_record_whose_answers_have_no_price_takes_no_conversation() {
    let harness = TestGateway::new().await;
    let catalog = r#"
        [models.speaks]
        groups = ["default"]
        endpoints = ["openai"]
        [models.speaks.prices]
        billing_unit = "characters"
        standard = { input = 2000000 }
        [models.untold]
        groups = ["default"]
        [models.untold.prices]
        billing_unit = "tokens"
        standard = { input = 2000000, output = 0 }
    "#;
    harness.sell(catalog).await;
    let base = harness.simulator.base_url();
    let models = [("speaks", "sim-fast"), ("untold", "sim-fast")];
    harness.channel("odd", &base, 10, &models).await;
    for model in ["speaks", "untold"] {
        let got = harness.chat(&hello(model)).await;
        assert_eq!(
            got.code(),
            "endpoint_not_supported",
            "{model}: {}",
            got.text()
        );
    }
    assert!(harness.simulator.requests().is_empty(), "nothing was sent");
}

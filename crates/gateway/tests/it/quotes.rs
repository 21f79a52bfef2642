//! Quotes: what they say of a request, how long they are kept, and what they do not do.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_catalog::View;
use trunkline_db::SystemClock;
use trunkline_gateway::Services;
use trunkline_types::Clock as _;

use crate::nodes::{ManualClock, nanos};
use crate::test_gateway::{
    GatewayResponse, INPUT, OUTPUT, TestGateway, TestOptions, ask, ask_streaming,
};

/// The harness's model at twice its price.
const DEARER: &str = r#"
[models.sim-fast]
groups = ["default", "vip"]
vendor = "simulator"
created = 1700000000
specs = { type = "llm", max_output_tokens = 20000 }
[models.sim-fast.prices]
billing_unit = "tokens"
standard = { input = 4000000, output = 16000000, cache_read = 400000 }
"#;

async fn call_with(harness: &TestGateway, quote: &Value, body: &Value) -> GatewayResponse {
    let id = quote["id"].as_str().unwrap();
    harness.chat_with(body, &[("trunkline-quote", id)]).await
}

fn refused(got: &GatewayResponse) -> (u16, String) {
    (got.status.as_u16(), got.code())
}

// covers: G-2.6-10
#[tokio::test]
async fn a_quote_says_what_a_call_may_cost_and_moves_nothing() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello [[tokens:5]]");
    let quote = harness.quote(&body).await;
    assert_eq!(quote.status, 200, "{}", quote.text());
    let quote = quote.json();
    assert_eq!(quote["object"], "quote");
    assert_eq!(
        (&quote["exact"], &quote["price_usd"]),
        (&json!(false), &Value::Null)
    );
    // The record's longest answer, and no more than the input can have.
    let input = quote["lines"][0]["units"].as_i64().unwrap();
    assert_eq!(quote["lines"][1]["units"], 20_000);
    let most = input * INPUT + 20_000 * OUTPUT;
    assert_eq!(nanos(&quote["maximum_usd"]), most);
    assert_eq!(quote["reserved_usd"], quote["maximum_usd"]);
    assert_eq!(
        quote["defaults"],
        json!({ "max_completion_tokens": "20000" })
    );
    assert_eq!(quote["warnings"], json!(["max_tokens_defaulted"]));
    let catalog = harness.gateway.catalog();
    let view = View {
        book: &catalog.book,
        group: "default",
    };
    let record = view.record("sim-fast", harness.gateway.routes("sim-fast"));
    let record = serde_json::to_value(record.unwrap()).unwrap();
    let specs: Value = serde_json::from_str(record["specs"].as_str().unwrap()).unwrap();
    assert_eq!(specs["max_output_tokens"], 20_000);
    body["max_tokens"] = 7.into();
    let quote = harness.quote(&body).await.json();
    assert_eq!(nanos(&quote["maximum_usd"]), input * INPUT + 7 * OUTPUT);
    // A stream holds a first tranche, and may cost its whole length.
    let quote = harness
        .quote(&ask_streaming("Hello [[tokens:5]]"))
        .await
        .json();
    assert_eq!(nanos(&quote["maximum_usd"]), most);
    assert_eq!(
        nanos(&quote["reserved_usd"]),
        input * INPUT + 4_096 * OUTPUT
    );
    assert!(harness.simulator.requests().is_empty());
    assert_eq!(harness.wallets().await, [10_000_000_000, 0, 0, 0]);
}

#[tokio::test]
async fn a_stream_of_a_model_without_a_known_limit_cannot_exceed_its_quote() {
    let harness = TestGateway::new().await;
    let mut body = ask_streaming("Go on [[tokens:9000]]");
    // The record says how long answers become: that is the vendor's limit, and nothing is written.
    assert_eq!(harness.quote(&body).await.json()["warnings"], json!([]));
    let got = harness.chat(&body).await;
    assert!(got.header("trunkline-warnings").is_none());
    body["model"] = "sim-reason".into();
    let quote = harness.quote(&body).await.json();
    assert_eq!(quote["warnings"], json!(["max_tokens_defaulted"]));
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let sent: Value =
        serde_json::from_slice(&harness.simulator.requests().last().unwrap().body).unwrap();
    assert_eq!(sent["max_completion_tokens"], 8_192);
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    assert!(
        charged <= nanos(&quote["maximum_usd"]),
        "{charged} {quote:#}"
    );
    harness.audit().await;
}

#[tokio::test]
async fn the_least_of_a_quote_counts_what_is_said_and_not_what_surrounds_it() {
    let harness = TestGateway::new().await;
    let image = format!("data:image/png;base64,{}", "iVBORw0K".repeat(40_000));
    let mut body = ask("");
    body["messages"][0]["content"] = json!([
        { "type": "text", "text": "What is this? [[tokens:0]]" },
        { "type": "image_url", "image_url": { "url": image } },
    ]);
    body["metadata"] = json!({ "note": "x".repeat(9_000) });
    let quote = harness.quote(&body).await.json();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    assert!(
        charged >= nanos(&quote["minimum_usd"]),
        "{charged} {quote:#}"
    );
    // A long text is worth something, whatever a tokenizer makes of it.
    let long = harness.quote(&ask(&"word ".repeat(2_560))).await.json();
    assert_eq!(
        nanos(&long["minimum_usd"]),
        100 * 200,
        "all of it from a cache"
    );
}

// covers: D-1-28, D-7-MON-06, D-7-MON-07
#[tokio::test]
async fn a_quote_is_kept_for_ten_minutes_on_every_node_whatever_prices_become() {
    let began = SystemClock.now().seconds();
    let hands = ManualClock::at(began);
    let harness = TestGateway::build(TestOptions {
        clock: Arc::new(hands.clone()),
        ..TestOptions::default()
    })
    .await;
    let body = ask("Hello [[tokens:5]]");
    let quote = harness.quote(&body).await.json();
    assert_eq!(quote["expires_at"], began + 600);
    let old = harness.gateway.catalog().book.version().to_string();
    harness.sell(DEARER).await;
    let node = harness.second_node(Arc::new(hands.clone())).await;
    let price = |got: &GatewayResponse, input: i64, output: i64| {
        got.json()["usage"]["prompt_tokens"].as_i64().unwrap() * input + 5 * output
    };
    hands.put(began + 599);
    let dearer = harness.chat(&body).await;
    let (_, charged, _, _) = harness.usage(&dearer.id()).await;
    assert_eq!(charged, price(&dearer, 2 * INPUT, 2 * OUTPUT));
    let kept = call_with(&harness, &quote, &body).await;
    assert_eq!(kept.status, 200, "{}", kept.text());
    let (_, charged, _, _) = harness.usage(&kept.id()).await;
    assert_eq!(charged, price(&kept, INPUT, OUTPUT));
    let usage = harness
        .get(&format!("/v1/usage/{}", kept.id()))
        .await
        .json();
    assert_eq!(usage["pricing_version"], old);
    // The order of keys and the spaces of a body are the client's own matter.
    let id = quote["id"].as_str().unwrap();
    let other = r#"{ "messages": [{ "content": "Hello [[tokens:5]]", "role": "user" }], "model": "sim-fast" }"#;
    let there = harness
        .send_as(
            (node.address, &harness.key),
            Method::POST,
            "/v1/chat/completions",
            Bytes::from(other),
            &[("trunkline-quote", id)],
        )
        .await;
    let there = GatewayResponse::read(there).await;
    assert_eq!(there.status, 200, "{}", there.text());
    let (_, charged, _, _) = harness.usage(&there.id()).await;
    assert_eq!(charged, price(&there, INPUT, OUTPUT), "the other node");
    let served = harness.simulator.requests().len();
    hands.put(began + 601);
    let got = call_with(&harness, &quote, &body).await;
    assert_eq!(refused(&got), (409, "quote_expired".to_owned()));
    assert_eq!(
        harness.simulator.requests().len(),
        served,
        "nothing was sent"
    );
    harness.audit().await;
}

// covers: D-7-MON-08
#[tokio::test]
async fn a_quote_holds_for_its_exact_body_and_account_only() {
    let mut harness = TestGateway::new().await;
    let body = ask("Hello [[tokens:5]]");
    let quote = harness.quote(&body).await.json();
    let mut others = [body.clone(), body.clone(), body.clone()];
    others[0]["max_tokens"] = 9.into();
    others[1]["messages"][0]["content"] = "Hello [[tokens:6]]".into();
    others[2]["stream"] = true.into();
    for other in &others {
        let got = call_with(&harness, &quote, other).await;
        assert_eq!(refused(&got), (409, "quote_mismatch".to_owned()));
    }
    let id = quote["id"].as_str().unwrap();
    let last = id.len() - 1;
    let flipped = if id.ends_with('A') { "B" } else { "A" };
    for wrong in [
        format!("{}{flipped}", &id[..last]),
        id[..last].to_owned(),
        "tlq_".to_owned(),
        "nonsense".to_owned(),
    ] {
        let got = harness
            .chat_with(&body, &[("trunkline-quote", &wrong)])
            .await;
        assert_eq!(refused(&got), (409, "quote_mismatch".to_owned()), "{wrong}");
    }
    let own = std::mem::take(&mut harness.key);
    harness.key = harness.make_account_key().await;
    let got = call_with(&harness, &quote, &body).await;
    assert_eq!(refused(&got), (409, "quote_mismatch".to_owned()));
    harness.key = own;
    assert!(harness.simulator.requests().is_empty(), "nothing was sent");
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
    let got = call_with(&harness, &quote, &body).await;
    assert_eq!(got.status, 200, "and it is still good for its own");
}

// covers: D-1-27, D-1-33, G-2.1-12, G-2.1-14, D-7-CHAT-08, D-7-CHAT-09
#[tokio::test]
async fn a_quote_names_the_fate_of_every_field_and_a_strict_one_refuses_traps() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello");
    body["reasoning_effort"] = "high".into();
    body["previous_response_id"] = "resp_1".into();
    body["maxtokens"] = 5.into();
    body["user"] = "ada".into();
    let quote = harness.quote(&body).await.json();
    let fate = |name: &str| {
        let fields = quote["fields"].as_array().unwrap();
        let found: Vec<&Value> = fields.iter().filter(|one| one["field"] == name).collect();
        assert_eq!(found.len(), 1, "{name} in {fields:#?}");
        (
            found[0]["fate"].as_str().unwrap().to_owned(),
            found[0]["code"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let is = |fate: &str, code: &str| (fate.to_owned(), code.to_owned());
    for read in ["model", "messages", "user"] {
        assert_eq!(fate(read), is("read", ""));
    }
    assert_eq!(
        fate("reasoning_effort"),
        is("ignored", "reasoning_effort_ignored")
    );
    assert_eq!(
        fate("previous_response_id"),
        is("ignored", "previous_response_id_ignored")
    );
    assert_eq!(fate("maxtokens"), is("ignored", "unknown_field"));
    assert_eq!(
        fate("max_completion_tokens"),
        is("defaulted", "max_tokens_defaulted")
    );
    assert!(quote.to_string().contains("did you mean `max_tokens`?"));
    let strict = [("trunkline-strict", "true")];
    for trap in ["reasoning_effort", "previous_response_id", "maxtokens"] {
        let mut one = ask("Hello");
        one[trap] = body[trap].clone();
        assert_eq!(harness.quote(&one).await.status, 200);
        let got = harness.quote_with(&one, &strict).await;
        assert_eq!(
            (got.status.as_u16(), &got.json()["error"]["param"]),
            (400, &json!(trap))
        );
        let called = harness.chat_with(&one, &strict).await;
        assert_eq!(
            (called.status, called.code()),
            (got.status, got.code()),
            "as the call does"
        );
    }
    assert_eq!(harness.quote_with(&ask("Hello"), &strict).await.status, 200);
    assert!(harness.simulator.requests().is_empty());
}

#[tokio::test]
async fn what_cannot_be_called_cannot_be_quoted() {
    let harness = TestGateway::new().await;
    let quote = async |text: String| {
        let sent = harness.send(Method::POST, "/v1/quotes", Bytes::from(text));
        let got = GatewayResponse::read(sent.await).await;
        (got.status.as_u16(), got.code())
    };
    let body = ask("Hello").to_string();
    let invalid = (400, "invalid_request".to_owned());
    for text in [
        String::new(),
        "[]".to_owned(),
        body.clone(),
        format!(r#"{{"endpoint":"/v1/audio/speech","body":{body}}}"#),
        format!(r#"{{"endpoint":"chat","body":{body},"more":1}}"#),
        format!(r#"{{"endpoint":"chat","endpoint":"chat","body":{body}}}"#),
        r#"{"endpoint":"chat","body":{"model":"sim-fast","model":"sim-fast","messages":[]}}"#
            .to_owned(),
        r#"{"endpoint":"chat","body":{"model":"sim-fast"}}"#.to_owned(),
    ] {
        assert_eq!(quote(text.clone()).await, invalid, "{text}");
    }
    let of = |model: &str| {
        let body = body.replace("sim-fast", model);
        format!(r#"{{"endpoint":"/v1/chat/completions","body":{body}}}"#)
    };
    assert_eq!(
        quote(of("nobody")).await,
        (404, "model_not_found".to_owned())
    );
    assert_eq!(
        quote(of("vip-only")).await,
        (403, "model_not_allowed".to_owned())
    );
    let got = harness.get("/v1/quotes").await;
    assert_eq!(got.status, 405);
}

// covers: D-1-37
#[tokio::test]
async fn a_model_that_goes_away_says_when() {
    let harness = TestGateway::new().await;
    let ends = DEARER.replace(
        "created = 1700000000",
        "created = 1700000000\ndeprecated_on = \"2026-12-01\"\nsunset_on = \"2027-03-01\"",
    );
    let got = harness.chat(&ask("Hello")).await;
    assert!(got.header("deprecation").is_none() && got.header("sunset").is_none());
    harness.sell(&ends).await;
    for stream in [false, true] {
        let mut body = ask("Hello");
        body["stream"] = stream.into();
        let got = harness.chat(&body).await;
        assert_eq!(got.header("deprecation").as_deref(), Some("@1796083200"));
        assert_eq!(
            got.header("sunset").as_deref(),
            Some("Mon, 01 Mar 2027 00:00:00 GMT")
        );
    }
}

/// The record of a model as it is served.
fn health_of(gateway: &Services, model: &str) -> Value {
    let catalog = gateway.catalog();
    let view = View {
        book: &catalog.book,
        group: "default",
    };
    let record = view.record(model, gateway.routes(model)).unwrap();
    serde_json::to_value(record).unwrap()["route_health"].clone()
}

// covers: G-2.6-85, G-2.6-86, G-2.6-87, G-2.6-88, G-2.6-89
#[tokio::test]
async fn the_health_of_a_route_follows_failures_seen_by_all_nodes() {
    let harness = TestGateway::new().await;
    let node = harness.second_node(Arc::new(SystemClock)).await;
    assert_eq!(health_of(&harness.gateway, "sim-fast"), Value::Null);
    let there = async |prompt: &str| {
        let body = Bytes::from(ask(prompt).to_string());
        let to = (node.address, harness.key.as_str());
        let path = "/v1/chat/completions";
        GatewayResponse::read(harness.send_as(to, Method::POST, path, body, &[]).await)
            .await
            .status
            .as_u16()
    };
    for _ in 0..3 {
        assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    }
    assert_eq!(there("Hello [[fault:status:500]]").await, 502);
    // What a caller does wrong says nothing about a route.
    let mut wrong = ask("Hello");
    wrong["temperature"] = 9.into();
    assert_eq!(harness.chat(&wrong).await.status, 400);
    let exchange = async || {
        harness.posted_at_rest().await;
        for gateway in [&harness.gateway, &node.gateway, &harness.gateway] {
            gateway.exchange_health().await.unwrap();
        }
    };
    exchange().await;
    let first = health_of(&harness.gateway, "sim-fast");
    assert!(first.is_object());
    assert_eq!(first["window_hours"], 24);
    assert_eq!(first["sample_size"], 4, "{first}");
    assert_eq!(first["success_ratio"].to_string(), "0.75");
    assert_eq!(health_of(&node.gateway, "sim-fast"), first);
    assert_eq!(health_of(&node.gateway, "sim-reason"), Value::Null);
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(there("Hello [[fault:status:503]]").await, 502);
    exchange().await;
    let second = health_of(&node.gateway, "sim-fast");
    assert_eq!(second["sample_size"], 5);
    assert_eq!(second["success_ratio"].to_string(), "0.6");
    let at = |health: &Value| health["last_checked_at"].as_str().unwrap().to_owned();
    assert!(at(&second) > at(&first), "{first} {second}");
}

#[tokio::test]
async fn openai_reasoning_models_get_max_completion_tokens_as_quoted() {
    let harness = TestGateway::new().await;
    let mut body = ask("Hello [[tokens:50]]");
    body["model"] = json!("sim-reason");
    body["max_tokens"] = json!(20);
    let quote = harness.quote(&body).await.json();
    let fields = quote["fields"].as_array().unwrap();
    let cap = fields.iter().find(|field| field["field"] == "max_tokens");
    assert_eq!(
        cap,
        Some(&json!({
            "field": "max_tokens",
            "fate": "read",
            "reason": "sent as `max_completion_tokens`, the name that this model's vendor takes",
        }))
    );
    assert_eq!(quote["warnings"], json!([]), "it means what it meant");
    // The vendor refuses the older name, so an answer of that length shows that it got the newer one;
    // strict mode has nothing to refuse.
    let strict = [("trunkline-strict", "true")];
    for extra in [&[][..], &strict[..]] {
        let got = harness.chat_with(&body, extra).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert_eq!(got.json()["usage"]["completion_tokens"], 20);
        assert_eq!(got.header("trunkline-warnings"), None);
    }
    harness.audit().await;
}

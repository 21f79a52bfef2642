//! Headers and paths of the formats: what goes on to an upstream, what comes back, where a key may stand,
//! and which endpoints a model has.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::client_decode::wrong;
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{FormatPair, harness, in_each, last_served, same};
use crate::test_gateway::{CANARY, GatewayResponse, TestGateway, TestOptions};

fn ask(pair: FormatPair) -> Value {
    pair.body(CallParams {
        prompt: "Hello [[tokens:2]]",
        ..CallParams::default()
    })
}

fn whole() -> Vec<FormatPair> {
    FormatPair::all()
        .into_iter()
        .filter(|it| !it.stream)
        .collect()
}

#[tokio::test]
async fn versions_and_betas_go_on_in_their_own_format_alone() {
    let harness = harness(TestOptions::default()).await;
    let flags = [
        ("anthropic-version", "2024-01-02"),
        ("anthropic-beta", "effort-2025-01-01,pdfs-2025-02-02"),
        ("openai-beta", "assistants=v2"),
        ("x-goog-api-client", "genai-py/1.0"),
        ("cookie", "a=b"),
    ];
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let got = pair.call_with(harness, &ask(pair), &flags).await;
        same("status", got.status.as_u16(), 200).map_err(|it| format!("{it}: {}", got.text()))?;
        let truth = last_served(&harness.simulator).await?;
        let header = |name: &str| {
            let mut all = truth.headers.iter();
            all.find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
        };
        let own = pair.caller == ClientFormat::Messages && pair.upstream == ClientFormat::Messages;
        let version = match (own, pair.upstream) {
            (true, _) => Some("2024-01-02"),
            (false, ClientFormat::Messages) => Some("2023-06-01"),
            (false, ClientFormat::Chat | ClientFormat::Responses | ClientFormat::Gemini) => None,
        };
        same("version", header("anthropic-version"), version)?;
        let betas = own.then_some("effort-2025-01-01,pdfs-2025-02-02");
        same("betas", header("anthropic-beta"), betas)?;
        for name in ["openai-beta", "x-goog-api-client", "cookie"] {
            same(name, header(name), None)?;
        }
        // The upstream is shown its own credential, where its format has it.
        let last_four = &CANARY[CANARY.len() - 4..];
        same("key", truth.key.as_str(), last_four)?;
        let agent = header("user-agent").unwrap_or_default();
        same("agent", agent.starts_with("trunkline/"), true)
    })
    .await;
}

// covers: D-1-22, D-1-23
#[tokio::test]
async fn a_key_is_taken_in_every_format_wherever_a_client_puts_it() {
    let harness = harness(TestOptions::default()).await;
    let own = whole();
    let own = own.into_iter().filter(|it| it.caller == it.upstream);
    in_each(&harness, own.collect(), async |harness, pair| {
        let send = async |path: &str, name: &'static str, value: &str| {
            let bytes = Bytes::from(ask(pair).to_string());
            // An empty `authorization` stands for none.
            let extra = [("authorization", ""), (name, value)];
            GatewayResponse::read(harness.send_with(Method::POST, path, bytes, &extra).await).await
        };
        let path = pair.caller.path(&pair.model(), false);
        let bearer = format!("Bearer {}", harness.key);
        for (name, value) in [
            ("authorization", bearer.as_str()),
            ("x-api-key", &harness.key),
            ("x-goog-api-key", &harness.key),
        ] {
            let got = send(&path, name, value).await;
            same(name, got.status.as_u16(), 200)?;
        }
        let named = format!("{path}?key={}", harness.key);
        same(
            "?key=",
            send(&named, "accept", "*/*").await.status.as_u16(),
            200,
        )?;
        let none = send(&path, "accept", "*/*").await;
        same("none", none.status.as_u16(), 401)?;
        let error = wrong(pair.caller, &none.json());
        same("code", error.code.as_str(), "invalid_api_key")?;
        // Of several, `Authorization` counts.
        let bytes = Bytes::from(ask(pair).to_string());
        let both = [("x-api-key", "sk-tl-other")];
        let got =
            GatewayResponse::read(harness.send_with(Method::POST, &path, bytes, &both).await).await;
        same("several", got.status.as_u16(), 200)
    })
    .await;
}

#[tokio::test]
async fn every_answer_of_every_format_names_its_call_twice() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let good = pair.call(harness, &ask(pair)).await;
        let mut body = ask(pair);
        body["messages"] = json!(7);
        body["input"] = json!(7);
        body["contents"] = json!(7);
        let bad = pair.call(harness, &body).await;
        same("bad", bad.status.as_u16(), 400)?;
        for got in [&good, &bad] {
            let id = got.header("x-request-id").ok_or("no x-request-id")?;
            same("request-id", got.header("request-id"), Some(id.clone()))?;
            same("begins", id.starts_with("req_"), true)?;
        }
        let kind = good.header("content-type").unwrap_or_default();
        let expected = if pair.stream {
            "text/event-stream; charset=utf-8"
        } else {
            "application/json"
        };
        same("content-type", kind.as_str(), expected)
    })
    .await;
}

/// Sold without Gemini's endpoint, and with it under a name that may not have it.
const ENDPOINTS: &str = r#"
[models.gemini-without]
groups = ["default"]
[models.gemini-without.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000 }
[models.other-with]
groups = ["default"]
endpoints = ["openai", "gemini"]
[models.other-with.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000 }
"#;

async fn post(harness: &TestGateway, path: &str, body: &Value) -> GatewayResponse {
    let bytes = Bytes::from(body.to_string());
    GatewayResponse::read(harness.send(Method::POST, path, bytes).await).await
}

// covers: G-1-07, G-1-08, D-7-CHAT-14
#[tokio::test]
async fn a_model_has_the_endpoints_of_its_record_and_geminis_under_its_name() {
    let harness = harness(TestOptions::default()).await;
    harness.sell(ENDPOINTS).await;
    let base = harness.simulator.base_url();
    let models = [("gemini-without", "sim-fast"), ("other-with", "sim-fast")];
    harness.channel("endpoints", &base, 0, &models).await;
    let params = CallParams {
        prompt: "Hello [[tokens:2]]",
        ..CallParams::default()
    };
    for (model, open) in [
        (
            "gemini-without",
            vec![
                ClientFormat::Chat,
                ClientFormat::Messages,
                ClientFormat::Responses,
            ],
        ),
        ("other-with", vec![ClientFormat::Chat]),
        ("gemini-to-chat", ClientFormat::ALL.to_vec()),
    ] {
        for client_format in ClientFormat::ALL {
            let body = client_format.body(model, &params);
            let got = post(&harness, &client_format.path(model, false), &body).await;
            if open.contains(&client_format) {
                assert_eq!(got.status, 200, "{model} {client_format}: {}", got.text());
                continue;
            }
            assert_eq!(got.status, 400, "{model} {client_format}: {}", got.text());
            let error = wrong(client_format, &got.json());
            assert_eq!(
                error.code, "endpoint_not_supported",
                "{model} {client_format}"
            );
        }
    }
    harness.audit().await;
}

// covers: D-4-23, D-4-24, G-4-04, G-9-02
#[tokio::test]
async fn geminis_verbs_are_served_under_both_versions_as_events_and_as_an_array() {
    let harness = harness(TestOptions::default()).await;
    let params = CallParams {
        prompt: "Hello [[tokens:6]]",
        ..CallParams::default()
    };
    for upstream in ClientFormat::ALL {
        let model = format!("gemini-to-{upstream}");
        let body = ClientFormat::Gemini.body(&model, &params);
        for version in ["v1beta", "v1"] {
            let path = format!("/{version}/models/{model}");
            let whole = post(&harness, &format!("{path}:generateContent"), &body).await;
            assert_eq!(whole.status, 200, "{upstream}: {}", whole.text());
            let stream = format!("{path}:streamGenerateContent");
            let events = post(&harness, &format!("{stream}?alt=sse"), &body).await;
            assert!(events.text().starts_with("data: {"), "{}", events.text());
            let array = post(&harness, &stream, &body).await;
            assert_eq!(array.status, 200, "{upstream}: {}", array.text());
            let kind = array.header("content-type").unwrap();
            assert!(kind.starts_with("application/json"), "{upstream}: {kind}");
            let all = array.json();
            let chunks = all.as_array().expect("one array").iter();
            let text: String = chunks
                .filter_map(|it| it["candidates"][0]["content"]["parts"][0]["text"].as_str())
                .collect();
            assert_eq!(text.split_whitespace().count(), 6, "{upstream}: {all}");
            let last = all.as_array().unwrap().last().unwrap();
            assert_eq!(last["candidates"][0]["finishReason"], "STOP");
            assert!(last["usageMetadata"]["cost"].is_number(), "{last}");
        }
    }
    harness.posted_at_rest().await;
    harness.audit().await;
}

// covers: G-2.1-03, G-4.1-02, D-7-CHAT-01, D-7-CHAT-02
#[tokio::test]
async fn the_conversation_stands_in_the_formats_own_field_and_must_be_there() {
    let harness = harness(TestOptions::default()).await;
    for (client_format, field) in [
        (ClientFormat::Chat, "messages"),
        (ClientFormat::Messages, "messages"),
        (ClientFormat::Responses, "input"),
        (ClientFormat::Gemini, "contents"),
    ] {
        let model = "gemini-to-chat";
        let params = CallParams {
            prompt: "Hello",
            ..CallParams::default()
        };
        let whole = client_format.body(model, &params);
        let mut without = whole.clone();
        let reported = without.as_object_mut().unwrap().remove(field).unwrap();
        let mut elsewhere = without.clone();
        let other = if field == "messages" {
            "input"
        } else {
            "messages"
        };
        elsewhere[other] = reported;
        for body in [without, elsewhere] {
            let got = post(&harness, &client_format.path(model, false), &body).await;
            assert_eq!(got.status, 400, "{client_format}: {}", got.text());
            let error = wrong(client_format, &got.json());
            assert!(error.message.contains(&format!("`{field}`")), "{error:?}");
            if client_format != ClientFormat::Messages {
                assert_eq!(error.param.as_deref(), Some(field), "{client_format}");
            }
        }
    }
    assert!(harness.simulator.requests().is_empty());
}

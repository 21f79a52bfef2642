//! Lines of the specification whose other tests stop before the wire: what a client reads, what an upstream gets and
//! what is charged.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use trunkline_upstream::{Deadlines, Outgoing, Protocol};

use crate::format_pairs::CoolDowns;
use crate::isolation::with_hands;
use crate::test_gateway::{CANARY, GatewayResponse, TestGateway, ask};
use crate::videos::{generation, made, quick, spent};

// covers: G-2.1-01
#[tokio::test]
async fn a_model_is_a_required_string_in_every_chat_format() {
    let harness = TestGateway::new().await;
    let turn = json!([{ "role": "user", "content": "Hello" }]);
    for (path, body) in [
        ("/v1/chat/completions", json!({ "messages": turn })),
        ("/v1/messages", json!({ "messages": turn, "max_tokens": 9 })),
        ("/v1/responses", json!({ "input": "Hello" })),
    ] {
        for model in [None, Some(json!(7)), Some(json!(null))] {
            let mut body = body.clone();
            if let Some(model) = model.clone() {
                body["model"] = model;
            }
            let got = harness.post(path, &body).await;
            assert_eq!(got.status, 400, "{path} {model:?}: {}", got.text());
            let error = got.json()["error"].clone();
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("model"), "{path} {model:?}: {message}");
            if path != "/v1/messages" {
                assert_eq!(error["param"], "model", "{path} {model:?}");
            }
        }
    }
    assert!(harness.simulator.requests().is_empty());
}

// covers: G-4.2-B-32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_seconds_in_full_reference_mode_are_made_and_charged() {
    let harness = generation(quick()).await;
    let part = json!({ "type": "image_url", "role": "reference_image",
        "image_url": { "url": "https://media.example/cat.png" } });
    let mut costs = Vec::new();
    for seconds in ["15", "30"] {
        let before = spent(&harness).await;
        let body = json!({ "model": "doubao-seedance-2-5-260628", "prompt": "a cat", "seconds": seconds,
            "metadata": { "resolution": "720p", "ratio": "16:9", "content": [part] } });
        let id = made(&harness, &body).await;
        let task = crate::videos::ended(&harness, &id).await;
        assert_eq!(
            (&task["status"], &task["seconds"]),
            (&json!("completed"), &json!(seconds))
        );
        costs.push(spent(&harness).await - before);
    }
    let job = harness.simulator.video_jobs().pop().unwrap();
    assert_eq!(job.body["duration"], 30, "{}", job.body);
    assert!(costs[0] > 0);
    assert_eq!(
        costs[1],
        2 * costs[0],
        "twice the length is twice the price"
    );
    harness.audit().await;
}

// covers: G-4.4-12
#[tokio::test]
async fn speech_reaches_the_client_byte_by_byte_as_its_vendor_made_it() {
    let harness = TestGateway::generation().await;
    for format in ["mp3", "wav", "flac", "opus"] {
        let more = json!({ "response_format": format });
        let got = harness.say("voice", "Good morning to you all.", more).await;
        assert_eq!(got.status, 200, "{}", got.status);
        // The same request again, to the vendor itself.
        let sent = harness.simulator.requests().pop().unwrap().body;
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {CANARY}");
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&bearer).unwrap());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let minute = std::time::Duration::from_secs(60);
        let call = Outgoing {
            method: Method::POST,
            uri: format!("http://{}/v1/audio/speech", harness.simulator.address())
                .parse()
                .unwrap(),
            headers,
            body: sent.into(),
            deadlines: Deadlines {
                first_byte: minute,
                idle: minute,
                total: minute,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let own = GatewayResponse::read(harness.client.send(call).await.unwrap()).await;
        assert_eq!(own.status, 200, "{format}");
        assert_eq!(got.body, own.body, "{format}");
    }
}

// covers: D-3-50
#[tokio::test]
async fn an_upstreams_word_loses_the_credential_and_the_names_of_our_account_there() {
    let harness = TestGateway::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let message = format!(
        "temperature 9 is too high for {CANARY} of org-AbCdEf123456, project proj_9876543210, key sk-live-0123456789"
    );
    let body = json!({ "error": { "message": message, "type": "invalid_request_error", "code": "too_high" } }).to_string();
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut read = vec![0; 65_536];
            let _length = stream.read(&mut read).await.unwrap();
            let answer = format!(
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    harness
        .channel("talkative", &base, 0, &[("sim-fast", "sim-fast")])
        .await;
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "too_high")
    );
    let text = got.text();
    assert!(text.contains("temperature 9 is too high for"), "{text}");
    for secret in [
        CANARY,
        "org-AbCdEf123456",
        "proj_9876543210",
        "sk-live-0123456789",
    ] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(got.json()["error"]["charged"], false);
    harness.audit().await;
}

// covers: D-3-77
#[tokio::test]
async fn answers_about_the_request_never_count_against_a_channel() {
    let rests = CoolDowns::new();
    let harness = with_hands(&rests).await;
    for status in [400, 413, 422] {
        for _ in 0..12 {
            let got = harness
                .chat(&ask(&format!("Hello [[fault:status:{status}]]")))
                .await;
            assert_eq!(got.status.as_u16(), status, "{}", got.text());
        }
        // Twelve in a row, and the very next call is served by the same channel.
        let before = harness.simulator.requests().len();
        assert_eq!(
            harness.chat(&ask("Hello [[tokens:2]]")).await.status,
            200,
            "{status}"
        );
        assert_eq!(harness.simulator.requests().len(), before + 1);
    }
    harness.audit().await;
}

// covers: D-7-ERR-11
#[tokio::test]
async fn of_several_keys_the_one_in_authorization_is_taken_both_ways() {
    let harness = TestGateway::new().await;
    let own = harness.key.clone();
    let bearer = format!("Bearer {own}");
    for (authorization, other, status) in [
        (bearer.as_str(), "sk-tl-nonsense", 200),
        ("Bearer sk-tl-nonsense", own.as_str(), 401),
    ] {
        for name in ["x-api-key", "x-goog-api-key"] {
            let headers = [("authorization", authorization), (name, other)];
            let got = harness.chat_with(&ask("Hi [[tokens:2]]"), &headers).await;
            assert_eq!(got.status.as_u16(), status, "{name}: {}", got.text());
        }
        let path = format!("/v1/models?key={other}");
        let headers = [("authorization", authorization)];
        let sent = harness.send_with(Method::GET, &path, Bytes::new(), &headers);
        assert_eq!(
            GatewayResponse::read(sent.await).await.status.as_u16(),
            status
        );
    }
}

// covers: D-2-85
#[tokio::test]
async fn a_maximum_that_was_lowered_to_the_balance_is_reported_as_rewritten_with_what_was_sent() {
    let harness = TestGateway::with(trunkline_gateway::Settings::default(), 0, 1_000_000).await;
    let mut body = ask("Hello [[tokens:5]]");
    body["max_tokens"] = json!(10_000);
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(
        got.header("trunkline-warnings").as_deref(),
        Some("1;codes=max_tokens_fitted")
    );
    let row = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
    assert_eq!(row["warnings"], json!(["max_tokens_fitted"]));
    let sent: Value = serde_json::from_slice(&harness.simulator.requests()[0].body).unwrap();
    let lowered = sent["max_tokens"].as_i64().unwrap();
    // All of the trial money, less the input's bound, at 8,000 nano-USD a token.
    assert!((1..=125).contains(&lowered), "{lowered}");
    harness.audit().await;
}

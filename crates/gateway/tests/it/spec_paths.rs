//! Lines of the specification about paths, keys and errors that hold for every endpoint. The tables are transcribed
//! from its sections 4 and 7.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_gateway::VideoJob;
use trunkline_simulator::{Settings as SimulatorSettings, Simulator};

use crate::generation::form::{Form, wav};
use crate::generation::harness::MONEY;
use crate::test_gateway::{GatewayResponse, TestGateway, ask, ask_streaming};
use crate::upstreams::always;
use crate::videos::{generation, make, quick, task_view};

/// Section 4: every method and path.
const PATHS: [(Method, &str); 14] = [
    (Method::POST, "/v1/chat/completions"),
    (Method::POST, "/v1/messages"),
    (Method::POST, "/v1/responses"),
    (Method::POST, "/v1beta/models/gemini-x:generateContent"),
    (Method::GET, "/v1/realtime"),
    (Method::POST, "/v1/videos"),
    (Method::GET, "/v1/videos/task_0"),
    (Method::POST, "/v1/video/generations"),
    (Method::GET, "/v1/video/generations/task_0"),
    (Method::POST, "/v1/images/generations"),
    (Method::POST, "/v1/images/edits"),
    (Method::POST, "/v1/audio/speech"),
    (Method::POST, "/v1/audio/transcriptions"),
    (Method::POST, "/v1/audio/translations"),
];

/// What stands on the wire for a request of these lines, read to its end.
async fn raw(harness: &TestGateway, text: &str) -> String {
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

// covers: G-4-18, G-9-01
#[tokio::test]
async fn every_endpoint_of_the_specification_is_there_and_asks_for_a_key() {
    let harness = TestGateway::new().await;
    for (method, path) in PATHS {
        assert!(path.starts_with("/v1/") || path.starts_with("/v1beta/"));
        for authorization in ["", "Bearer sk-tl-unknown"] {
            // A connection for a session is opened as one; a client library would not leave it at the head.
            if path == "/v1/realtime" {
                let head = format!(
                    "GET {path}?model=x HTTP/1.1\r\nhost: x\r\nauthorization: {authorization}\r\n\
                     connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                );
                let mut stream = TcpStream::connect(harness.address).await.unwrap();
                stream.write_all(head.as_bytes()).await.unwrap();
                let mut first = [0; 12];
                stream.read_exact(&mut first).await.unwrap();
                assert_eq!(&first, b"HTTP/1.1 401");
                continue;
            }
            let headers = [("authorization", authorization)];
            let sent = harness.send_with(method.clone(), path, Bytes::from("{}"), &headers);
            let got = GatewayResponse::read(sent.await).await;
            assert_eq!(got.status, 401, "{method} {path}: {}", got.text());
            assert!(got.text().contains("invalid_api_key"), "{}", got.text());
        }
        // Under no version and under another one there is nothing.
        let bare = path.replacen("/v1beta", "/v3", 1).replacen("/v1", "", 1);
        let sent = harness.send(method, &bare, Bytes::from("{}"));
        assert_eq!(
            GatewayResponse::read(sent.await).await.status,
            404,
            "{bare}"
        );
    }
}

// covers: G-4-17, D-4-26, D-4-27
#[tokio::test]
async fn paths_are_served_under_any_host_and_the_root_answers_without_a_key() {
    let harness = TestGateway::new().await;
    let body = ask("Hello [[tokens:3]]").to_string();
    for host in [
        "gateway.example",
        "gateway.example:9443",
        "10.1.2.3:80",
        "[::1]:1",
    ] {
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            harness.key,
            body.len()
        );
        let answer = raw(&harness, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{host}: {answer}");
    }
    let root =
        |method: &str| format!("{method} / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let got = raw(&harness, &root("GET")).await;
    assert!(
        got.starts_with("HTTP/1.1 200") && got.contains("trunkline"),
        "{got}"
    );
    let head = raw(&harness, &root("HEAD")).await;
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

// covers: D-4-28
#[tokio::test]
async fn a_doubled_version_is_answered_with_the_right_path() {
    let harness = TestGateway::new().await;
    for (doubled, right) in [
        ("/v1/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/v1/models", "/v1/models"),
        ("/v1/v1/videos/task_1", "/v1/videos/task_1"),
    ] {
        let got = harness.get(doubled).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (404, "not_found")
        );
        let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("`{right}`")), "{message}");
    }
}

/// The eight keys of decision 3, in the order in which they are printed there.
const KEYS: [&str; 8] = [
    "message",
    "type",
    "param",
    "code",
    "request_id",
    "charged",
    "retryable",
    "doc_url",
];

// covers: D-3-01, D-3-02
#[tokio::test]
async fn every_interface_answers_an_error_in_its_own_shape() {
    let harness = TestGateway::of_social().await;
    for (path, body) in [
        (
            "/v1/chat/completions",
            json!({ "model": "no-such", "messages": [{ "role": "user", "content": "x" }] }),
        ),
        ("/v1/responses", json!({ "model": "no-such", "input": "x" })),
        (
            "/v1/images/generations",
            json!({ "model": "no-such", "prompt": "x" }),
        ),
        (
            "/v1/audio/speech",
            json!({ "model": "no-such", "input": "x", "voice": "y" }),
        ),
        ("/v1/videos", json!({ "model": "no-such", "prompt": "x" })),
    ] {
        let got = harness.post(path, &body).await;
        is_one_error(path, &got);
        assert_eq!(got.json()["error"]["code"], "model_not_found", "{path}");
    }
    is_one_error("social", &harness.look("nowhere/search", "keyword=a").await);
    let got = harness
        .post(
            "/v1/messages",
            &json!({ "model": "no-such", "messages": [{ "role": "user", "content": "x" }], "max_tokens": 1 }),
        )
        .await;
    let body = got.json();
    assert_eq!(
        (&body["type"], &body["error"]["type"]),
        (&json!("error"), &json!("not_found_error"))
    );
    assert!(
        body["error"]["message"].is_string() && body["request_id"] == got.id(),
        "{body}"
    );
    let gemini = "/v1beta/models/gemini-none:generateContent";
    let got = harness
        .post(
            gemini,
            &json!({ "contents": [{ "role": "user", "parts": [{ "text": "x" }] }] }),
        )
        .await;
    let error = got.json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["status"]),
        (&json!(404), &json!("NOT_FOUND"))
    );
    assert!(
        error["message"].is_string() && error["details"].is_array(),
        "{error}"
    );
    let got = harness.get("/v1/video/generations/task_0").await;
    let body = got.json();
    assert_eq!(
        (&body["code"], &body["data"]),
        (&json!("task_not_found"), &Value::Null)
    );
    assert!(body["message"].is_string(), "{body}");
}

fn is_one_error(what: &str, got: &GatewayResponse) {
    let body = got.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{what}: {body}");
    let error = body["error"].as_object().unwrap();
    for key in KEYS {
        assert!(error.contains_key(key), "{what}: no {key} in {body}");
    }
    assert_eq!(error["request_id"], got.id(), "{what}");
    assert_eq!(
        (&error["charged"], &error["retryable"]),
        (&json!(false), &json!(false))
    );
    let page = error["doc_url"].as_str().unwrap();
    assert!(
        page.ends_with(&format!("#{}", error["code"].as_str().unwrap())),
        "{what}: {page}"
    );
}

// covers: D-4-22
#[tokio::test]
async fn tokens_of_a_message_are_counted_for_nothing() {
    let harness = TestGateway::new().await;
    let count = async |words: usize| {
        let content = "word ".repeat(words);
        let body =
            json!({ "model": "sim-fast", "messages": [{ "role": "user", "content": content }] });
        let got = harness.post("/v1/messages/count_tokens", &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        got.json()["input_tokens"].as_u64().unwrap()
    };
    let (few, many) = (count(3).await, count(300).await);
    assert!(few > 0 && many > few + 250, "{few} {many}");
    assert_eq!(harness.wallets().await, [10_000_000_000, 0, 0, 0]);
    assert!(harness.simulator.requests().is_empty());
}

// covers: D-2-80
#[tokio::test]
async fn a_stream_holds_its_input_and_a_first_tranche_of_4096_or_fewer_tokens() {
    let harness = TestGateway::new().await;
    for (most, tranche) in [(None, 4_096), (Some(9_000), 4_096), (Some(300), 300)] {
        let mut body = ask_streaming("Go on [[tokens:40]] [[fault:hang_mid_stream:3]]");
        if let Some(most) = most {
            body["max_tokens"] = json!(most);
        }
        let quoted = json!({ "endpoint": "chat", "body": body });
        let quote = harness.post("/v1/quotes", &quoted).await.json();
        let input = quote["lines"]
            .as_array()
            .unwrap()
            .iter()
            .find(|line| line["face"] == "input");
        let input = input.unwrap()["units"].as_i64().unwrap();
        let bytes = Bytes::from(body.to_string());
        let stream = harness
            .send(Method::POST, "/v1/chat/completions", bytes)
            .await;
        let [_, held, _, _] = harness.wallets().await;
        assert_eq!(held, input * 2_000 + tranche * 8_000, "{most:?}");
        drop(stream);
        harness.posted_at_rest().await;
    }
    harness.audit().await;
}

// covers: G-4-09, D-1-08, D-1-43
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_paths_make_the_same_video_with_its_warnings_and_links_of_the_public_address() {
    let harness = generation(trunkline_gateway::Settings {
        public_url: "https://gw.example".to_owned(),
        ..quick()
    })
    .await;
    // `seconds` is read by family B alone: a trap that is told.
    let body = json!({ "model": "wan2.7-t2v", "prompt": "a cat", "seconds": "10" });
    let mut shapes = Vec::new();
    for path in ["/v1/videos", "/v1/video/generations"] {
        let got = harness.post(path, &body).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text());
        let mut created = got.json();
        let id = created["id"].as_str().unwrap().to_owned();
        let codes = |task: &Value| {
            let notes = task["metadata"]["warnings"].as_array().cloned().unwrap();
            notes.iter().any(|note| note["field"] == "seconds")
        };
        assert!(codes(&created), "{created}");
        assert!(
            codes(&task_view(&harness, &id).await),
            "and when it is polled"
        );
        let done = crate::videos::ended(&harness, &id).await;
        let url = done["metadata"]["url"].as_str().unwrap();
        assert!(url.starts_with("https://gw.example/media/"), "{url}");
        for field in ["id", "task_id", "created_at"] {
            assert!(
                created.as_object_mut().unwrap().remove(field).is_some(),
                "{field}"
            );
        }
        shapes.push(created);
    }
    assert_eq!(shapes[0], shapes[1]);
    harness.audit().await;
}

// covers: D-4-29, D-4-30, D-4-31, D-4-32, D-7-CHAT-18
#[tokio::test]
async fn each_relayed_path_is_quoted_charged_logged_and_fails_over_as_chat_does() {
    let harness = TestGateway::new().await;
    let record = |name: &str, task: &str| {
        format!(
            "[models.{name}]\ngroups = [\"default\"]\ntasks = [\"{task}\"]\n[models.{name}.prices]\n\
             billing_unit = \"tokens\"\nstandard = {{ input = 2000000, output = 8000000 }}\n"
        )
    };
    let names = [
        ("vectors", "embeddings"),
        ("orders", "rerank"),
        ("watches", "moderation"),
        ("writes", "chat"),
    ];
    for (name, task) in names {
        harness.sell(&record(name, task)).await;
    }
    let failing = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    let models = names.map(|(name, _)| (name, "sim-fast"));
    harness
        .channel("failing", &failing.base_url(), 1, &models)
        .await;
    harness
        .channel("serving", &harness.simulator.base_url(), 5, &models)
        .await;
    for (path, body) in [
        (
            "/v1/embeddings",
            json!({ "model": "vectors", "input": "one" }),
        ),
        (
            "/v1/rerank",
            json!({ "model": "orders", "query": "which", "documents": ["this", "that"] }),
        ),
        (
            "/v1/moderations",
            json!({ "model": "watches", "input": "a kind word" }),
        ),
        (
            "/v1/completions",
            json!({ "model": "writes", "prompt": "Once [[tokens:5]]", "max_tokens": 20 }),
        ),
    ] {
        failing.clear_plans();
        failing.plan(always(trunkline_simulator::Fault::Status(500)));
        let before = (failing.requests().len(), harness.simulator.requests().len());
        let stranger = [("authorization", "Bearer sk-tl-unknown")];
        assert_eq!(
            harness.post_with(path, &body, &stranger).await.status,
            401,
            "{path}"
        );
        let quote = harness
            .post("/v1/quotes", &json!({ "endpoint": path, "body": body }))
            .await;
        assert_eq!(quote.status, 200, "{path}: {}", quote.text());
        let got = harness.post(path, &body).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text());
        assert!(
            failing.requests().len() > before.0,
            "{path}: the first was asked"
        );
        assert_eq!(
            harness.simulator.requests().len(),
            before.1 + 1,
            "{path}: the second served"
        );
        let (outcome, charged, _, _) = harness.usage(&got.id()).await;
        assert_eq!(
            (outcome.as_str(), charged > 0),
            ("complete", true),
            "{path}"
        );
        let row = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
        assert_eq!(row["endpoint"], path.trim_start_matches("/v1/"), "{row}");
        let bound = quote.json()["maximum_usd"]
            .as_str()
            .unwrap()
            .parse::<f64>()
            .unwrap();
        let cost = row["cost_usd"].as_str().unwrap().parse::<f64>().unwrap();
        assert!(cost <= bound, "{path}: {cost} {bound}");
    }
    failing.stop().await;
    harness.audit().await;
}

// covers: D-7-CHAT-17
#[tokio::test]
async fn a_translation_fails_over_as_chat_does_and_is_charged_once() {
    let harness = TestGateway::generation().await;
    let failing = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    let base = format!("http://{}/v1", failing.address());
    harness
        .before("openai", &base, &[("ears", "whisper-1")])
        .await;
    failing.plan(always(trunkline_simulator::Fault::Status(500)));
    let form = Form::default().text("model", "ears");
    let form = form.file("file", "talk.wav", "audio/wav", &wav(16_000));
    let got = form.send(&harness, "/v1/audio/translations").await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert!(got.json()["text"].is_string());
    assert_eq!(
        failing.requests().len(),
        1,
        "the first channel was asked once"
    );
    let row = harness.get(&format!("/v1/usage/{}", got.id())).await.json();
    assert_eq!(
        (&row["endpoint"], &row["outcome"]),
        (&json!("translations"), &json!("complete"))
    );
    // Two seconds at six tenths of a cent a minute.
    assert_eq!(MONEY - harness.posted_at_rest().await, 200_000);
    failing.stop().await;
    harness.audit().await;
}

// covers: G-1-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_never_changes_after_one_of_the_two_last_words() {
    let harness = generation(quick()).await;
    for (case, word) in [("", "completed"), ("[[job:fail:InternalError]]", "failed")] {
        let got = make(&harness, &crate::videos::cat(case)).await;
        let id = got.json()["id"].as_str().unwrap().to_owned();
        let mut seen = Vec::new();
        for _ in 0..2_000 {
            let task = task_view(&harness, &id).await;
            let status = task["status"].as_str().unwrap().to_owned();
            if seen.last() != Some(&status) {
                seen.push(status.clone());
            }
            if status == word {
                break;
            }
            for job in VideoJob::ALL {
                trunkline_gateway::claim_video_jobs(&harness.gateway, job)
                    .await
                    .unwrap();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(seen.last().map(String::as_str), Some(word));
        assert!(
            seen.iter()
                .rev()
                .skip(1)
                .all(|word| word == "queued" || word == "in_progress"),
            "{seen:?}"
        );
        let last = task_view(&harness, &id).await;
        crate::videos::work(&harness).await;
        let after = task_view(&harness, &id).await;
        assert_eq!(
            (&after["status"], &after["progress"]),
            (&last["status"], &last["progress"])
        );
    }
    harness.audit().await;
}

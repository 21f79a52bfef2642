//! Videos as forms: what the OpenAI libraries send, with a file that is kept and goes on as our link.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::videos::{ended, generation, quick, spent};

const BOUNDARY: &str = "----formdata-openai-0123456789";
/// As much of a picture as a test looks at here.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x06\x00\x00\x00 and more";

fn field(name: &str, value: &str) -> Vec<u8> {
    format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        .into_bytes()
}

fn file(name: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"frame.png\"\r\n\
         Content-Type: image/png\r\n\r\n"
    );
    [head.as_bytes(), bytes, b"\r\n"].concat()
}

async fn send(
    harness: &TestGateway,
    parts: &[Vec<u8>],
    extra: &[(&'static str, &str)],
) -> GatewayResponse {
    let mut body = parts.concat();
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let mut headers = vec![("content-type", kind.as_str())];
    headers.extend(extra);
    let sent = harness.send_with(Method::POST, "/v1/videos", Bytes::from(body), &headers);
    GatewayResponse::read(sent.await).await
}

/// Every link of ours in what an upstream was sent.
fn links(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("http://127.0.0.1:8080/media/") => {
            found.push(text.clone());
        }
        Value::Array(list) => list.iter().for_each(|one| links(one, found)),
        Value::Object(fields) => fields.values().for_each(|one| links(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a folder has a file of these bytes somewhere.
fn holds(folder: &std::path::Path, bytes: &[u8]) -> bool {
    let mut entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.any(|path| {
        if path.is_dir() {
            holds(&path, bytes)
        } else {
            std::fs::read(&path).unwrap() == bytes
        }
    })
}

// covers: D-4-07, D-7-VID-28, D-7-VID-29
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uploaded_file_goes_on_as_data_or_as_our_link_to_it() {
    let harness = generation(quick()).await;
    let as_data = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
    let models = [
        ("happyhorse-1.1-i2v", "input_reference", vec![], 700_000_000),
        (
            "wan2.7-i2v",
            "input_reference",
            vec![field("duration", "3")],
            300_000_000,
        ),
        (
            "doubao-seedance-2-0-260128",
            "input_reference",
            vec![field("seconds", "4")],
            567_771_428,
        ),
        ("kling-v3", "image", vec![], 420_000_000),
    ];
    let mut sum = 0;
    for (model, name, more, price) in models {
        let mut parts = vec![
            field("prompt", "a cat"),
            field("model", model),
            file(name, PNG),
        ];
        parts.extend(more);
        let got = send(&harness, &parts, &[]).await;
        assert_eq!(got.status, 200, "{model}: {}", got.text());
        let job = harness.simulator.video_jobs().pop().unwrap();
        let mut found = Vec::new();
        links(&job.body, &mut found);
        if name == "image" {
            assert_eq!(found.len(), 1, "{}", job.body);
            let path = found[0].strip_prefix("http://127.0.0.1:8080").unwrap();
            let sent = harness.send_as((harness.address, ""), Method::GET, path, Bytes::new(), &[]);
            let kept = GatewayResponse::read(sent.await).await;
            assert_eq!((kept.status.as_u16(), kept.body.as_ref()), (200, PNG));
            assert_eq!(kept.header("content-type").as_deref(), Some("image/png"));
        } else {
            assert_eq!(found, Vec::<String>::new(), "{}", job.body);
            assert!(job.body.to_string().contains(&as_data), "{}", job.body);
        }
        let id = got.json()["id"].as_str().unwrap().to_owned();
        assert_eq!(ended(&harness, &id).await["status"], "completed");
        sum += price;
    }
    assert!(
        !holds(harness.files.path(), PNG),
        "what is stored is sealed"
    );
    assert_eq!(spent(&harness).await, sum);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_sent_again_is_known_by_the_content_of_its_file() {
    let harness = generation(quick()).await;
    let parts = |bytes: &[u8]| {
        [
            field("prompt", "x"),
            field("model", "wan2.7-i2v"),
            file("input_reference", bytes),
        ]
    };
    let key = [("idempotency-key", "k-1")];
    let first = send(&harness, &parts(PNG), &key).await.json();
    let repeated = send(&harness, &parts(PNG), &key).await;
    assert_eq!(repeated.json()["id"], first["id"]);
    assert_eq!(
        repeated.header("idempotent-replayed").as_deref(),
        Some("true")
    );
    let other = send(&harness, &parts(b"another picture"), &key).await;
    assert_eq!(
        (other.status.as_u16(), other.code().as_str()),
        (409, "idempotency_conflict")
    );
    let retry = send(&harness, &parts(PNG), &[("x-stainless-retry-count", "1")]).await;
    assert_eq!(retry.json()["id"], first["id"]);
    assert_eq!(harness.simulator.video_jobs().len(), 1);
    assert_eq!(spent(&harness).await, 500_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_of_a_form_are_those_of_the_json_and_a_broken_form_is_refused() {
    let harness = generation(quick()).await;
    let metadata = json!({ "resolution": "480p", "generate_audio": false }).to_string();
    let images = json!(["https://example.com/a.png", "https://example.com/b.png"]).to_string();
    let parts = [
        field("prompt", "x"),
        field("model", "doubao-seedance-2-5-260628"),
        field("seconds", "6"),
        field("metadata", &metadata),
        field("images", &images),
    ];
    let got = send(&harness, &parts, &[]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let job = harness.simulator.video_jobs().pop().unwrap();
    assert_eq!((job.seconds, &job.body["resolution"]), (6, &json!("480p")));
    assert_eq!(job.body["generate_audio"], false);
    let images = job.body["content"].as_array().unwrap().iter();
    let images = images.filter(|part| part["type"] == "image_url");
    assert_eq!(images.count(), 2);
    let before = spent(&harness).await;
    let twice = [
        field("prompt", "x"),
        field("prompt", "y"),
        field("model", "wan2.7-t2v"),
    ];
    let not_json = [
        field("prompt", "x"),
        field("model", "wan2.7-t2v"),
        field("metadata", "{"),
    ];
    let no_model = [field("prompt", "x")];
    for wrong in [&twice[..], &not_json, &no_model] {
        let got = send(&harness, wrong, &[]).await;
        assert_eq!(got.status, 400, "{}", got.text());
    }
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let cut =
        Bytes::from_static(b"--x\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nno end");
    let got = GatewayResponse::read(
        harness
            .send_with(Method::POST, "/v1/videos", cut, &kind)
            .await,
    )
    .await;
    assert_eq!(got.status, 400, "{}", got.text());
    assert_eq!(spent(&harness).await, before);
    assert_eq!(harness.simulator.video_jobs().len(), 1);
}

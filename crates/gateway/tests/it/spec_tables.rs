//! Each field table of the specification as a request and an answer over HTTP: names, types and words as printed. The
//! tables are in `tests/spec_tables.tsv`, transcribed.

use serde_json::{Map, Value, json};

use crate::generation::form::{Form, wav};
use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;
use crate::videos::{cat, ended, generation, made, quick, task_view};

const TABLES: &str = include_str!("../spec_tables.tsv");

struct Field {
    path: &'static str,
    kind: &'static str,
    /// Words that it may be, or a condition.
    note: &'static str,
}

fn table(section: &str) -> Vec<Field> {
    let rows = TABLES.lines().filter(|row| !row.starts_with('#'));
    let fields: Vec<Field> = rows
        .map(|row| row.split('\t').collect::<Vec<_>>())
        .filter(|cells| cells[0] == section)
        .map(|cells| Field {
            path: cells[1],
            kind: cells[2],
            note: cells[3],
        })
        .collect();
    assert!(!fields.is_empty(), "{section}");
    fields
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

/// An answer has every field of its table; those with a condition only if it holds.
fn check(section: &str, body: &Value, holds: &str) {
    for field in table(section) {
        let pointer = format!("/{}", field.path.replace('.', "/"));
        let found = body.pointer(&pointer);
        if let Some(condition) = field.note.strip_prefix("when ") {
            assert_eq!(
                found.is_some(),
                condition == holds,
                "{section} {}: {body}",
                field.path
            );
            if condition != holds {
                continue;
            }
        }
        let value = found.unwrap_or_else(|| panic!("{section}: no {} in {body}", field.path));
        assert!(
            is_of(field.kind, value),
            "{section} {}: {value}",
            field.path
        );
        if !field.note.is_empty() && !field.note.starts_with("when ") {
            let word = value.as_str().unwrap();
            assert!(
                field.note.split('|').any(|one| one == word),
                "{section} {}: {word}",
                field.path
            );
        }
    }
}

/// A request with every field of its table is taken; without a required one, or with one of another type, it is refused
/// by the field's name.
async fn request(
    harness: &TestGateway,
    section: &str,
    path: &str,
    whole: &Map<String, Value>,
    left_out: &[&str],
) -> GatewayResponse {
    for field in table(section)
        .iter()
        .filter(|field| !left_out.contains(&field.path))
    {
        let value = whole
            .get(field.path)
            .unwrap_or_else(|| panic!("{section} {}", field.path));
        assert!(
            is_of(field.kind, value),
            "{section} {}: {value}",
            field.path
        );
        let mut wrong = whole.clone();
        let other = if field.kind == "string" {
            json!(7)
        } else {
            json!("seven")
        };
        wrong.insert(field.path.to_owned(), other);
        let got = harness.post(path, &Value::Object(wrong)).await;
        assert_eq!(got.status, 400, "{section} {}: {}", field.path, got.text());
        assert_eq!(
            got.json()["error"]["param"],
            field.path,
            "{section}: {}",
            got.text()
        );
        if field.note == "required" {
            let mut without = whole.clone();
            without.remove(field.path);
            let got = harness.post(path, &Value::Object(without)).await;
            assert_eq!(got.status, 400, "{section} {}: {}", field.path, got.text());
            assert_eq!(got.json()["error"]["param"], field.path, "{section}");
        }
    }
    let got = harness.post(path, &Value::Object(whole.clone())).await;
    assert_eq!(got.status, 200, "{section}: {}", got.text());
    got
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            panic!("{value}")
        }
    }
}

#[tokio::test]
async fn a_chat_request_has_the_fields_of_its_table() {
    let harness = TestGateway::new().await;
    let whole = object(
        json!({ "model": "sim-reason", "temperature": 1, "top_p": 1, "max_tokens": 40,
        "messages": [{ "role": "user", "content": "Hello [[tokens:3]]" }],
        "stream": false, "reasoning_effort": "high" }),
    );
    // The last field is of the Responses format alone.
    let got = request(
        &harness,
        "2.1",
        "/v1/chat/completions",
        &whole,
        &["previous_response_id"],
    )
    .await;
    assert_eq!(got.json()["object"], "chat.completion");
    let wrong = json!({ "model": "sim-fast", "input": "Hello", "previous_response_id": 7 });
    let got = harness.post("/v1/responses", &wrong).await;
    assert_eq!(
        (got.status.as_u16(), &got.json()["error"]["param"]),
        (400, &json!("previous_response_id"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_task_has_the_fields_of_both_tables_in_every_state() {
    let harness = generation(quick()).await;
    for (case, end) in [
        ("", "completed"),
        ("[[job:fail:InvalidParameter]]", "failed"),
    ] {
        let id = made(&harness, &cat(case)).await;
        check("2.2", &task_view(&harness, &id).await, "queued");
        check("2.2", &ended(&harness, &id).await, end);
        let legacy = harness
            .get(&format!("/v1/video/generations/{id}"))
            .await
            .json();
        check("2.3", &legacy, "");
        let data = &legacy["data"];
        let words = (
            data["status"].as_str().unwrap(),
            data["progress"].as_str().unwrap(),
        );
        match end {
            "completed" => {
                assert_eq!(words, ("SUCCESS", "100%"));
                assert_eq!(data["fail_reason"], "");
                assert!(data["result_url"].as_str().unwrap().contains("Expires="));
            }
            _ => {
                assert_eq!(words.0, "FAILURE");
                assert_ne!(data["fail_reason"], "");
            }
        }
    }
}

#[tokio::test]
async fn an_image_request_and_its_result_have_the_fields_of_their_tables() {
    let harness = TestGateway::generation().await;
    for format in ["url", "b64_json"] {
        let whole = object(
            json!({ "model": "fine-brush", "prompt": "a cat", "n": 2, "size": "1024x1024",
            "quality": "low", "response_format": format }),
        );
        let got = request(&harness, "4.3", "/v1/images/generations", &whole, &[]).await;
        check("2.4", &got.json(), "");
        let entry = got.json()["data"][1].clone();
        let (link, bytes) = (
            entry["url"].as_str().unwrap(),
            entry["b64_json"].as_str().unwrap(),
        );
        assert_eq!(
            (link.is_empty(), bytes.is_empty()),
            (format == "b64_json", format == "url")
        );
        assert_eq!(
            got.json()["metadata"],
            json!({ "success_count": "2", "failed_count": "0" })
        );
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_speech_request_and_a_transcription_have_the_fields_of_their_tables() {
    let harness = TestGateway::generation().await;
    let whole = object(
        json!({ "model": "voice", "input": "Good morning.", "voice": "nova",
        "response_format": "wav", "speed": 1.25, "instructions": "cheerfully" }),
    );
    let got = request(&harness, "4.4", "/v1/audio/speech", &whole, &[]).await;
    assert_eq!(got.header("content-type").as_deref(), Some("audio/wav"));
    assert!(got.body.starts_with(b"RIFF"), "bytes, and no JSON");
    let path = "/v1/audio/transcriptions";
    let sound = wav(16_000);
    for field in table("4.5") {
        let mut form = Form::default();
        if field.path != "model" {
            form = form.text("model", "ears");
        }
        if field.path != "file" {
            form = form.file("file", "a.wav", "audio/wav", &sound);
        }
        let got = form.send(&harness, path).await;
        assert_eq!(got.status, 400, "{}: {}", field.path, got.text());
        assert_eq!(got.json()["error"]["param"], field.path);
    }
    for path in [path, "/v1/audio/translations"] {
        let form = Form::default().text("model", "ears");
        let got = form
            .file("file", "a.wav", "audio/wav", &sound)
            .send(&harness, path)
            .await;
        assert_eq!(got.status, 200, "{}", got.text());
        check("2.5", &got.json(), "");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_social_result_has_the_fields_of_its_table_and_no_others() {
    let harness = TestGateway::of_social().await;
    let got = harness.look("wechat_channels/search", "keyword=tea").await;
    assert_eq!(got.status, 200, "{}", got.text());
    check("S-2.1", &got.json(), "");
    assert_eq!(got.json().as_object().unwrap().len(), table("S-2.1").len());
}

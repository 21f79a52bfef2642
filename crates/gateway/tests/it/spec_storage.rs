//! What is stored is sealed, and under `zero_retention` it is not stored: looked for in every table and every file.

use std::path::Path;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_store::PolicyFields;

use crate::idempotency::rows_with;
use crate::test_gateway::{GatewayResponse, TestGateway, ask};
use crate::videos::{cat, column, ended, generation, made, quick, work};

const KEY: &str = "idempotency-key";
const DRAW: &str = "/v1/images/generations";

/// The contents of all files below a folder.
fn files(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(std::fs::read(&path).unwrap());
        }
    }
}

fn stored(harness: &TestGateway) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    files(harness.files.path(), &mut found);
    found
}

fn holds(stored: &[Vec<u8>], text: &[u8]) -> bool {
    let inside = |bytes: &Vec<u8>| bytes.windows(text.len()).any(|part| part == text);
    stored.iter().any(inside)
}

async fn content(harness: &TestGateway, id: &str) -> Bytes {
    let got = harness.get(&format!("/v1/videos/{id}/content")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.body
}

/// A picture by link.
fn picture() -> Value {
    json!({ "model": "brush", "prompt": "Lighthouse on a rock", "response_format": "url" })
}

async fn draw(harness: &TestGateway) -> Value {
    let body = Bytes::from(picture().to_string());
    let got = GatewayResponse::read(harness.send(Method::POST, DRAW, body).await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["data"][0].clone()
}

// covers: D-5-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idempotent_answers_media_and_prompts_are_sealed_where_they_are_stored() {
    let harness = generation(quick()).await;
    let answer = harness
        .chat_with(&ask("Lighthouse [[tokens:6]]"), &[(KEY, "beacon")])
        .await;
    assert!(answer.text().contains("sim5"), "{}", answer.text());
    let id = made(&harness, &cat("Lighthouse")).await;
    ended(&harness, &id).await;
    let passed_on = content(&harness, &id).await;
    work(&harness).await;
    assert_eq!(
        column(&harness, &id, "media_path IS NOT NULL").await,
        "true"
    );
    assert_eq!(column(&harness, &id, "sent IS NOT NULL").await, "true");
    let own = content(&harness, &id).await;
    assert!(own == passed_on, "the stored file is the vendor's");
    let part = [("range", "bytes=4-7")];
    let path = format!("/v1/videos/{id}/content");
    let part = harness.send_with(Method::GET, &path, Bytes::new(), &part);
    let part = GatewayResponse::read(part.await).await;
    assert_eq!(
        (part.status.as_u16(), part.text()),
        (206, "ftyp".to_owned())
    );

    let kept = stored(&harness);
    assert!(
        kept.iter().any(|file| file.len() > own.len()),
        "it is there"
    );
    for text in [
        &own[..16],
        &own[own.len() - 16..],
        &own[4..12],
        b"Lighthouse",
    ] {
        assert!(!holds(&kept, text), "{text:?}");
    }
    assert!(!rows_with(&harness, "beacon").await.is_empty());
    for text in ["Lighthouse", "sim5"] {
        assert_eq!(rows_with(&harness, text).await, Vec::<String>::new());
    }
    harness.audit().await;
}

// covers: D-5-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_sealed_where_they_are_stored_and_shown_by_their_link() {
    let harness = TestGateway::generation().await;
    let drawn = draw(&harness).await;
    let url = drawn["url"].as_str().unwrap();
    let path = &url[url.find("/media/").unwrap()..];
    let got = harness.get(path).await;
    assert_eq!(got.status, 200);
    assert!(got.body.starts_with(b"\x89PNG"), "a picture");
    let kept = stored(&harness);
    assert!(!kept.is_empty());
    for text in [&got.body[..16], b"Lighthouse"] {
        assert!(!holds(&kept, text), "{text:?}");
    }
}

/// The harness's own key keeps nothing from now on.
async fn keep_nothing(harness: &mut TestGateway) {
    let fields = PolicyFields {
        zero_retention: true,
        ..PolicyFields::default()
    };
    harness.key = harness.make_key(fields).await;
}

// covers: D-5-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_with_zero_retention_stores_no_answer_no_prompt_and_no_media() {
    let mut harness = generation(quick()).await;
    keep_nothing(&mut harness).await;
    let body = ask("Lighthouse [[tokens:6]]");
    let refused = harness.chat_with(&body, &[(KEY, "beacon")]).await;
    let (status, code) = (refused.status.as_u16(), refused.code());
    assert_eq!((status, code.as_str()), (400, "invalid_request"));
    assert_eq!(harness.chat(&body).await.status, 200);

    let id = made(&harness, &cat("Lighthouse")).await;
    assert_eq!(
        column(&harness, &id, "sent IS NULL").await,
        "true",
        "from the start"
    );
    assert_eq!(ended(&harness, &id).await["status"], "completed");
    work(&harness).await;
    assert_eq!(column(&harness, &id, "media_path IS NULL").await, "true");
    let file = content(&harness, &id).await;
    assert!(file[4..8] == *b"ftyp", "it is passed on from the vendor");
    assert_eq!(stored(&harness), Vec::<Vec<u8>>::new());

    // One that no vendor takes at once cannot wait: that would store it.
    let full = crate::videos::make(&harness, &cat("[[id:w]][[job:full:1000]]")).await;
    assert!(full.status.as_u16() >= 429, "{}", full.text());
    for text in ["Lighthouse", "sim5"] {
        assert_eq!(rows_with(&harness, text).await, Vec::<String>::new());
    }
    harness.posted_at_rest().await;
    harness.audit().await;
}

// covers: D-5-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_for_a_key_with_zero_retention_is_in_the_answer_and_nowhere_else() {
    let mut harness = TestGateway::generation().await;
    keep_nothing(&mut harness).await;
    let drawn = draw(&harness).await;
    assert_eq!(drawn["url"], "");
    assert!(
        drawn["b64_json"]
            .as_str()
            .is_some_and(|text| text.len() > 100)
    );
    assert_eq!(stored(&harness), Vec::<Vec<u8>>::new());
    assert_eq!(
        rows_with(&harness, "Lighthouse").await,
        Vec::<String>::new()
    );
}

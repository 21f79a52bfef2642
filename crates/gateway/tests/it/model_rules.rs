//! The rules of a model's record, on every operation: a broken one is refused before anything moves, and
//! refused by a quote as well.

use serde_json::{Value, json};
use trunkline_catalog::{Document, Rule, Test, starter};

use crate::generation::form::{Form, wav};
use crate::generation::harness::MONEY;
use crate::response::GatewayResponse;
use crate::social::harness::{cells, records};
use crate::test_gateway::TestGateway;
use crate::videos::{cat, generation, make, quick};

const GENERATION: &str = include_str!("generation/catalog.toml");
const CODE: &str = "word_not_taken";

const VECTORS: &str = r#"
[models.vectors]
groups = ["default"]
tasks = ["embeddings"]
[models.vectors.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 0 }
"#;

/// Sells a model of a document with one more rule: a field is one word, or absent.
async fn sell_with_rule(
    harness: &TestGateway,
    mut document: Document,
    model: &str,
    field: &str,
    word: &str,
) {
    document.models.retain(|name, _| name == model);
    document.vendors.clear();
    document.groups.clear();
    document.auto_groups.clear();
    let entry = document.models.get_mut(model).unwrap();
    entry.rules.push(Rule {
        code: CODE.to_owned(),
        error_code: None,
        each: None,
        when: Vec::new(),
        must: Test {
            field: field.to_owned(),
            one_of: Some(vec![word.to_owned()]),
            present: None,
            or_absent: true,
        },
        fix: format!("send {word:?}"),
    });
    harness.sell_document(document).await;
}

fn generation_records() -> Document {
    Document::from_toml(GENERATION).unwrap()
}

fn check_refused(got: &GatewayResponse, field: &str) {
    let error = got.json()["error"].clone();
    let found = (got.status.as_u16(), &error["code"], &error["param"]);
    assert_eq!(found, (400, &json!(CODE), &json!(field)), "{}", got.text());
    assert_eq!(error["charged"], false);
}

/// A quote of the same request is refused by the same rule.
async fn check_quote(harness: &TestGateway, endpoint: &str, body: &Value, field: &str) {
    let ask = json!({ "endpoint": endpoint, "body": body });
    check_refused(&harness.post("/v1/quotes", &ask).await, field);
}

// covers: G-4.1-04
#[tokio::test]
async fn a_pass_through_call_that_breaks_a_rule_of_its_model_is_refused() {
    let harness = TestGateway::new().await;
    let document = Document::from_toml(VECTORS).unwrap();
    sell_with_rule(&harness, document, "vectors", "encoding_format", "float").await;
    let base = harness.simulator.base_url();
    harness
        .channel("small", &base, 10, &[("vectors", "sim-fast")])
        .await;
    let mut body = json!({ "model": "vectors", "input": "one", "encoding_format": "base64" });
    let got = harness.post("/v1/embeddings", &body).await;
    check_refused(&got, "encoding_format");
    check_quote(&harness, "embeddings", &body, "encoding_format").await;
    assert!(harness.simulator.requests().is_empty());
    body["encoding_format"] = "float".into();
    let got = harness.post("/v1/embeddings", &body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

// covers: G-4.1-04
#[tokio::test]
async fn images_that_break_a_rule_of_their_model_are_refused() {
    let harness = TestGateway::generation().await;
    sell_with_rule(&harness, generation_records(), "brush", "user", "team").await;
    let mut body = json!({ "model": "brush", "prompt": "a cat", "user": "me" });
    let got = harness.post("/v1/images/generations", &body).await;
    check_refused(&got, "user");
    check_quote(&harness, "images", &body, "user").await;
    // The fields of a form are fields, and its files are known by their types.
    let form = |user: &str| {
        let form = Form::default().text("model", "brush").text("prompt", "hat");
        let form = form.text("user", user);
        form.file("image", "cat.png", "image/png", b"\x89PNG\r\n\x1a\n")
    };
    let got = form("me").send(&harness, "/v1/images/edits").await;
    check_refused(&got, "user");
    sell_with_rule(
        &harness,
        generation_records(),
        "fine-brush",
        "image",
        "image/webp",
    )
    .await;
    let edit = Form::default().text("model", "fine-brush");
    let edit = edit.text("prompt", "hat");
    let edit = edit.file("image[]", "cat.png", "image/png", b"\x89PNG\r\n\x1a\n");
    let got = edit.send(&harness, "/v1/images/edits").await;
    check_refused(&got, "image");
    assert!(harness.simulator.image_calls().is_empty());
    assert_eq!(harness.posted_at_rest().await, MONEY);
    body["user"] = "team".into();
    let got = harness.post("/v1/images/generations", &body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

// covers: G-4.1-04
#[tokio::test]
async fn speech_that_breaks_a_rule_of_its_model_is_refused() {
    let harness = TestGateway::generation().await;
    sell_with_rule(
        &harness,
        generation_records(),
        "voice",
        "response_format",
        "mp3",
    )
    .await;
    let wrong = json!({ "response_format": "wav" });
    let got = harness.say("voice", "Hello.", wrong).await;
    check_refused(&got, "response_format");
    let body = json!({
        "model": "voice", "input": "Hello.", "voice": "alloy", "response_format": "wav",
    });
    check_quote(&harness, "speech", &body, "response_format").await;
    assert!(harness.simulator.audio_calls().is_empty());
    assert_eq!(harness.posted_at_rest().await, MONEY);
    let right = json!({ "response_format": "mp3" });
    let got = harness.say("voice", "Hello.", right).await;
    assert_eq!(got.status, 200);
    harness.audit().await;
}

// covers: G-4.1-04
#[tokio::test]
async fn a_transcription_that_breaks_a_rule_of_its_model_is_refused() {
    let harness = TestGateway::generation().await;
    sell_with_rule(&harness, generation_records(), "ears", "language", "en").await;
    let form = |language: &str| {
        let form = Form::default().text("model", "ears");
        let form = form.text("language", language);
        form.file("file", "talk.wav", "audio/wav", &wav(8_000))
    };
    for path in ["/v1/audio/transcriptions", "/v1/audio/translations"] {
        check_refused(&form("fr").send(&harness, path).await, "language");
    }
    let body = json!({ "model": "ears", "language": "fr", "file": { "seconds": 1 } });
    check_quote(&harness, "transcriptions", &body, "language").await;
    assert!(harness.simulator.audio_calls().is_empty());
    assert_eq!(harness.posted_at_rest().await, MONEY);
    let got = form("en").send(&harness, "/v1/audio/transcriptions").await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

// covers: G-4.1-04
#[tokio::test]
async fn a_video_that_breaks_a_rule_of_its_model_is_refused() {
    let harness = generation(quick()).await;
    sell_with_rule(
        &harness,
        starter().unwrap(),
        "wan2.7-t2v",
        "prompt",
        "a cat ",
    )
    .await;
    let wrong = cat("and a dog");
    check_refused(&make(&harness, &wrong).await, "prompt");
    check_quote(&harness, "videos", &wrong, "prompt").await;
    assert!(harness.simulator.video_jobs().is_empty());
    let got = make(&harness, &cat("")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

// covers: G-4.1-04
#[tokio::test]
async fn a_call_for_social_data_that_breaks_a_rule_of_its_cell_is_refused() {
    let harness = TestGateway::of_social().await;
    let document = Document::from_toml(&records(cells().all())).unwrap();
    sell_with_rule(
        &harness,
        document,
        "social-kuaishou-search",
        "keyword",
        "green tea",
    )
    .await;
    for path in ["kuaishou/search", "kuaishou/search/pages"] {
        check_refused(&harness.look(path, "keyword=coffee").await, "keyword");
    }
    let body = json!({ "keyword": "coffee" });
    check_quote(&harness, "/v1/social/kuaishou/search", &body, "keyword").await;
    assert!(harness.vendor_calls().is_empty());
    let got = harness.look("kuaishou/search", "keyword=green+tea").await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}

#[tokio::test]
async fn a_model_of_another_endpoint_is_refused_as_such_before_its_rules_are_looked_at() {
    let harness = TestGateway::generation().await;
    sell_with_rule(&harness, generation_records(), "voice", "user", "team").await;
    let body = json!({ "model": "voice", "prompt": "a cat", "user": "me" });
    let got = harness.post("/v1/images/generations", &body).await;
    assert_eq!(got.code(), "endpoint_not_supported", "{}", got.text());
}

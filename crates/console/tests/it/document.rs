//! The OpenAPI document and the schema of records.

use serde_json::Value;
use trunkline_catalog::workflow::SCHEMA;

use crate::client::{TestConsole, record};

#[tokio::test]
async fn the_document_describes_every_answer_and_every_error_of_every_path() {
    let test_console = TestConsole::new().await;
    test_console.keep(&record("clip")).await;
    let got = test_console.get("/openapi.json").await;
    assert_eq!(got.header("content-type"), "application/json");
    let document = got.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    let names: Vec<&String> = paths.keys().collect();
    let expected = [
        "/api/pricing",
        "/api/session",
        "/api/social/catalog",
        "/api/workflows",
        "/api/workflows/{slug}",
        "/healthz",
        "/openapi.json",
        "/schemas/workflow.json",
    ];
    for path in expected {
        assert!(names.iter().any(|name| *name == path), "{path}");
    }
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["operationId"].is_string(), "{method} {path}");
            every_error_is_told(path, method, operation);
        }
        if is_private(path) {
            continue;
        }
        let answered = test_console.get(&path.replace("{slug}", "clip")).await;
        assert_eq!(answered.status.as_u16(), 200, "{path} exists");
    }
    every_reference_is_there(&document, &document);
}

/// Whether a path needs a session; which ones those are is told by the tests of people.
fn is_private(path: &str) -> bool {
    let public = ["/api/pricing", "/api/social/catalog", "/api/workflows"];
    path.starts_with("/api/") && !public.iter().any(|known| path.starts_with(known))
}

fn every_error_is_told(path: &str, method: &str, operation: &Value) {
    let responses = operation["responses"].as_object().unwrap();
    let good = responses
        .keys()
        .filter(|status| status.starts_with('2') || *status == "302");
    assert_eq!(good.count(), 1, "{method} {path}");
    let is_private = is_private(path);
    let own = ["401", "403", "404"];
    let own = own.iter().filter(|_| is_private);
    let writing = ["409", "429"].iter();
    let writing = writing.filter(|_| is_private && method != "get");
    for status in ["400", "405", "413", "503"]
        .iter()
        .chain(own)
        .chain(writing)
    {
        let response = responses.get(*status);
        let response = response.unwrap_or_else(|| panic!("{method} {path} lacks {status}"));
        let content = response["content"].as_object().unwrap();
        let schema = &content.values().next().unwrap()["schema"];
        let error = "#/components/schemas/ErrorBody";
        assert_eq!(schema["$ref"], error, "{method} {path} {status}");
    }
}

fn every_reference_is_there(document: &Value, part: &Value) {
    match part {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
            map.values()
                .for_each(|part| every_reference_is_there(document, part));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|part| every_reference_is_there(document, part)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn the_schema_of_records_is_served_and_is_the_one_in_the_document() {
    let test_console = TestConsole::new().await;
    let got = test_console.get("/schemas/workflow.json").await;
    assert_eq!(got.header("content-type"), "application/schema+json");
    assert_eq!(got.body, SCHEMA.as_bytes());
    let mut schema = got.json();
    let inside =
        test_console.get("/openapi.json").await.json()["components"]["schemas"]["Workflow"].clone();
    let object = schema.as_object_mut().unwrap();
    object.remove("$schema");
    object.remove("$id");
    assert_eq!(inside, schema);
}

/// `just web-types` writes it, and the types of the pages from it.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that writes its own snapshot when told to"
)]
async fn the_document_is_the_one_that_pages_are_built_of() {
    let kept = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../web/openapi/openapi.json"
    );
    let document = TestConsole::new().await.get("/openapi.json").await.json();
    let text = format!("{document:#}\n");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(kept, &text).unwrap();
    }
    let known = std::fs::read_to_string(kept).unwrap_or_default();
    assert!(
        known == text,
        "the interface has changed; run `just web-types`"
    );
}

//! The OpenAPI document and the schema of records.

use serde_json::Value;
use trunkline_catalog::workflow::SCHEMA;

use crate::desk::{Desk, record};

#[tokio::test]
async fn the_document_describes_every_answer_and_every_error_of_every_path() {
    let desk = Desk::new().await;
    desk.keep(&record("clip")).await;
    let got = desk.get("/openapi.json").await;
    assert_eq!(got.header("content-type"), "application/json");
    let document = got.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    let names: Vec<&String> = paths.keys().collect();
    let expected = [
        "/api/pricing",
        "/api/social/catalog",
        "/api/workflows",
        "/api/workflows/{slug}",
        "/healthz",
        "/openapi.json",
        "/schemas/workflow.json",
    ];
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    for (path, item) in paths {
        let operation = &item["get"];
        assert!(operation["operationId"].is_string(), "{path}");
        let responses = operation["responses"].as_object().unwrap();
        for status in ["200", "400", "405", "413", "503"] {
            let response = responses.get(status);
            let response = response.unwrap_or_else(|| panic!("{path} lacks {status}"));
            let content = response["content"].as_object().unwrap();
            let schema = &content.values().next().unwrap()["schema"];
            if status != "200" {
                assert_eq!(
                    schema["$ref"], "#/components/schemas/ErrorBody",
                    "{path} {status}"
                );
            }
        }
        let answered = desk.get(&path.replace("{slug}", "clip")).await;
        assert_eq!(answered.status.as_u16(), 200, "{path} exists");
    }
    every_reference_is_there(&document, &document);
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
    let desk = Desk::new().await;
    let got = desk.get("/schemas/workflow.json").await;
    assert_eq!(got.header("content-type"), "application/schema+json");
    assert_eq!(got.body, SCHEMA.as_bytes());
    let mut schema = got.json();
    let inside =
        desk.get("/openapi.json").await.json()["components"]["schemas"]["Workflow"].clone();
    let object = schema.as_object_mut().unwrap();
    object.remove("$schema");
    object.remove("$id");
    assert_eq!(inside, schema);
}

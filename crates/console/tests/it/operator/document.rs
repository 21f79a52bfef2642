//! The operator's OpenAPI document: its own, complete, and not the customers'.

use serde_json::Value;
use trunkline_store::people::OperatorRole;

use crate::customer::harness::CustomerConsole;

const PATH: &str = "/api/operator/openapi.json";

#[tokio::test]
async fn operators_have_a_document_of_their_own_and_customers_see_none_of_it() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let document = console.read(&operator, PATH).await;
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 40, "{}", paths.len());
    for (path, item) in paths {
        assert!(path.starts_with("/api/operator/"), "{path}");
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["operationId"].is_string(), "{method} {path}");
            let responses = operation["responses"].as_object().unwrap();
            for status in ["400", "401", "403", "404", "503"] {
                assert!(responses.contains_key(status), "{method} {path} {status}");
            }
        }
    }
    every_reference_is_there(&document, &document);
    let customers = console.get(&operator, "/openapi.json").await.json();
    let text = customers.to_string();
    assert!(
        !text.contains("/api/operator/"),
        "customers read no operator route"
    );
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

/// `just web-types` writes it, and the types of the pages from it.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that writes its own snapshot when told to"
)]
async fn the_operators_document_is_the_one_that_pages_are_built_of() {
    let kept = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../web/openapi/operator.json"
    );
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let text = format!("{:#}\n", console.read(&operator, PATH).await);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(kept, &text).unwrap();
    }
    let known = std::fs::read_to_string(kept).unwrap_or_default();
    assert!(
        known == text,
        "the operator's interface has changed; run `just web-types`"
    );
}

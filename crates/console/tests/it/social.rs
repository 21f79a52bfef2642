//! `GET /api/social/catalog`.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::{Response, TestConsole, request};
use crate::fake_catalog::CATALOG;

const PATH: &str = "/api/social/catalog";
const PLAZA: &str = "/api/social/catalog?platform=plaza";

/// The catalog of models with prices for both cells of the test's platform.
fn priced() -> String {
    format!(
        r#"{CATALOG}
[models.social-plaza-search]
groups = ["default", "vip"]
endpoints = []
tasks = ["social-data"]
prices = {{ billing_unit = "per_call", standard = {{ per_call = 20000000000 }}, paid = {{ per_call = 18000000000 }} }}
[models.social-plaza-trending]
groups = ["vip"]
endpoints = []
tasks = ["social-data"]
prices = {{ billing_unit = "per_call", standard = {{ per_call = 3000 }} }}
"#
    )
}

fn cells(got: &Response) -> Vec<Value> {
    assert_eq!(got.status, StatusCode::OK, "{:?}", got.body);
    let body = got.json();
    assert_eq!(body["object"], "list");
    body["cells"].as_array().unwrap().clone()
}

async fn seen_with(test_console: &TestConsole, key: &str) -> Response {
    let mut request = request(Method::GET, PLAZA);
    let value = format!("Bearer {key}").parse().unwrap();
    request.headers_mut().insert("authorization", value);
    test_console.ask(request).await
}

fn prices_and_states(got: &Response) -> Vec<(Value, String)> {
    let of = |cell: &Value| {
        let status = cell["status"].as_str().unwrap().to_owned();
        (cell["price_usd"].clone(), status)
    };
    cells(got).iter().map(of).collect()
}

// covers: S-2.2-01, S-2.2-02, S-2.2-03, S-2.2-04, S-2.2-05, S-2.2-06, S-2.2-07, S-2.2-08, S-2.2-09, S-2.2-10
// covers: S-2.2-11, S-2.2-12, S-2.2-13, S-2.2-15, S-2.2-16, S-2.2-17, S-2.2-18, S-4.1-04, S-4.1-05, S-5-05
#[tokio::test]
async fn the_catalog_is_an_object_of_cells_with_every_field_and_needs_no_key() {
    let test_console = TestConsole::new().await;
    test_console.fake_catalog.sell(&priced());
    let got = test_console.get(PLAZA).await;
    assert_eq!(got.header("content-type"), "application/json");
    let expected = json!({
        "platform": "plaza",
        "label": "P99",
        "name": "Plaza",
        "capability": "search",
        "model": "social-plaza-search",
        "method": "GET",
        "path": "/v1/social/plaza/search",
        "params": [
            { "name": "keyword", "type": "string", "required": false, "example": "tea",
              "description": "What to look for. / 关键词。" },
            { "name": "topic", "type": "string", "required": false, "example": "food",
              "description": "Where to look. / 话题。" },
            { "name": "cursor", "type": "integer", "required": false, "default": 0, "example": 20,
              "description": "Of the page before. / 上一页的游标。" },
        ],
        "require_one_of": [["keyword", "topic"]],
        "price_usd": 0.018,
        "unit": "call",
        "status": "available",
        "pages": true,
    });
    assert_eq!(cells(&got)[0], expected, "at the price of who has paid in");
    let trending = &cells(&got)[1];
    assert_eq!(trending["params"], json!([]));
    assert_eq!(trending.get("require_one_of"), None);
    let all = cells(&test_console.get(PATH).await);
    assert_eq!(all.last(), Some(trending), "P99 comes after P20");
    let labels: Vec<&Value> = all.iter().map(|cell| &cell["label"]).collect();
    assert!(labels.is_sorted_by_key(|label| label.as_str().unwrap()[1..].parse::<u32>().unwrap()));
}

// covers: S-2.2-19, S-3-01, S-3-03
#[tokio::test]
async fn a_cell_without_a_price_and_one_paused_by_an_operator_are_paused() {
    let test_console = TestConsole::new().await;
    let bare = test_console.get(PLAZA).await;
    let paused = |price: Value| (price, "paused".to_owned());
    let available = |price: Value| (price, "available".to_owned());
    assert_eq!(
        prices_and_states(&bare),
        [paused(Value::Null), paused(Value::Null)]
    );
    test_console.fake_catalog.sell(&priced());
    let sold = [available(json!(0.018)), paused(Value::Null)];
    assert_eq!(prices_and_states(&test_console.get(PLAZA).await), sold);
    test_console.fake_catalog.pause(&["social-plaza-search"]);
    let held = [paused(json!(0.018)), paused(Value::Null)];
    assert_eq!(prices_and_states(&test_console.get(PLAZA).await), held);
    test_console.fake_catalog.pause(&[]);
    assert_eq!(prices_and_states(&test_console.get(PLAZA).await), sold);
}

#[tokio::test]
async fn a_key_sees_the_prices_of_its_group_whatever_models_it_may_use() {
    let test_console = TestConsole::new().await;
    test_console.fake_catalog.sell(&priced());
    let vip = seen_with(&test_console, "vip").await;
    let available = |price: Value| (price, "available".to_owned());
    // Half of 3,000 pico-USD is 1.5 nano-USD, and a charge is rounded half up.
    assert_eq!(
        prices_and_states(&vip),
        [available(json!(0.009)), available(json!(0.000_000_002))]
    );
    let narrow = seen_with(&test_console, "one").await;
    assert_eq!(prices_and_states(&narrow)[0], available(json!(0.018)));
    seen_with(&test_console, "nobody")
        .await
        .error(401, "invalid_api_key");
}

#[tokio::test]
async fn an_answer_is_not_sent_again_until_a_price_or_a_pause_is_other() {
    let test_console = TestConsole::new().await;
    test_console.fake_catalog.sell(&priced());
    let mut tag = test_console.get(PATH).await.headers["etag"].clone();
    let changes: [&dyn Fn(); 3] = [
        &|| test_console.fake_catalog.pause(&["social-plaza-search"]),
        &|| test_console.fake_catalog.pause(&[]),
        &|| {
            let dearer = priced().replace("18000000000", "19000000000");
            test_console.fake_catalog.sell(&dearer);
        },
    ];
    for change in changes {
        let known = |tag: &http::HeaderValue| {
            let mut request = request(Method::GET, PATH);
            request.headers_mut().insert("if-none-match", tag.clone());
            request
        };
        let same = test_console.ask(known(&tag)).await;
        assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
        change();
        let other = test_console.ask(known(&tag)).await;
        assert_eq!(other.status, StatusCode::OK);
        tag = other.headers["etag"].clone();
    }
}

#[tokio::test]
async fn a_platform_narrows_and_an_unknown_parameter_is_refused() {
    let test_console = TestConsole::new().await;
    let none = test_console
        .get("/api/social/catalog?platform=none-such")
        .await;
    assert_eq!(cells(&none), [Value::Null; 0]);
    let long = "x".repeat(201);
    for wrong in ["colour=red".to_owned(), format!("platform={long}")] {
        let got = test_console.get(&format!("{PATH}?{wrong}")).await;
        got.error(400, "invalid_request");
    }
}

/// The document says of a cell exactly what cells have.
#[tokio::test]
async fn every_cell_is_as_the_document_says() {
    let test_console = TestConsole::new().await;
    test_console.fake_catalog.sell(&priced());
    let document = test_console.get("/openapi.json").await.json();
    let schema = &document["components"]["schemas"]["SocialCell"];
    let all = cells(&test_console.get(PATH).await);
    assert!(all.len() > 2);
    for cell in &all {
        fits(cell, schema);
        for param in cell["params"].as_array().unwrap() {
            fits(param, &schema["properties"]["params"]["items"]);
        }
    }
}

fn fits(value: &Value, schema: &Value) {
    let object = value.as_object().unwrap();
    let properties = schema["properties"].as_object().unwrap();
    for name in schema["required"].as_array().unwrap() {
        assert!(
            object.contains_key(name.as_str().unwrap()),
            "{value} lacks {name}"
        );
    }
    for (name, part) in object {
        let known = properties
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {value}"));
        let word = match part {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if known["type"] == "number" || number.is_f64() => "number",
            Value::Number(_) if known["type"] == json!(["number", "null"]) => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let types = &known["type"];
        let listed = types
            .as_array()
            .is_some_and(|list| list.contains(&json!(word)));
        assert!(listed || *types == word, "{name} is {word}: {types}");
        if let Some(words) = known["enum"].as_array() {
            assert!(words.contains(part), "{name}: {part}");
        }
    }
}

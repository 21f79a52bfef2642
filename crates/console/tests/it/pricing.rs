//! `GET /api/pricing`.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::{Response, TestConsole, request};
use crate::fake_catalog::CATALOG;

fn names(got: &Response) -> Vec<String> {
    assert_eq!(got.status, StatusCode::OK, "{:?}", got.body);
    let records = got.json()["data"].as_array().unwrap().clone();
    let name = |record: &Value| record["model_name"].as_str().unwrap().to_owned();
    records.iter().map(name).collect()
}

async fn with_key(test_console: &TestConsole, key: &str) -> Response {
    let mut request = request(Method::GET, "/api/pricing");
    let value = format!("Bearer {key}").parse().unwrap();
    request.headers_mut().insert("authorization", value);
    test_console.ask(request).await
}

// covers: G-2.6-01, G-2.6-02, G-2.6-03, G-2.6-06, G-2.6-17, G-9-04, G-1-21
// covers: D-4-14
#[tokio::test]
async fn the_public_catalog_has_automatic_groups_and_records_and_needs_no_key() {
    let test_console = TestConsole::new().await;
    let got = test_console.get("/api/pricing").await;
    assert_eq!(
        names(&got),
        ["open-chat", "painter"],
        "sorted, and only what strangers see"
    );
    let body = got.json();
    assert_eq!(body["auto_groups"], json!(["default"]));
    let chat = &body["data"][0];
    assert_eq!(chat["owner_by"], "acme");
    assert_eq!(
        (&chat["vendor_id"], &chat["icon"]),
        (&json!(7), &json!("acme"))
    );
    assert_eq!(chat["tags"], "chat,cheap");
    assert_eq!(
        (&chat["quota_type"], &chat["login_required"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(
        (&chat["model_ratio"], &chat["completion_ratio"]),
        (&json!(1), &json!(4))
    );
    assert_eq!(chat["cache_ratio"], json!(0.1));
    assert_eq!(chat["enable_groups"], json!(["default", "vip"]));
    let specs: Value = serde_json::from_str(chat["specs"].as_str().unwrap()).unwrap();
    assert_eq!(specs["type"], "llm");
    let faces = &chat["book_faces"];
    assert_eq!(faces["standard"]["input"], 2_000_000);
    assert_eq!(faces["paid"]["input"], 1_500_000);
    assert_eq!(
        (&faces["route_count"], &faces["tier_count"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(faces["tiers"][1]["when"][0]["context_len_gt"], 200_000);
    let list = &chat["vendor_list"];
    assert_eq!(
        (&list["verdict"], &list["discount_pct"]),
        (&json!("below_list"), &json!(20))
    );
    assert_eq!(list["unverified_faces"], json!(["cache_read"]));
    assert_eq!(chat["route_health"]["success_ratio"], json!(0.995));
    let painter = &body["data"][1];
    assert_eq!(painter["model_price"], json!(0.02));
    assert_eq!(painter["book_faces"]["paid"], Value::Null);
    for absent in [
        "description",
        "vendor_list",
        "model_ratio",
        "route_health",
        "owner_by",
    ] {
        assert!(
            painter.get(absent).is_none(),
            "{absent} has no value and is left out"
        );
    }
    assert_eq!(painter["pricing_version"], chat["pricing_version"]);
    assert_eq!(chat["pricing_version"].as_str().unwrap().len(), 64);
}

// covers: D-2-33
#[tokio::test]
async fn a_record_for_members_is_invisible_without_a_key_and_shown_with_one() {
    let test_console = TestConsole::new().await;
    let hidden = test_console.get("/api/pricing").await;
    assert!(!names(&hidden).contains(&"members-only".to_owned()));
    assert!(
        !hidden.body.windows(12).any(|part| part == b"members-only"),
        "not even in passing"
    );
    let listed = with_key(&test_console, "one").await;
    let records = listed.json()["data"].as_array().unwrap().clone();
    let record = records
        .iter()
        .find(|record| record["model_name"] == "members-only");
    assert_eq!(record.unwrap()["login_required"], 1);
}

// covers: D-4-15
#[tokio::test]
async fn with_a_key_it_is_the_view_of_its_account() {
    let test_console = TestConsole::new().await;
    let vip = with_key(&test_console, "vip").await;
    assert_eq!(names(&vip), ["open-chat", "vip-only"]);
    let chat = &vip.json()["data"][0];
    assert_eq!(
        (&chat["billing_rate"], &chat["billing_rate_source"]),
        (&json!(0.5), &json!("vip"))
    );
    assert_eq!(
        names(&with_key(&test_console, "one").await),
        ["members-only"]
    );
    let unknown = with_key(&test_console, "nobody").await;
    assert_eq!(unknown.status, StatusCode::UNAUTHORIZED);
    assert_eq!(unknown.json()["error"]["code"], "invalid_api_key");
}

#[tokio::test]
async fn filters_narrow_and_an_unknown_one_is_refused() {
    let test_console = TestConsole::new().await;
    for (query, expected) in [
        ("model=painter", vec!["painter"]),
        ("q=everything", vec!["open-chat"]),
        ("vendor=acme", vec!["open-chat"]),
        ("type=image", vec!["painter"]),
        ("task=reasoning", vec!["open-chat"]),
        ("endpoint_type=image-generation", vec!["painter"]),
        ("endpoint_type=none-such", vec![]),
        ("group=vip", vec!["open-chat"]),
        ("type=llm&q=painter", vec![]),
    ] {
        assert_eq!(
            names(&test_console.get(&format!("/api/pricing?{query}")).await),
            expected,
            "{query}"
        );
    }
    for wrong in ["colour=red".to_owned(), format!("q={}", "x".repeat(201))] {
        let got = test_console.get(&format!("/api/pricing?{wrong}")).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn an_answer_is_not_sent_again_until_something_is_other() {
    let test_console = TestConsole::new().await;
    let first = test_console.get("/api/pricing").await;
    let tag = first.headers["etag"].clone();
    let mut repeated = request(Method::GET, "/api/pricing");
    repeated.headers_mut().insert("if-none-match", tag.clone());
    assert_eq!(
        test_console.ask(repeated).await.status,
        StatusCode::NOT_MODIFIED
    );
    test_console
        .fake_catalog
        .sell(&CATALOG.replace("per_call = 20000000000", "per_call = 30000000000"));
    let mut then = request(Method::GET, "/api/pricing");
    then.headers_mut().insert("if-none-match", tag);
    let got = test_console.ask(then).await;
    assert_eq!(got.status, StatusCode::OK);
    assert_eq!(got.json()["data"][1]["model_price"], json!(0.03));
    assert_ne!(
        got.json()["data"][0]["pricing_version"],
        first.json()["data"][0]["pricing_version"],
        "the version is of all prices"
    );
}

//! The models of a key, in the formats of three kinds of clients.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_store::{KeyGroup, PolicyFields};

use crate::test_gateway::{GatewayResponse, TestGateway, ask};

const MORE: &str = r#"
[models."meta/llama-3.1:70b"]
groups = ["default"]
created = 1721692800
description = "Open weights."
endpoints = ["openai", "gemini"]
specs = { context_window = 131072, max_output_tokens = 4096 }
[models."meta/llama-3.1:70b".prices]
billing_unit = "tokens"
standard = { input = 1, output = 2 }

[models.tune]
groups = ["default"]
endpoints = ["music-generation", "system-one"]
[models.tune.prices]
billing_unit = "per_call"
standard = { per_call = 1 }
"#;
const LLAMA: &str = "meta/llama-3.1:70b";

async fn harness() -> TestGateway {
    let harness = Box::pin(TestGateway::new()).await;
    harness.sell(MORE).await;
    harness
}

async fn get_with(
    harness: &TestGateway,
    path: &str,
    extra: &[(&'static str, &str)],
) -> GatewayResponse {
    let sent = harness
        .send_with(Method::GET, path, Bytes::new(), extra)
        .await;
    GatewayResponse::read(sent).await
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let all = list.as_array().unwrap().iter();
    all.map(|one| one[key].as_str().unwrap().to_owned())
        .collect()
}

const ALL: [&str; 6] = [
    LLAMA,
    "public-name",
    "sim-fast",
    "sim-picky",
    "sim-reason",
    "unserved",
];

// covers: D-4-16, D-4-17, D-4-18, D-4-19, D-4-20
#[tokio::test]
async fn the_headers_of_a_client_choose_the_shape_of_the_list() {
    let harness = harness().await;
    let openai = harness.get("/v1/models").await.json();
    assert_eq!(openai["object"], "list");
    assert_eq!(
        names(&openai["data"], "id"),
        ALL,
        "and nothing without an endpoint"
    );
    assert_eq!(
        openai["data"][0],
        json!({ "id": LLAMA, "object": "model", "created": 1_721_692_800, "owned_by": "trunkline",
            "display_name": LLAMA, "supported_endpoint_types": ["openai", "gemini"] })
    );
    let theirs = [("anthropic-version", "2023-06-01")];
    let anthropic = get_with(&harness, "/v1/models", &theirs).await.json();
    assert_eq!(names(&anthropic["data"], "id"), ALL);
    assert_eq!(
        anthropic["data"][0],
        json!({ "type": "model", "id": LLAMA, "display_name": LLAMA, "created_at": "2024-07-23T00:00:00Z" })
    );
    assert_eq!(
        (
            &anthropic["has_more"],
            &anthropic["first_id"],
            &anthropic["last_id"]
        ),
        (&json!(false), &json!(LLAMA), &json!("unserved"))
    );
    let gemini = harness.get("/v1beta/models").await.json();
    let own: Vec<String> = ALL.iter().map(|name| format!("models/{name}")).collect();
    assert_eq!(names(&gemini["models"], "name"), own);
    assert!(gemini["nextPageToken"].is_null());
    assert_eq!(
        gemini["models"][0],
        json!({ "name": format!("models/{LLAMA}"), "baseModelId": LLAMA, "version": "1", "displayName": LLAMA,
            "description": "Open weights.", "inputTokenLimit": 131_072, "outputTokenLimit": 4_096,
            "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"] })
    );
    let key = harness.key.clone();
    let by_header = get_with(&harness, "/v1/models", &[("x-goog-api-key", &key)]).await;
    assert_eq!(by_header.json(), gemini);
    let by_address = harness.get(&format!("/v1beta/models?key={key}")).await;
    assert_eq!(by_address.json(), gemini);
}

// covers: D-4-17
#[tokio::test]
async fn one_model_is_found_by_its_name_with_slashes_written_either_way() {
    let harness = harness().await;
    let theirs = [("anthropic-version", "2023-06-01")];
    for path in ["meta/llama-3.1:70b", "meta%2Fllama-3.1%3A70b"] {
        let openai = harness.get(&format!("/v1/models/{path}")).await.json();
        assert_eq!(openai["id"], LLAMA);
        let anthropic = get_with(&harness, &format!("/v1/models/{path}"), &theirs).await;
        assert_eq!(anthropic.json()["type"], "model");
        let gemini = harness.get(&format!("/v1beta/models/{path}")).await.json();
        assert_eq!(gemini["name"], format!("models/{LLAMA}"));
    }
    for unknown in [
        "nobody",
        "vip-only",
        "tune",
        "meta",
        "meta%2",
        "%ff",
        "sim-fast%00",
    ] {
        for version in ["v1", "v1beta"] {
            let got = harness.get(&format!("/{version}/models/{unknown}")).await;
            assert_eq!(got.status, 404, "{unknown}");
            // Each in the shape of its interface.
            let error = &got.json()["error"];
            let code = match version {
                "v1" => &error["code"],
                _ => &error["details"][0]["reason"],
            };
            assert_eq!(code, "model_not_found", "{unknown}");
        }
    }
}

#[tokio::test]
async fn pages_go_through_all_models_once_in_either_direction() {
    let harness = harness().await;
    let theirs = [("anthropic-version", "2023-06-01")];
    let page = async |query: String| {
        let got = get_with(&harness, &format!("/v1/models?{query}"), &theirs).await;
        assert_eq!(got.status, 200, "{}", got.text());
        got.json()
    };
    let mut seen = Vec::new();
    let mut query = "limit=4".to_owned();
    loop {
        let one = page(query).await;
        seen.extend(names(&one["data"], "id"));
        if one["has_more"] == false {
            break;
        }
        let last = one["last_id"].as_str().unwrap();
        query = format!("limit=4&after_id={last}");
    }
    assert_eq!(seen, ALL);
    let back = page("limit=2&before_id=sim-fast".to_owned()).await;
    assert_eq!(names(&back["data"], "id"), [LLAMA, "public-name"]);
    assert_eq!(back["has_more"], false);
    let back = page("limit=2&before_id=sim-reason".to_owned()).await;
    assert_eq!(names(&back["data"], "id"), ["sim-fast", "sim-picky"]);
    assert_eq!(back["has_more"], true);
    let after = page("after_id=meta%2Fllama-3.1%3A70b&limit=1".to_owned()).await;
    assert_eq!(names(&after["data"], "id"), ["public-name"]);
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1beta/models?pageSize=4&pageToken={token}");
        let one = harness.get(&path).await.json();
        seen.extend(names(&one["models"], "baseModelId"));
        match one["nextPageToken"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, ALL);
    for wrong in ["limit=0", "limit=1001", "limit=many", "limit=-1"] {
        let got = get_with(&harness, &format!("/v1/models?{wrong}"), &theirs).await;
        assert_eq!(
            (got.status.as_u16(), &got.json()["error"]["param"]),
            (400, &json!("limit"))
        );
    }
}

#[tokio::test]
async fn a_key_sees_what_it_may_use_and_no_more() {
    let mut harness = harness().await;
    let listed =
        async |harness: &TestGateway| names(&harness.get("/v1/models").await.json()["data"], "id");
    harness.key = harness
        .make_key(PolicyFields {
            group: KeyGroup::Named("vip".to_owned()),
            ..PolicyFields::default()
        })
        .await;
    assert_eq!(listed(&harness).await, ["sim-fast", "vip-only"]);
    harness.key = harness
        .make_key(PolicyFields {
            models: Some(vec!["sim-fast".to_owned(), "vip-only".to_owned()]),
            ..PolicyFields::default()
        })
        .await;
    assert_eq!(listed(&harness).await, ["sim-fast"], "and its group sells");
    assert_eq!(harness.get("/v1/models/sim-picky").await.status, 404);
    let got = harness
        .chat(&json!({ "model": "sim-picky", "messages": [] }))
        .await;
    assert_eq!(got.status, 400, "{}", got.text());
    "sk-tl-nobody".clone_into(&mut harness.key);
    assert_eq!(harness.get("/v1/models").await.status, 401);
}

// covers: D-3-32, D-4-21
#[tokio::test]
async fn a_model_without_an_endpoint_cannot_be_called() {
    let harness = harness().await;
    let mut body = ask("Hello");
    body["model"] = "tune".into();
    let got = harness.chat(&body).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "endpoint_not_supported")
    );
    assert_eq!(got.json()["error"]["param"], "model");
    assert_eq!(harness.posted_at_rest().await, 10_000_000_000);
}

//! Responses that are continued by their ids, and the paths around them; real HTTP, a real ledger, the
//! simulator of the Responses API behind two channels.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_store::PolicyFields;

use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway};

const CATALOG: &str = r#"
[models.sim-keeps]
groups = ["default"]
specs = { type = "llm", max_output_tokens = 4096 }
[models.sim-keeps.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000, cache_read = 200000 }
"#;

async fn harness() -> TestGateway {
    let harness = TestGateway::new().await;
    harness.sell(CATALOG).await;
    let base = harness.simulator.base_url();
    let options = || ChannelOptions {
        provider: Some("simulator_responses"),
        priority: 10,
        ..ChannelOptions::default()
    };
    // Two channels: an id must find its own.
    for name in ["keeper one", "keeper two"] {
        let models = [("sim-keeps", "sim-fast")];
        harness.channel_with(name, &base, &models, options()).await;
    }
    harness
}

fn ask(input: &str) -> Value {
    json!({ "model": "sim-keeps", "input": input })
}

fn after(id: &str, input: &str) -> Value {
    json!({ "model": "sim-keeps", "input": input, "previous_response_id": id })
}

impl TestGateway {
    async fn respond(&self, body: &Value) -> GatewayResponse {
        let bytes = Bytes::from(body.to_string());
        GatewayResponse::read(self.send(Method::POST, "/v1/responses", bytes).await).await
    }

    async fn call(&self, method: Method, path: &str) -> GatewayResponse {
        GatewayResponse::read(self.send(method, path, Bytes::new()).await).await
    }
}

fn id_of(got: &GatewayResponse) -> String {
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["id"].as_str().unwrap().to_owned()
}

// covers: G-2.1-13
#[tokio::test]
async fn a_response_continues_on_its_channel_from_any_node_under_a_public_id() {
    let harness = harness().await;
    let first = harness.respond(&ask("Remember seven [[tokens:4]]")).await;
    let id = id_of(&first);
    assert!(id.starts_with("resp_"), "{id}");
    let other = harness.second_node(Arc::new(SystemClock)).await;
    let body = Bytes::from(after(&id, "And now? [[tokens:3]]").to_string());
    let to = (other.address, harness.key.as_str());
    let path = "/v1/responses";
    let second =
        GatewayResponse::read(harness.send_as(to, Method::POST, path, body, &[]).await).await;
    let second_id = id_of(&second);
    assert_ne!(second_id, id);
    assert_eq!(second.json()["previous_response_id"], id.as_str());
    assert_eq!(second.json()["model"], "sim-keeps");
    let truth = harness.simulator.requests();
    let sent: Value = serde_json::from_slice(&truth[1].body).unwrap();
    let theirs = sent["previous_response_id"].as_str().unwrap();
    assert!(theirs.starts_with("resp_") && theirs != id, "{theirs}");
    assert!(!first.text().contains(theirs), "the real id stays inside");
    // What is charged is what the upstream read, the response before included.
    let reported = |at: usize| truth[at].told_usage.unwrap();
    assert!(
        reported(1).0 > reported(0).0,
        "{:?}",
        (reported(0), reported(1))
    );
    let (_, charged, _, _) = harness.usage(&second.id()).await;
    let due = i64::try_from(reported(1).0 * 2_000 + reported(1).1 * 8_000).unwrap();
    assert_eq!(charged, due);
    harness.audit().await;
}

#[tokio::test]
async fn a_stored_response_is_read_listed_cancelled_and_deleted_by_its_owner() {
    let harness = harness().await;
    let id = id_of(&harness.respond(&ask("Keep this [[tokens:4]]")).await);
    let path = format!("/v1/responses/{id}");
    let read = harness.call(Method::GET, &path).await;
    assert_eq!(id_of(&read), id);
    assert_eq!(read.json()["model"], "sim-keeps");
    let items = harness
        .call(Method::GET, &format!("{path}/input_items?limit=5"))
        .await;
    assert_eq!(items.status, 200, "{}", items.text());
    assert_eq!(items.json()["data"][0]["role"], "user");
    let stop = harness.call(Method::POST, &format!("{path}/cancel")).await;
    assert_eq!(
        stop.status,
        400,
        "only one in the background can be stopped: {}",
        stop.text()
    );
    let wrong = harness.call(Method::PUT, &path).await;
    assert_eq!(wrong.status, 405);

    let stranger = harness.make_account_key().await;
    let to = (harness.address, stranger.as_str());
    let body = Bytes::new();
    let theirs =
        GatewayResponse::read(harness.send_as(to, Method::GET, &path, body, &[]).await).await;
    assert_eq!(
        (theirs.status.as_u16(), theirs.code().as_str()),
        (404, "not_found")
    );
    let body = Bytes::from(after(&id, "Tell me").to_string());
    let gone_on = harness
        .send_as(to, Method::POST, "/v1/responses", body, &[])
        .await;
    let gone_on = GatewayResponse::read(gone_on).await;
    assert_eq!(gone_on.status, 400);
    assert_eq!(gone_on.code(), "previous_response_not_found");
    assert_eq!(gone_on.json()["error"]["param"], "previous_response_id");

    let gone = harness.call(Method::DELETE, &path).await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    assert_eq!(gone.json()["id"], id.as_str());
    assert_eq!(gone.json()["deleted"], true);
    assert_eq!(harness.call(Method::GET, &path).await.status, 404);
    for made_up in ["resp_", "resp_0123456789", "nothing"] {
        let got = harness
            .call(Method::GET, &format!("/v1/responses/{made_up}"))
            .await;
        assert_eq!(got.status, 404, "{made_up}");
    }
    harness.audit().await;
}

// covers: D-3-25, D-3-26, D-3-28, D-3-29, D-3-30, D-4-37
#[tokio::test]
async fn a_customer_finds_a_foreign_response_as_unknown_as_one_that_never_was() {
    let harness = harness().await;
    let foreign = id_of(&harness.respond(&ask("Mine [[tokens:2]]")).await);
    let calls = harness.simulator.requests().len();
    let stranger = harness.make_account_key().await;
    let to = (harness.address, stranger.as_str());
    let mut refusals = Vec::new();
    for id in [foreign.as_str(), "resp_0123456789"] {
        let body = Bytes::from(after(id, "Tell me").to_string());
        let sent = harness.send_as(to, Method::POST, "/v1/responses", body, &[]);
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (400, "previous_response_not_found"),
            "{id}"
        );
        let error = &got.json()["error"];
        assert_eq!(error["param"], "previous_response_id", "{id}");
        assert_eq!(error["charged"], json!(false), "{id}");
        let mut whole = got.json();
        let named = whole["error"].as_object_mut().unwrap().remove("request_id");
        assert_eq!(named, Some(json!(got.id())), "{id}");
        refusals.push(whole);
        for method in [Method::GET, Method::DELETE] {
            let path = format!("/v1/responses/{id}");
            let sent = harness.send_as(to, method.clone(), &path, Bytes::new(), &[]);
            let got = GatewayResponse::read(sent.await).await;
            assert_eq!(
                (got.status.as_u16(), got.code().as_str()),
                (404, "not_found"),
                "{method} {id}"
            );
        }
    }
    assert_eq!(refusals[0], refusals[1], "the same to the last key");
    assert_eq!(
        harness.simulator.requests().len(),
        calls,
        "nothing was sent"
    );
    let path = format!("/v1/responses/{foreign}");
    let kept = harness.call(Method::GET, &path).await;
    assert_eq!(kept.status, 200, "its owner still has it: {}", kept.text());
    harness.audit().await;
}

// covers: D-4-39, D-4-40
#[tokio::test]
async fn an_id_not_yet_stored_is_retried_internally_whole_and_streamed() {
    for (spelling, stream) in [
        ("status400", false),
        ("status404", false),
        ("no_code", false),
        ("error_event", true),
        ("failed_event", true),
        ("late_failed_event", true),
    ] {
        let harness = harness().await;
        let first = ask("Soon [[tokens:4]] [[fault:not_ready:1]]");
        let id = id_of(&harness.respond(&first).await);
        let mut body = after(&id, &format!("Now? [[tokens:3]] [[not_found:{spelling}]]"));
        body["stream"] = json!(stream);
        let began = Instant::now();
        let got = harness.respond(&body).await;
        assert_eq!(got.status, 200, "{spelling}: {}", got.text());
        assert!(began.elapsed() < Duration::from_secs(15), "{spelling}");
        if stream {
            assert!(
                got.text().contains("response.completed"),
                "{spelling}: {}",
                got.text()
            );
            assert!(
                !got.text().contains("not_found\""),
                "{spelling}: {}",
                got.text()
            );
        }
        assert!(
            harness.simulator.requests().len() > 2,
            "{spelling}: it was asked again"
        );
        let (outcome, _, _, _) = harness.usage(&got.id()).await;
        assert_eq!(outcome, "complete", "{spelling}");
        harness.audit().await;
    }
}

#[tokio::test]
async fn what_was_not_kept_cannot_be_continued_and_the_way_out_is_told() {
    let harness = harness().await;
    let mut unkept = ask("Forget this [[tokens:3]]");
    unkept["store"] = json!(false);
    let id = id_of(&harness.respond(&unkept).await);
    let refused = harness.respond(&after(&id, "Go on")).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.code(), "previous_response_not_found");
    assert!(refused.text().contains("`input`"), "{}", refused.text());
    // The same for a model whose upstream keeps nothing, since it speaks chat completions.
    let mut other = ask("Hello [[tokens:3]]");
    other["model"] = json!("sim-fast");
    let id = id_of(&harness.respond(&other).await);
    let mut more = after(&id, "Go on");
    more["model"] = json!("sim-fast");
    let refused = harness.respond(&more).await;
    assert_eq!(
        refused.code(),
        "previous_response_not_found",
        "{}",
        refused.text()
    );
    assert_eq!(
        harness
            .call(Method::GET, &format!("/v1/responses/{id}"))
            .await
            .status,
        404
    );
    for (field, value) in [
        ("conversation", json!("conv_1")),
        ("background", json!(true)),
        ("prompt", json!({ "id": "pmpt_1" })),
        (
            "input",
            json!([{ "type": "item_reference", "id": "msg_1" }]),
        ),
    ] {
        let mut body = ask("Hello");
        body[field] = value;
        let got = harness.respond(&body).await;
        assert_eq!(got.status, 400, "{field}: {}", got.text());
        assert_eq!(got.code(), "reference_not_supported", "{field}");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_key_that_may_not_use_responses_reads_none() {
    let harness = harness().await;
    let id = id_of(&harness.respond(&ask("Keep [[tokens:2]]")).await);
    let only_chat = PolicyFields {
        endpoints: Some(vec!["chat".to_owned()]),
        ..PolicyFields::default()
    };
    let key = harness.make_key(only_chat).await;
    let path = format!("/v1/responses/{id}");
    let answer = harness.send_as(
        (harness.address, &key),
        Method::GET,
        &path,
        Bytes::new(),
        &[],
    );
    assert_eq!(
        GatewayResponse::read(answer.await).await.code(),
        "endpoint_not_allowed"
    );
}

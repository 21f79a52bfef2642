//! Webhooks of an account: made, shown, changed, told of what happens, and signed.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_store::PolicyFields;
use trunkline_types::Topic;

use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};
use crate::webhooks_receiver::{
    Receiver, act, all, counted, deliveries, happens, happens_to_all, hook, make, post, until, work,
};

async fn patch(harness: &TestGateway, path: &str, body: &Value) -> GatewayResponse {
    let body = Bytes::from(body.to_string());
    GatewayResponse::read(harness.send(Method::PATCH, path, body).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_created_with_its_own_secret_shown_once() {
    let harness = TestGateway::new().await;
    let url = "http://127.0.0.1:9999/hook/very-secret-path";
    let ask = json!({ "url": url, "topics": ["task.completed"], "description": "n8n" });
    let got = post(&harness, "/v1/webhooks", &ask).await;
    assert_eq!(got.status, 201, "{}", got.text());
    let mut made = got.json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    assert!(
        secret.starts_with("whsec_") && secret.len() == 50,
        "{secret}"
    );
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    made.as_object_mut().unwrap().remove("secret");
    assert_eq!(harness.get(&path).await.json(), made);
    assert_eq!(made["url"], url);
    assert_eq!(made["state"], "active");
    let list = harness.get("/v1/webhooks").await.json();
    assert_eq!(list["data"], json!([made]));

    // What is at rest cannot be read without the keys.
    let rows = harness
        .db
        .ask("SELECT encode(url, 'escape') || encode(secret, 'escape') FROM app.webhook")
        .await;
    assert!(!rows[0].contains("very-secret-path") && !rows[0].contains(&secret[6..]));

    let changed = patch(
        &harness,
        &path,
        &json!({ "topics": null, "description": null }),
    )
    .await;
    assert_eq!(changed.json()["topics"], Value::Null);
    assert_eq!(changed.json()["description"], Value::Null);
    assert_eq!(changed.json()["url"], url);
    let moved = patch(
        &harness,
        &path,
        &json!({ "url": "http://127.0.0.1:9999/other" }),
    )
    .await;
    assert_eq!(moved.json()["url"], "http://127.0.0.1:9999/other");

    let stranger = harness.make_account_key().await;
    let as_stranger = |method, path: String| {
        let (harness, stranger) = (&harness, &stranger);
        async move {
            let to = (harness.address, stranger.as_str());
            GatewayResponse::read(harness.send_as(to, method, &path, Bytes::new(), &[]).await).await
        }
    };
    for (method, below) in [
        (Method::GET, ""),
        (Method::DELETE, ""),
        (Method::POST, "/rotate"),
        (Method::POST, "/test"),
        (Method::POST, "/resume"),
        (Method::GET, "/deliveries"),
    ] {
        let got = as_stranger(method.clone(), format!("{path}{below}")).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (404, "not_found"),
            "{below}"
        );
    }
    let gone = GatewayResponse::read(harness.send(Method::DELETE, &path, Bytes::new()).await).await;
    assert_eq!(gone.json()["deleted"], true);
    assert_eq!(harness.get(&path).await.status, 404);
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_meant_is_refused_and_an_account_has_twenty_at_most() {
    let harness = TestGateway::new().await;
    for (body, param) in [
        (json!({}), "url"),
        (json!({ "url": "ftp://example.com/" }), "url"),
        (json!({ "url": "not an address" }), "url"),
        (json!({ "url": "http://10.0.0.1/hook" }), "url"),
        (json!({ "url": "http://169.254.169.254/latest" }), "url"),
        (json!({ "url": "http://localhost/hook" }), "url"),
        (
            json!({ "url": "http://127.0.0.1:9999/", "topic": "a" }),
            "topic",
        ),
        (
            json!({ "url": "http://127.0.0.1:9999/", "topics": ["task.progress"] }),
            "topics",
        ),
    ] {
        let got = post(&harness, "/v1/webhooks", &body).await;
        assert_eq!(got.status, 400, "{body}: {}", got.text());
        assert_eq!(got.json()["error"]["param"], param, "{body}");
    }
    for n in 0..20 {
        make(
            &harness,
            &json!({ "url": format!("http://127.0.0.1:9999/{n}") }),
        )
        .await;
    }
    let more = post(
        &harness,
        "/v1/webhooks",
        &json!({ "url": "http://127.0.0.1:9999/" }),
    )
    .await;
    assert_eq!(
        (more.status.as_u16(), more.code().as_str()),
        (400, "too_many_webhooks")
    );
    let narrow = harness
        .make_key(PolicyFields {
            endpoints: Some(vec!["chat".to_owned()]),
            ..PolicyFields::default()
        })
        .await;
    let to = (harness.address, narrow.as_str());
    let got = harness.send_as(to, Method::GET, "/v1/webhooks", Bytes::new(), &[]);
    let got = GatewayResponse::read(got.await).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "endpoint_not_allowed")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_delivered_once_signed_and_to_their_subscribers() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let everything = hook(&harness, &receiver).await;
    let ask = json!({ "url": receiver.url("/tasks"), "topics": ["task.failed"] });
    let tasks = make(&harness, &ask).await;
    let event = happens(
        &harness,
        Topic::BalanceLow,
        json!({ "available_usd": "1.5" }),
    )
    .await;
    let list = until(&harness, &everything, all("delivered")).await;
    for _ in 0..10 {
        work(&harness.data, &harness.gateway).await;
    }
    let received = receiver.received();
    assert_eq!(received.len(), 1, "once, and not to who did not ask");
    assert_eq!(
        (received[0].path.as_str(), received[0].id()),
        ("/hook", event.to_string())
    );
    assert_eq!(received[0].headers["content-type"], "application/json");
    assert!(received[0].is_signed_with(&everything.secret));
    assert!(!received[0].is_signed_with(&tasks.secret));
    assert_eq!(received[0].signatures().len(), 1);
    let message = received[0].json();
    assert_eq!(message["type"], "balance.low");
    assert!(message["timestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(message["data"]["available_usd"], "1.5");
    assert_eq!(message["data"]["seq"], 1);
    assert_eq!(message["data"]["id"], event.to_string());
    assert_eq!(list[0]["event"], event.to_string());
    assert_eq!(
        (&list[0]["tries"], &list[0]["last_status"]),
        (&json!(1), &json!(200))
    );
    assert_eq!(list[0]["next_try_at"], Value::Null);
    assert!(deliveries(&harness, &tasks).await.is_empty());
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolled_back_event_is_not_delivered() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    let mut tx = harness.data.begin().await.unwrap();
    let event = trunkline_db::events::NewEvent {
        id: trunkline_types::uuid_v7(
            trunkline_types::Clock::now(&trunkline_db::SystemClock),
            trunkline_testkit::random_bytes(),
        ),
        account: harness.account,
        topic: Topic::KeyRevoked,
        task: None,
        body: json!({}),
    };
    trunkline_db::events::append(&mut tx, &[event])
        .await
        .unwrap();
    tx.rollback().await.unwrap();
    let kept = happens(&harness, Topic::KeyRevoked, json!({})).await;
    until(&harness, &made, all("delivered")).await;
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].id(), kept.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn system_events_are_delivered_to_every_subscribed_account() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let own = hook(&harness, &receiver).await;
    let other_key = harness.make_account_key().await;
    let to = (harness.address, other_key.as_str());
    for (path, topics) in [
        ("/other", json!(null)),
        ("/prices", json!(["price.changed"])),
    ] {
        let ask = json!({ "url": receiver.url(path), "topics": topics });
        let body = Bytes::from(ask.to_string());
        let got = harness
            .send_as(to, Method::POST, "/v1/webhooks", body, &[])
            .await;
        assert_eq!(got.status, 201);
    }
    let event = happens_to_all(&harness, Topic::ModelPaused).await;
    until(&harness, &own, all("delivered")).await;
    counted(&harness, "delivered", 2).await;
    // A webhook that is made later does not get it.
    make(&harness, &json!({ "url": receiver.url("/late") })).await;
    for _ in 0..10 {
        work(&harness.data, &harness.gateway).await;
    }
    let mut paths: Vec<String> = receiver
        .received()
        .iter()
        .map(|one| one.path.clone())
        .collect();
    paths.sort();
    assert_eq!(paths, ["/hook", "/other"]);
    assert!(
        receiver
            .received()
            .iter()
            .all(|one| one.id() == event.to_string())
    );
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_message_is_sent_at_once_and_what_came_back_is_told() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    let test = format!("{}/test", made.path);
    let reported = act(&harness, &test).await;
    assert_eq!(
        (&reported["delivered"], &reported["status"]),
        (&json!(true), &json!(200))
    );
    let received = receiver.received();
    assert!(received[0].is_signed_with(&made.secret));
    assert_eq!(received[0].json()["type"], "webhook.test");
    receiver.answer(503);
    let reported = act(&harness, &test).await;
    assert_eq!(
        (&reported["delivered"], &reported["status"]),
        (&json!(false), &json!(503))
    );
    assert_eq!(reported["error"], "status");
    assert_ne!(receiver.received()[1].id(), received[0].id());
    assert!(deliveries(&harness, &made).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_listed_in_pages_newest_first() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    for n in 0..5 {
        happens(&harness, Topic::CallRefunded, json!({ "n": n })).await;
    }
    until(&harness, &made, all("delivered")).await;
    let mut seqs = Vec::new();
    let mut after = String::new();
    loop {
        let page = harness
            .get(&format!("{}/deliveries?limit=2{after}", made.path))
            .await
            .json();
        let list = page["data"].as_array().unwrap().clone();
        seqs.extend(list.iter().map(|one| one["seq"].as_i64().unwrap()));
        if page["has_more"] == false {
            break;
        }
        after = format!("&after={}", list.last().unwrap()["id"].as_str().unwrap());
    }
    assert_eq!(seqs, [5, 4, 3, 2, 1]);
    for query in ["limit=0", "limit=101", "limit=x", "order=asc"] {
        let got = harness
            .get(&format!("{}/deliveries?{query}", made.path))
            .await;
        assert_eq!(got.status, 400, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_tell_everything_and_nothing_twice() {
    const EVENTS: usize = 60;
    let harness = TestGateway::build(TestOptions::default()).await;
    let second = harness
        .second_node(std::sync::Arc::new(trunkline_db::SystemClock))
        .await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    for n in 0..EVENTS {
        happens(&harness, Topic::CallRefunded, json!({ "n": n })).await;
    }
    for _ in 0..1_500 {
        tokio::join!(
            work(&harness.data, &harness.gateway),
            work(&harness.data, &second.gateway)
        );
        if all("delivered")(&deliveries(&harness, &made).await) {
            break;
        }
    }
    assert!(all("delivered")(&deliveries(&harness, &made).await));
    let mut ids: Vec<String> = receiver.received().iter().map(|one| one.id()).collect();
    assert_eq!(ids.len(), EVENTS);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), EVENTS);
    harness.audit().await;
}

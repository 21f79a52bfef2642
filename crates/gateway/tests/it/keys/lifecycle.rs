//! What becomes of a key: another secret, off and on, another end, gone.

use http::Method;
use serde_json::json;
use trunkline_store::PolicyFields;

use crate::keys::calls::{below, call, chat, fine, no, own_id};
use crate::test_gateway::TestGateway;

#[tokio::test]
async fn a_rotated_key_keeps_its_id_and_both_secrets_until_the_overlap_ends() {
    let harness = TestGateway::new().await;
    let first = harness.make_key(PolicyFields::default()).await;
    let id = own_id(&harness, &first).await;
    let path = format!("/v1/keys/{id}/rotate");
    let case = Some(json!({ "overlap_seconds": 3_600 }));
    let got = call(&harness, &first, (Method::POST, &path), case).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let second = got.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(got.json()["id"], id);
    assert!(got.json()["previous_until"].is_i64(), "{}", got.text());
    assert_eq!(chat(&harness, &first).await, fine());
    assert_eq!(chat(&harness, &second).await, fine());
    assert_eq!(own_id(&harness, &second).await, id);
    // Rotating again ends the overlap before; without an overlap the last secret is over at once.
    let case = Some(json!({ "overlap_seconds": 0 }));
    let got = call(&harness, &second, (Method::POST, &path), case).await;
    let third = got.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(chat(&harness, &first).await, no(401, "invalid_api_key"));
    assert_eq!(chat(&harness, &second).await, no(401, "revoked_api_key"));
    assert_eq!(chat(&harness, &third).await, fine());
    let case = Some(json!({ "overlap_seconds": 2_592_001 }));
    let got = call(&harness, &third, (Method::POST, &path), case).await;
    assert_eq!(
        (got.status.as_u16(), got.code()),
        no(400, "invalid_request")
    );
    assert!(got.text().contains("from 0 to 2592000"), "{}", got.text());
    harness.audit().await;
}

#[tokio::test]
async fn a_key_that_is_off_or_over_stops_all_below_it_while_that_lasts() {
    let harness = TestGateway::new().await;
    let top = harness.make_key(PolicyFields::default()).await;
    let (middle, middle_id) = below(&harness, &top, json!({})).await;
    let (bottom, _) = below(&harness, &middle, json!({})).await;
    assert_eq!(chat(&harness, &bottom).await, fine());
    let verb = |verb: &str| format!("/v1/keys/{middle_id}/{verb}");
    let off = call(&harness, &top, (Method::POST, &verb("disable")), None).await;
    assert_eq!(off.json()["state"], "disabled", "{}", off.text());
    assert_eq!(chat(&harness, &middle).await, no(401, "revoked_api_key"));
    assert_eq!(chat(&harness, &bottom).await, no(401, "revoked_api_key"));
    assert_eq!(chat(&harness, &top).await, fine());
    let on = call(&harness, &top, (Method::POST, &verb("enable")), None).await;
    assert_eq!(on.json()["state"], "live", "{}", on.text());
    assert_eq!(chat(&harness, &bottom).await, fine());
    let one = format!("/v1/keys/{middle_id}");
    let ends = Some(json!({ "expires_in_seconds": 1, "name": "short" }));
    let got = call(&harness, &top, (Method::PATCH, &one), ends).await;
    assert_eq!(got.json()["name"], "short", "{}", got.text());
    let mut answers = Vec::new();
    for _ in 0..600 {
        answers = vec![chat(&harness, &middle).await, chat(&harness, &bottom).await];
        if answers.iter().all(|answer| answer.0 == 401) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(
        answers,
        [no(401, "expired_api_key"), no(401, "expired_api_key")]
    );
    let got = call(
        &harness,
        &top,
        (Method::PATCH, &one),
        Some(json!({ "expires_at": null })),
    )
    .await;
    assert_eq!(got.json()["expires_at"], json!(null), "{}", got.text());
    assert_eq!(chat(&harness, &bottom).await, fine());
    harness.audit().await;
}

#[tokio::test]
async fn a_deleted_key_revokes_descendants_is_hidden_and_emits_an_event() {
    let harness = TestGateway::new().await;
    let top = harness.make_key(PolicyFields::default()).await;
    let (middle, middle_id) = below(&harness, &top, json!({})).await;
    let (bottom, bottom_id) = below(&harness, &middle, json!({})).await;
    assert_eq!(chat(&harness, &bottom).await, fine(), "usage names it");
    let one = format!("/v1/keys/{middle_id}");
    let got = call(&harness, &top, (Method::DELETE, &one), None).await;
    assert_eq!(got.json()["deleted"], true, "{}", got.text());
    assert_eq!(chat(&harness, &middle).await, no(401, "revoked_api_key"));
    assert_eq!(chat(&harness, &bottom).await, no(401, "revoked_api_key"));
    let list = call(&harness, &top, (Method::GET, "/v1/keys"), None).await;
    assert_eq!(list.json()["data"], json!([]), "{}", list.text());
    for id in [middle_id, bottom_id] {
        let path = format!("/v1/keys/{id}");
        let got = call(&harness, &top, (Method::GET, &path), None).await;
        assert_eq!((got.status.as_u16(), got.code()), no(404, "not_found"));
    }
    let reply = harness
        .db
        .ask("SELECT topic || ' ' || body::text FROM app.event WHERE account_id <> 0 ORDER BY seq")
        .await;
    assert_eq!(reply.len(), 1, "{reply:?}");
    let top_id = own_id(&harness, &top).await;
    for part in [
        "key.revoked".to_owned(),
        format!("\"key_id\": {middle_id}"),
        "\"what\": \"deleted\"".to_owned(),
        format!("\"by\": \"key {top_id}\""),
        "\"keys_below\": 1".to_owned(),
    ] {
        assert!(reply[0].contains(&part), "{part} in {}", reply[0]);
    }
    harness.audit().await;
}

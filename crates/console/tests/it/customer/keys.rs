//! Keys: made, shown once, found, changed, rotated, switched, deleted, and what they may spend.

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::{Value, json};
use trunkline_store::keys::KeyHash;
use trunkline_store::people::Role;
use trunkline_types::{ApiKey, KeyId};

use crate::customer::harness::{CallSpec, CustomerConsole, field};

async fn hash_of(harness: &CustomerConsole, key: KeyId) -> KeyHash {
    let mut session = harness.data.session().await.unwrap();
    let found = trunkline_store::keys::find(&mut session, key)
        .await
        .unwrap();
    found.unwrap().hash
}

#[tokio::test]
async fn a_key_is_made_with_its_policy_and_budgets_and_its_secret_is_shown_once() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000, 0).await;
    let browser = harness.member(account, Role::Developer).await;
    let spec = json!({
        "name": "<script>alert(1)</script>",
        "group": "vip",
        "models": ["painter", "open-chat"],
        "endpoints": ["chat"],
        "addresses": ["10.0.0.0/8"],
        "requests_per_minute": 60,
        "strict": true,
        "fit_to_balance": false,
        "on_disconnect": "finish",
        "expires_at": "2099-01-01T00:00:00Z",
        "budgets": [
            { "period": "daily", "timezone": "Europe/Berlin", "limit_usd": "5" },
            { "period": "total", "limit_usd": "0.000000001" },
        ],
    });
    let got = harness.post(&browser, "/api/keys", spec).await;
    assert_eq!(got.status.as_u16(), 201, "{got:?}");
    assert_eq!(
        harness.fake_catalog.key_refreshes.load(Ordering::Relaxed),
        1,
        "this node knows it at once"
    );
    let made = got.json();
    let secret = made["secret"].as_str().unwrap();
    let parsed = ApiKey::parse(secret).unwrap();
    let key = &made["key"];
    let id = KeyId::new(key["id"].as_i64().unwrap());
    assert_eq!(hash_of(&harness, id).await, KeyHash::of(&parsed));
    assert_eq!(
        key["name"], "<script>alert(1)</script>",
        "a name is text, whatever it says"
    );
    assert_eq!(key["models"], json!(["open-chat", "painter"]));
    assert_eq!(
        (&key["state"], &key["group"]),
        (&json!("active"), &json!("vip"))
    );
    assert_eq!(
        (&key["strict"], &key["fit_to_balance"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(key["on_disconnect"], "finish");
    assert_eq!(key["expires_at"], "2099-01-01T00:00:00Z");
    let budgets = key["budgets"].as_array().unwrap();
    let mut periods = field(budgets, "period");
    periods.sort();
    assert_eq!(periods, ["daily", "total"]);
    for path in ["/api/keys".to_owned(), format!("/api/keys/{id}")] {
        let later = harness.get(&browser, &path).await;
        let body = String::from_utf8(later.body.to_vec()).unwrap();
        assert!(
            !body.contains(secret) && body.contains("<script>"),
            "{path}"
        );
        assert_eq!(later.header("content-type"), "application/json");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_key_that_makes_no_sense_is_refused_by_its_field_and_nothing_is_made() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    for (spec, param) in [
        (json!({ "name": "" }), "name"),
        (json!({ "name": "x".repeat(101) }), "name"),
        (json!({ "name": "x", "group": "gold" }), "group"),
        (json!({ "name": "x", "models": [] }), "models"),
        (json!({ "name": "x", "endpoints": ["walk"] }), "endpoints"),
        (json!({ "name": "x", "addresses": ["here"] }), "addresses"),
        (
            json!({ "name": "x", "requests_per_minute": 0 }),
            "requests_per_minute",
        ),
        (
            json!({ "name": "x", "expires_at": "2020-01-01T00:00:00Z" }),
            "expires_at",
        ),
        (json!({ "name": "x", "expires_at": "soon" }), "expires_at"),
        (
            json!({ "name": "x", "budgets": [{ "period": "daily", "limit_usd": "-1" }] }),
            "budgets",
        ),
        (
            json!({ "name": "x", "budgets": [{ "period": "total", "timezone": "UTC", "limit_usd": "1" }] }),
            "budgets",
        ),
        (
            json!({ "name": "x", "budgets": [{ "period": "daily", "timezone": "Mars", "limit_usd": "1" }] }),
            "budgets",
        ),
        (
            json!({ "name": "x", "budgets": [{ "period": "daily", "limit_usd": "1" }, { "period": "daily", "limit_usd": "2" }] }),
            "budgets",
        ),
    ] {
        let got = harness.post(&browser, "/api/keys", spec.clone()).await;
        let error = got.error(400, "invalid_request");
        assert_eq!(error["param"], param, "{spec}");
    }
    let unknown = harness
        .post(
            &browser,
            "/api/keys",
            json!({ "name": "x", "colour": "red" }),
        )
        .await;
    unknown.error(400, "invalid_request");
    let (all, _) = harness.pages(&browser, "/api/keys").await;
    assert_eq!(all, Vec::<Value>::new());
    harness.audit().await;
}

#[tokio::test]
async fn keys_are_found_by_a_part_of_their_name_and_pages_have_no_holes() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    for number in 0..7 {
        harness.key(&browser, &format!("Laptop {number}")).await;
    }
    let (server, _) = harness.key(&browser, "server 100%_").await;
    let (all, pages) = harness.pages(&browser, "/api/keys?limit=3").await;
    assert_eq!((all.len(), pages), (8, 3));
    assert_eq!(all[0]["id"], server.number(), "the newest first");
    let (laptops, _) = harness.pages(&browser, "/api/keys?q=LAPTOP&limit=5").await;
    assert_eq!(laptops.len(), 7);
    for (text, count) in [("100%25_", 1), ("%25", 1), ("nothing", 0)] {
        let (found, _) = harness
            .pages(&browser, &format!("/api/keys?q={text}"))
            .await;
        assert_eq!(found.len(), count, "{text}");
    }
    let hint = all[0]["hint"].as_str().unwrap();
    let last: String = hint
        .chars()
        .skip_while(|character| *character != '…')
        .skip(1)
        .collect();
    let (found, _) = harness
        .pages(&browser, &format!("/api/keys?q={last}"))
        .await;
    assert!(found.iter().any(|key| key["id"] == server.number()));
}

#[tokio::test]
async fn a_key_is_renamed_ended_switched_rotated_and_deleted() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    let (key, secret) = harness.key(&browser, "laptop").await;
    let path = format!("/api/keys/{key}");
    let change = |body: Value| harness.send(&browser, Method::PATCH, &path, Some(body));
    let renamed = change(json!({ "name": "laptop", "expires_at": "2099-01-01T00:00:00Z" })).await;
    assert_eq!(renamed.json()["name"], "laptop");
    let forever = change(json!({ "expires_at": null })).await.json();
    assert_eq!(
        (&forever["name"], &forever["expires_at"]),
        (&json!("laptop"), &Value::Null)
    );
    change(json!({})).await.error(400, "invalid_request");
    let past = change(json!({ "expires_at": "2020-01-01T00:00:00Z" })).await;
    assert_eq!(past.error(400, "invalid_request")["param"], "expires_at");

    let off = harness
        .send(&browser, Method::POST, &format!("{path}/disable"), None)
        .await;
    assert_eq!(off.json()["state"], "disabled");
    let on = harness
        .send(&browser, Method::POST, &format!("{path}/enable"), None)
        .await;
    assert_eq!(on.json()["state"], "active");

    let rotated = harness
        .post(
            &browser,
            &format!("{path}/rotate"),
            json!({ "overlap_seconds": 60 }),
        )
        .await;
    let rotated = rotated.json();
    let fresh = rotated["secret"].as_str().unwrap();
    assert_ne!(fresh, secret);
    assert_eq!(
        hash_of(&harness, key).await,
        KeyHash::of(&ApiKey::parse(fresh).unwrap())
    );
    assert!(rotated["key"]["previous_until"].is_string());
    let long = harness
        .post(
            &browser,
            &format!("{path}/rotate"),
            json!({ "overlap_seconds": 2_592_001 }),
        )
        .await;
    assert_eq!(
        long.error(400, "invalid_request")["param"],
        "overlap_seconds"
    );

    let gone = harness.send(&browser, Method::DELETE, &path, None).await;
    assert_eq!(gone.status.as_u16(), 204, "{gone:?}");
    harness.get(&browser, &path).await.error(404, "not_found");
    let (all, _) = harness.pages(&browser, "/api/keys").await;
    assert!(all.is_empty());
    harness.audit().await;
}

#[tokio::test]
async fn budgets_are_set_all_at_once_and_keep_what_was_used() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Owner).await;
    let (key, _) = harness.key(&browser, "laptop").await;
    let path = format!("/api/keys/{key}/budgets");
    let put = |body: Value| harness.send(&browser, Method::PUT, &path, Some(body));
    let set = json!({ "budgets": [{ "period": "total", "limit_usd": "1" }, { "period": "monthly", "timezone": "Asia/Tokyo", "limit_usd": "2" }] });
    assert_eq!(put(set).await.status.as_u16(), 200);
    let spec = CallSpec {
        key: Some(key),
        nanos: 250_000_000,
        ..CallSpec::default()
    };
    harness.call(account, spec).await;
    let higher = put(json!({ "budgets": [{ "period": "total", "limit_usd": "3" }] }))
        .await
        .json();
    let budgets = higher["budgets"].as_array().unwrap();
    assert_eq!(budgets.len(), 1, "what is not among them is taken away");
    assert_eq!(
        (&budgets[0]["limit_usd"], &budgets[0]["used_usd"]),
        (&json!("3"), &json!("0.25"))
    );
    assert_eq!(budgets[0]["ends_at"], Value::Null);
    let daily = json!({ "budgets": [{ "period": "daily", "limit_usd": "1" }] });
    assert_eq!(put(daily).await.json()["budgets"][0]["timezone"], "UTC");
    let other = json!({ "budgets": [{ "period": "daily", "timezone": "Europe/Berlin", "limit_usd": "1" }] });
    let refused = put(other).await.error(400, "invalid_request");
    assert!(
        refused["message"].as_str().unwrap().contains("UTC"),
        "{refused}"
    );
    let none = put(json!({ "budgets": [] })).await.json();
    assert_eq!(none["budgets"], json!([]));
    harness.audit().await;
}

#[tokio::test]
async fn the_first_call_of_a_key_turns_its_page_green() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let owner = harness.member(account, Role::Owner).await;
    let (key, _) = harness.key(&owner, "laptop").await;
    let (idle, _) = harness.key(&owner, "idle").await;
    let path = format!("/api/keys/{key}/first-call");
    assert_eq!(harness.read(&browser, &path).await, json!({ "call": null }));
    harness.call(account, CallSpec::default()).await;
    assert_eq!(
        harness.read(&browser, &path).await,
        json!({ "call": null }),
        "another's call"
    );
    let spec = || CallSpec {
        key: Some(key),
        ..CallSpec::default()
    };
    let first = harness.call(account, spec()).await;
    let call = harness.read(&browser, &path).await["call"].clone();
    assert_eq!(
        (&call["request_id"], &call["cost_usd"]),
        (&json!(first.to_string()), &json!("0.0004"))
    );
    harness.call(account, spec()).await;
    let view = harness.read(&browser, &format!("/api/keys/{key}")).await;
    assert_eq!(view["calls_last_hour"], 2);
    assert_eq!(view["spent_30_days_usd"], "0.0008");
    assert!(view["last_used_at"].is_string());
    let unused = harness.read(&browser, &format!("/api/keys/{idle}")).await;
    assert_eq!(
        (&unused["calls_last_hour"], &unused["last_used_at"]),
        (&json!(0), &Value::Null)
    );
}

#[tokio::test]
async fn secrets_and_budgets_need_the_password_of_just_now() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    let (key, _) = harness.key(&owner, "laptop").await;
    let stale = harness.sign_in(account, Role::Owner, false).await;
    let made = harness
        .post(&stale, "/api/keys", json!({ "name": "x" }))
        .await;
    made.error(403, "step_up_required");
    let rotated = harness
        .post(
            &stale,
            &format!("/api/keys/{key}/rotate"),
            json!({ "overlap_seconds": 0 }),
        )
        .await;
    rotated.error(403, "step_up_required");
    let body = Some(json!({ "budgets": [] }));
    let set = harness
        .send(
            &stale,
            Method::PUT,
            &format!("/api/keys/{key}/budgets"),
            body,
        )
        .await;
    set.error(403, "step_up_required");
    let renamed = harness
        .send(
            &stale,
            Method::PATCH,
            &format!("/api/keys/{key}"),
            Some(json!({ "name": "y" })),
        )
        .await;
    assert_eq!(renamed.status.as_u16(), 200, "a name is no secret");
    // Ten minutes later the owner's word is old, too.
    harness.db.shift_clock(601).await;
    let late = harness
        .post(&owner, "/api/keys", json!({ "name": "x" }))
        .await;
    late.error(403, "step_up_required");
}

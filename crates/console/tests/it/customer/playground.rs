//! The key of a playground: one for each person, short-lived, and never another's.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::Role;
use trunkline_testkit::all_at_once;

use crate::customer::harness::{Browser, CustomerConsole, field};

async fn ask(harness: &CustomerConsole, browser: &Browser) -> Value {
    let got = harness
        .post(browser, "/api/playground/key", json!({}))
        .await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    got.json()
}

#[tokio::test]
async fn a_person_has_one_playground_key_and_each_request_rotates_its_secret() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let (ada, bob) = (
        harness.member(account, Role::Developer).await,
        harness.member(account, Role::Developer).await,
    );
    let first = ask(&harness, &ada).await;
    let repeated = ask(&harness, &ada).await;
    assert_eq!(first["key_id"], repeated["key_id"]);
    assert_ne!(first["secret"], repeated["secret"]);
    let other = ask(&harness, &bob).await;
    assert_ne!(other["key_id"], first["key_id"]);
    let (all, _) = harness.pages(&ada, "/api/keys").await;
    assert_eq!(all.len(), 2, "they are listed");
    assert!(
        field(&all, "name")
            .iter()
            .all(|name| name.starts_with("Playground of developer-"))
    );
    let view = all.iter().find(|key| key["id"] == first["key_id"]).unwrap();
    assert_eq!(view["expires_at"], repeated["expires_at"]);
    let words = view["endpoints"].as_array().unwrap();
    assert!(words.contains(&json!("chat")) && !words.contains(&json!("keys")));
    let overlap = view["previous_until"].clone();
    assert_eq!(overlap, Value::Null, "the secret before is over at once");
    harness.audit().await;
}

#[tokio::test]
async fn the_key_is_renewed_after_two_hours_and_recreated_after_deletion() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let ada = harness.member(account, Role::Owner).await;
    let first = ask(&harness, &ada).await;
    harness.db.shift_clock(7_201).await;
    let path = format!("/api/keys/{}", first["key_id"]);
    assert_eq!(harness.read(&ada, &path).await["state"], "expired");
    let refused = harness.post(&ada, "/api/playground/key", json!({})).await;
    refused.error(403, "step_up_required");
    step_up(&harness).await;
    let later = ask(&harness, &ada).await;
    assert_eq!(later["key_id"], first["key_id"]);
    assert_eq!(harness.read(&ada, &path).await["state"], "active");
    let gone = harness.send(&ada, Method::DELETE, &path, None).await;
    assert_eq!(gone.status.as_u16(), 204);
    let anew = ask(&harness, &ada).await;
    assert_ne!(anew["key_id"], first["key_id"]);
}

/// As if every password had just been entered.
async fn step_up(harness: &CustomerConsole) {
    let query = "UPDATE app.sign_in SET stepped_up_until = app.now() + interval '1 minute' \
                 RETURNING id::text";
    harness.db.ask(query).await;
}

async fn is_revoked(harness: &CustomerConsole, key: &Value) -> bool {
    let query = format!(
        "SELECT (revoked_at IS NOT NULL)::text FROM app.api_key WHERE id = {}",
        key["key_id"]
    );
    harness.db.ask(&query).await == ["true"]
}

#[tokio::test]
async fn the_key_of_a_member_ends_with_the_membership_or_with_a_role_that_may_not_have_one() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    let kept = ask(&harness, &owner).await;
    let (leaver, viewer) = (
        harness.member(account, Role::Developer).await,
        harness.member(account, Role::Developer).await,
    );
    let (left, demoted) = (ask(&harness, &leaver).await, ask(&harness, &viewer).await);
    let id = async |browser: &Browser| {
        let session = harness.read(browser, "/api/session").await;
        session["person"]["id"].as_i64().unwrap()
    };
    let path = format!("/api/members/{}", id(&leaver).await);
    let gone = harness.send(&owner, Method::DELETE, &path, None).await;
    assert_eq!(gone.status.as_u16(), 204, "{gone:?}");
    assert!(is_revoked(&harness, &left).await);
    let path = format!("/api/members/{}", id(&viewer).await);
    let role = json!({ "role": "viewer" });
    let changed = harness.send(&owner, Method::PATCH, &path, Some(role)).await;
    assert_eq!(changed.status.as_u16(), 200, "{changed:?}");
    assert!(is_revoked(&harness, &demoted).await);
    assert!(!is_revoked(&harness, &kept).await);
}

#[tokio::test]
async fn a_session_without_a_recent_password_gets_no_playground_key() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let dev = harness.sign_in(account, Role::Developer, false).await;
    let got = harness.post(&dev, "/api/playground/key", json!({})).await;
    got.error(403, "step_up_required");
}

#[tokio::test]
async fn one_that_was_switched_off_stays_off() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    let dev = harness.member(account, Role::Developer).await;
    let key = ask(&harness, &dev).await;
    let path = format!("/api/keys/{}/disable", key["key_id"]);
    harness.send(&owner, Method::POST, &path, None).await;
    let got = harness.post(&dev, "/api/playground/key", json!({})).await;
    got.error(409, "conflict");
}

#[tokio::test]
async fn a_key_of_the_same_name_is_not_taken_for_it() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    let session = harness.read(&owner, "/api/session").await;
    let email = session["person"]["email"].as_str().unwrap();
    let (trap, _) = harness.key(&owner, &format!("Playground of {email}")).await;
    let made = ask(&harness, &owner).await;
    assert_ne!(made["key_id"], trap.number());
}

#[tokio::test]
async fn asked_for_ten_times_at_once_there_is_one_key() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let ada = harness.member(account, Role::Owner).await;
    let requests: Vec<_> = (0..10).map(|_| ask(&harness, &ada)).collect();
    let keys: Vec<Value> = all_at_once(requests).await;
    let first = &keys[0]["key_id"];
    assert!(keys.iter().all(|key| key["key_id"] == *first), "{keys:?}");
}

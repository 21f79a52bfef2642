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
        harness.sign_in(account, Role::Developer, false).await,
        harness.sign_in(account, Role::Developer, false).await,
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
    let shown = all.iter().find(|key| key["id"] == first["key_id"]).unwrap();
    assert_eq!(shown["expires_at"], repeated["expires_at"]);
    let words = shown["endpoints"].as_array().unwrap();
    assert!(words.contains(&json!("chat")) && !words.contains(&json!("keys")));
    let overlap = shown["previous_until"].clone();
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
    let later = ask(&harness, &ada).await;
    assert_eq!(later["key_id"], first["key_id"]);
    assert_eq!(harness.read(&ada, &path).await["state"], "active");
    let gone = harness.send(&ada, Method::DELETE, &path, None).await;
    assert_eq!(gone.status.as_u16(), 204);
    let anew = ask(&harness, &ada).await;
    assert_ne!(anew["key_id"], first["key_id"]);
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
    let asked: Vec<_> = (0..10).map(|_| ask(&harness, &ada)).collect();
    let keys: Vec<Value> = all_at_once(asked).await;
    let first = &keys[0]["key_id"];
    assert!(keys.iter().all(|key| key["key_id"] == *first), "{keys:?}");
}

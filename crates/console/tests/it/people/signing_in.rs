//! Signing in and out, looking elsewhere, devices, and the time that all of it lasts.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trunkline_console::ConsoleSettings;
use trunkline_store::people::{Changed, Role};

use super::{Browser, PASSWORD};
use crate::client::TestConsole;

const DAY: i64 = 86_400;

#[tokio::test]
async fn a_person_signs_in_and_out() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    let browser = Browser::new(&test_console);
    let got = browser.sign_in(" Ada@Example.com ", PASSWORD).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    assert_eq!(got.header("cache-control"), "no-store");
    assert_eq!(got.json()["person"]["email"], "ada@example.com");
    assert_eq!(browser.session().await["signed_in"], true);
    let stolen = browser.cookie().unwrap();
    let out = browser.delete("/api/session").await;
    assert_eq!(out.status.as_u16(), 204);
    assert_eq!(browser.cookie(), None, "the browser forgets it");
    let thief = Browser::new(&test_console);
    thief.plant(&stolen);
    assert_eq!(thief.session().await["signed_in"], false, "and so do we");
    thief.plant(&stolen);
    thief.get("/api/members").await.error(401, "not_signed_in");
    let repeated = Browser::new(&test_console).delete("/api/session").await;
    assert_eq!(
        repeated.status.as_u16(),
        204,
        "signing out without a session works too"
    );
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_are_answered_alike() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    test_console.person("elsewhere@example.com").await;
    let mut answers = BTreeSet::new();
    for (email, password) in [
        ("ada@example.com", "wrong password"),
        ("nobody@example.com", PASSWORD),
        ("elsewhere@example.com", PASSWORD),
        ("no address", PASSWORD),
        ("\0@example.com", PASSWORD),
        ("", ""),
    ] {
        let got = Browser::new(&test_console).sign_in(email, password).await;
        let mut error = got.error(401, "sign_in_failed");
        error["request_id"] = json!(null);
        answers.insert(error.to_string());
        assert!(got.headers.get("set-cookie").is_none(), "{email}");
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[tokio::test]
async fn the_cookie_is_for_this_host_alone_over_tls_and_plain_without() {
    let http = TestConsole::new().await;
    let browser = http.operator().await;
    let got = browser.sign_in("ada@example.com", PASSWORD).await;
    let line = got.header("set-cookie").to_owned();
    let attributes: Vec<&str> = line.split("; ").skip(1).collect();
    assert!(line.starts_with("trunkline="), "{line}");
    assert_eq!(
        attributes,
        ["Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Lax"]
    );

    let at = "https://console.example.com";
    let https = TestConsole::with(ConsoleSettings::at(at, "https://api.example.com/v1")).await;
    let browser = Browser::at(&https, at);
    let body = super::setup_body(&https.setup_token().await);
    let got = browser.post("/api/setup", body).await;
    let line = got.header("set-cookie").to_owned();
    let attributes: Vec<&str> = line.split("; ").skip(1).collect();
    assert!(line.starts_with("__Host-trunkline="), "{line}");
    assert_eq!(
        attributes,
        [
            "Path=/",
            "Max-Age=2592000",
            "HttpOnly",
            "SameSite=Lax",
            "Secure"
        ]
    );
    assert_eq!(browser.session().await["signed_in"], true);
    let value = browser.cookie().unwrap();
    let value = value.split_once('=').unwrap().1;
    assert_eq!(value.len(), 43, "256 bits");
    browser.plant(&format!("trunkline={value}"));
    assert_eq!(
        browser.session().await["signed_in"],
        false,
        "the plain name is not read"
    );
}

#[tokio::test]
async fn a_cookie_that_was_there_before_signing_in_is_not_the_one_after() {
    let test_console = TestConsole::new().await;
    let attacker = test_console.operator().await;
    let planted = attacker.cookie().unwrap();
    let victim = Browser::new(&test_console);
    victim.plant(&planted);
    let got = victim.sign_in("ada@example.com", PASSWORD).await;
    assert_eq!(got.status.as_u16(), 200);
    assert_ne!(victim.cookie().unwrap(), planted);
    assert_eq!(
        attacker.session().await["signed_in"],
        false,
        "the old one has ended"
    );
    // One that was made up does not become real.
    let made_up = format!("trunkline={}", "A".repeat(43));
    victim.plant(&made_up);
    victim.sign_in("ada@example.com", PASSWORD).await;
    assert_ne!(victim.cookie().unwrap(), made_up);
    let other = Browser::new(&test_console);
    other.plant(&made_up);
    assert_eq!(other.session().await["signed_in"], false);
}

#[tokio::test]
async fn trust_lapses_after_ten_minutes_and_comes_back_with_the_password() {
    let test_console = TestConsole::new().await;
    let browser = test_console.operator().await;
    let invite = json!({ "email": "grace@example.com", "role": "viewer" });
    let path = "/api/members/invitations";
    assert_eq!(
        browser.post(path, invite.clone()).await.status.as_u16(),
        201
    );
    test_console.db.shift_clock(601).await;
    assert_eq!(browser.session().await["stepped_up_until"], Value::Null);
    browser
        .post(path, invite.clone())
        .await
        .error(403, "step_up_required");
    assert_eq!(browser.get("/api/members").await.status.as_u16(), 200);
    let wrong = browser
        .post("/api/session/step-up", json!({ "password": "wrong one" }))
        .await;
    wrong.error(401, "sign_in_failed");
    browser
        .post(path, invite.clone())
        .await
        .error(403, "step_up_required");
    let before = browser.cookie().unwrap();
    let devices = browser.get("/api/sessions").await.json()["data"].clone();
    let right = browser
        .post("/api/session/step-up", json!({ "password": PASSWORD }))
        .await;
    assert!(right.json()["stepped_up_until"].is_string());
    assert_ne!(
        browser.cookie().unwrap(),
        before,
        "more rights, another cookie"
    );
    let old = Browser::new(&test_console);
    old.plant(&before);
    assert_eq!(old.session().await["signed_in"], false);
    let now = browser.get("/api/sessions").await.json()["data"].clone();
    assert_eq!(now[0]["id"], devices[0]["id"], "it is the same device");
    assert_eq!(browser.post(path, invite).await.status.as_u16(), 201);
    Browser::new(&test_console)
        .post("/api/session/step-up", json!({ "password": PASSWORD }))
        .await
        .error(401, "not_signed_in");
}

#[tokio::test]
async fn a_sign_in_ends_after_seven_silent_days_and_after_thirty_at_the_latest() {
    let test_console = TestConsole::new().await;
    let (used, silent) = (test_console.operator().await, Browser::new(&test_console));
    silent.sign_in("ada@example.com", PASSWORD).await;
    for _ in 0..4 {
        test_console.db.shift_clock(7 * DAY - 120).await;
        assert_eq!(used.session().await["signed_in"], true);
    }
    let cookie = silent.cookie().unwrap();
    assert_eq!(
        silent.session().await["signed_in"],
        false,
        "silent for long"
    );
    assert_eq!(silent.cookie(), None, "the browser is told to forget it");
    silent.plant(&cookie);
    silent.get("/api/members").await.error(401, "not_signed_in");
    test_console.db.shift_clock(2 * DAY + 600).await;
    assert_eq!(
        used.session().await["signed_in"],
        false,
        "thirty days are over"
    );
}

#[tokio::test]
async fn a_device_that_is_ended_is_out_at_once() {
    let test_console = TestConsole::new().await;
    let phone = test_console.operator().await;
    let laptop = Browser::from(&test_console, "2001:db8::7");
    laptop.sign_in("ada@example.com", PASSWORD).await;
    let listed = phone.get("/api/sessions").await.json();
    let devices = listed["data"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    let own: Vec<&Value> = devices
        .iter()
        .filter(|one| one["current"] == true)
        .collect();
    assert_eq!(own.len(), 1);
    let other = devices.iter().find(|one| one["current"] == false).unwrap();
    assert_eq!(other["address"], "2001:db8::7");
    assert_eq!(other["agent"], "Mozilla/5.0 (test)");
    let path = format!("/api/sessions/{}", other["id"].as_str().unwrap());
    assert_eq!(phone.delete(&path).await.status.as_u16(), 204);
    laptop
        .get("/api/sessions")
        .await
        .error(401, "not_signed_in");
    phone.delete(&path).await.error(404, "not_found");
    phone
        .delete("/api/sessions/nonsense")
        .await
        .error(404, "not_found");
    // Another person's device is as unknown as none.
    let account = test_console.organisation("Other").await;
    let stranger = test_console
        .member(account, "eve@example.com", Role::Owner)
        .await;
    let own = own[0]["id"].as_str().unwrap();
    stranger
        .delete(&format!("/api/sessions/{own}"))
        .await
        .error(404, "not_found");
    assert_eq!(phone.session().await["signed_in"], true);
    // One's own: signed out.
    assert_eq!(
        phone
            .delete(&format!("/api/sessions/{own}"))
            .await
            .status
            .as_u16(),
        204
    );
    assert_eq!(phone.cookie(), None);
}

#[tokio::test]
async fn a_person_has_at_most_fifty_sessions_and_idle_ones_end_first() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("Acme").await;
    let first = test_console
        .member(account, "ada@example.com", Role::Owner)
        .await;
    let person = first.session().await["person"]["id"].as_i64().unwrap();
    let person = trunkline_store::people::PersonId::new(person);
    test_console.db.shift_clock(90).await;
    for _ in 0..50 {
        test_console.device(person).await;
    }
    assert_eq!(first.session().await["signed_in"], false);
    let last = test_console.device(person).await;
    let devices = last.get("/api/sessions").await.json();
    assert_eq!(devices["data"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn a_new_password_signs_other_devices_out() {
    let test_console = TestConsole::new().await;
    let (own, other) = (test_console.operator().await, Browser::new(&test_console));
    other.sign_in("ada@example.com", PASSWORD).await;
    let change =
        |current: &str, password: &str| json!({ "current": current, "password": password });
    let path = "/api/password/change";
    let wrong = own
        .post(path, change("not the one", "a brand new one"))
        .await;
    wrong.error(401, "sign_in_failed");
    let weak = own.post(path, change(PASSWORD, "short")).await;
    assert_eq!(weak.error(400, "invalid_request")["param"], "password");
    let done = own.post(path, change(PASSWORD, "a brand new one")).await;
    assert_eq!(done.status.as_u16(), 204, "{done:?}");
    assert_eq!(own.session().await["signed_in"], true);
    assert_eq!(other.session().await["signed_in"], false);
    let old = Browser::new(&test_console)
        .sign_in("ada@example.com", PASSWORD)
        .await;
    old.error(401, "sign_in_failed");
    let new = Browser::new(&test_console)
        .sign_in("ada@example.com", "a brand new one")
        .await;
    assert_eq!(new.status.as_u16(), 200);
}

#[tokio::test]
async fn a_person_looks_at_one_of_their_organisations_and_at_no_other() {
    let test_console = TestConsole::new().await;
    let (acme, other) = (
        test_console.organisation("Acme").await,
        test_console.organisation("Other").await,
    );
    let browser = test_console
        .member(acme, "ada@example.com", Role::Owner)
        .await;
    let person = browser.session().await["person"]["id"].as_i64().unwrap();
    let person = trunkline_store::people::PersonId::new(person);
    let before = browser.cookie().unwrap();
    let to = |account: i64| json!({ "account_id": account });
    let path = "/api/session/account";
    for foreign in [other.number(), 0, -1, i64::MAX] {
        browser
            .post(path, to(foreign))
            .await
            .error(404, "not_found");
    }
    assert_eq!(browser.cookie().unwrap(), before);
    let mut tx = test_console.people.begin().await.unwrap();
    trunkline_store::people::add_member(&mut tx, other, person, Role::Viewer)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let session = browser.post(path, to(other.number())).await.json();
    assert_eq!(session["account"]["name"], "Other");
    assert_eq!(session["account"]["role"], "viewer");
    assert_eq!(session["rights"], json!([]));
    assert_eq!(session["accounts"].as_array().unwrap().len(), 2);
    assert_ne!(
        browser.cookie().unwrap(),
        before,
        "other rights, another cookie"
    );
    // Taken out of it, nothing of the next one is touched until the page has asked again.
    let mut tx = test_console.people.begin().await.unwrap();
    let removed = trunkline_store::people::remove_member(&mut tx, other, person).await;
    assert_eq!(removed.unwrap(), Changed::Done);
    tx.commit().await.unwrap();
    browser
        .get("/api/members")
        .await
        .error(403, "role_not_allowed");
    assert_eq!(browser.session().await["account"]["name"], "Acme");
    assert_eq!(browser.get("/api/members").await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_person_without_an_organisation_is_signed_in_and_sees_none() {
    let test_console = TestConsole::new().await;
    let person = test_console.person("ada@example.com").await;
    let browser = test_console.device(person).await;
    let session = browser.session().await;
    assert_eq!(
        (&session["signed_in"], &session["account"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(session["rights"], json!([]));
    browser
        .get("/api/members")
        .await
        .error(403, "role_not_allowed");
    assert_eq!(browser.get("/api/sessions").await.status.as_u16(), 200);
    let renamed = browser
        .patch("/api/person", json!({ "name": " Ada <b>L</b> " }))
        .await;
    assert_eq!(
        renamed.json()["person"]["name"],
        "Ada <b>L</b>",
        "text stays text"
    );
    let wrong = browser.patch("/api/person", json!({ "name": "" })).await;
    assert_eq!(wrong.error(400, "invalid_request")["param"], "name");
}

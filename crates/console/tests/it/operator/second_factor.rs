//! A second factor: codes count once, attempts are bounded, and an operator without one can do nothing.

use serde_json::{Value, json};

use super::harness::code;
use crate::client::TestConsole;
use crate::people::{Browser, PASSWORD};

const EMAIL: &str = "ada@example.com";
const OVERVIEW: &str = "/api/operator/overview";

async fn now(console: &TestConsole) -> i64 {
    let text = "SELECT extract(epoch FROM app.now())::bigint::text";
    console.db.ask(text).await[0].parse().unwrap()
}

/// A second factor that was set up.
struct Factor {
    secret: String,
    /// When its first code was used.
    at: i64,
    recovery_codes: Vec<String>,
}

impl Factor {
    fn code(&self, steps: i64) -> String {
        code(&self.secret, self.at, steps)
    }
}

async fn enrol(console: &TestConsole, browser: &Browser<'_>) -> Factor {
    let begun = browser.post("/api/second-factor/enrol", json!({})).await;
    let secret = begun.json()["secret"].as_str().unwrap().to_owned();
    let at = now(console).await;
    let body = json!({ "code": code(&secret, at, 0) });
    let got = browser.post("/api/second-factor/confirm", body).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let codes: Vec<String> = serde_json::from_value(got.json()["recovery_codes"].clone()).unwrap();
    assert_eq!(codes.len(), 10);
    Factor {
        secret,
        at,
        recovery_codes: codes,
    }
}

async fn give(browser: &Browser<'_>, code: &str) -> crate::client::Response {
    let body = json!({ "code": code });
    browser.post("/api/session/second-factor", body).await
}

#[tokio::test]
async fn an_operator_can_do_nothing_before_a_second_factor_is_set_up_and_all_after_it() {
    let console = TestConsole::new().await;
    let browser = console.operator().await;
    let session = browser.session().await;
    assert_eq!(session["operator"]["role"], "owner");
    assert_eq!(session["operator"]["needs_second_factor"], true);
    browser
        .get(OVERVIEW)
        .await
        .error(403, "second_factor_required");
    enrol(&console, &browser).await;
    let got = browser.get(OVERVIEW).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let session = browser.session().await;
    assert_eq!(session["operator"]["needs_second_factor"], false);
    assert_eq!(
        session["second_factor"],
        json!({ "is_enabled": true, "is_needed": false })
    );
    let got = browser.post("/api/second-factor/disable", json!({})).await;
    got.error(409, "conflict");
    let kept = console
        .db
        .ask("SELECT secret::text FROM app.second_factor")
        .await;
    assert!(!kept[0].contains("ada"), "sealed: {kept:?}");
}

#[tokio::test]
async fn a_password_alone_opens_nothing_for_who_has_a_second_factor_and_a_code_is_taken_once() {
    let console = TestConsole::new().await;
    let first = console.operator().await;
    let factor = enrol(&console, &first).await;
    let codes = &factor.recovery_codes;
    let browser = Browser::from(&console, "198.51.100.7");
    let got = browser.sign_in(EMAIL, PASSWORD).await;
    assert_eq!(got.status.as_u16(), 200);
    let session = got.json();
    assert_eq!(
        (&session["signed_in"], &session["person"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(
        session["second_factor"],
        json!({ "is_enabled": true, "is_needed": true })
    );
    assert_eq!(session["accounts"], json!([]));
    for path in ["/api/keys", "/api/sessions", OVERVIEW, "/api/second-factor"] {
        browser.get(path).await.error(401, "not_signed_in");
    }
    // The code that confirmed it was used by that.
    give(&browser, &factor.code(0))
        .await
        .error(401, "sign_in_failed");
    give(&browser, &factor.code(9))
        .await
        .error(401, "sign_in_failed");
    let next = factor.code(1);
    let got = give(&browser, &next).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    assert_eq!(got.json()["signed_in"], true);
    assert_eq!(browser.get(OVERVIEW).await.status.as_u16(), 200);
    let second = Browser::from(&console, "198.51.100.8");
    second.sign_in(EMAIL, PASSWORD).await;
    give(&second, &next).await.error(401, "sign_in_failed");
    // A recovery code instead, once.
    assert_eq!(
        give(&second, &codes[0].to_uppercase())
            .await
            .status
            .as_u16(),
        200
    );
    let third = Browser::from(&console, "198.51.100.9");
    third.sign_in(EMAIL, PASSWORD).await;
    give(&third, &codes[0]).await.error(401, "sign_in_failed");
    let left = second.get("/api/second-factor").await.json();
    assert_eq!(left["recovery_codes_left"], 9);
    let kept = console
        .db
        .ask("SELECT encode(code_hash, 'escape') FROM app.recovery_code")
        .await;
    assert!(kept.iter().all(|hash| !codes.contains(hash)));
}

#[tokio::test]
async fn who_guesses_codes_is_stopped_and_the_person_still_gets_in_on_a_known_device() {
    let console = TestConsole::new().await;
    let known = console.operator().await;
    let factor = enrol(&console, &known).await;
    known.delete("/api/session").await;
    let thief = Browser::from(&console, "203.0.113.5");
    thief.sign_in(EMAIL, PASSWORD).await;
    for _ in 0..12 {
        let got = give(&thief, "000000").await;
        assert!([401, 429].contains(&got.status.as_u16()), "{got:?}");
    }
    give(&thief, "000000").await.error(429, "too_many_attempts");
    let right = factor.code(1);
    give(&thief, &right).await.error(429, "too_many_attempts");
    known.sign_in(EMAIL, PASSWORD).await;
    let got = give(&known, &right).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
}

#[tokio::test]
async fn a_customer_may_turn_a_second_factor_on_and_off_and_other_devices_are_signed_out() {
    let console = TestConsole::new().await;
    let account = console.organisation("Acme").await;
    let browser = console
        .member(
            account,
            "bob@example.com",
            trunkline_store::people::Role::Owner,
        )
        .await;
    let person = browser.session().await["person"]["id"].as_i64().unwrap();
    let other = console
        .device(trunkline_store::people::PersonId::new(person))
        .await;
    enrol(&console, &browser).await;
    assert_eq!(browser.session().await["signed_in"], true);
    assert_eq!(other.session().await["signed_in"], false);
    let got = browser.post("/api/second-factor/disable", json!({})).await;
    assert_eq!(got.status.as_u16(), 204, "{got:?}");
    let view = browser.get("/api/second-factor").await.json();
    assert_eq!(
        (&view["is_enabled"], &view["recovery_codes_left"]),
        (&json!(false), &json!(0))
    );
}

//! Signing up, proving an address, and a new password.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_console::SignUp;
use trunkline_store::people::{self, NewInvitation, Role};
use trunkline_testkit::all_at_once;

use crate::onboarding::harness::{OnboardingConsole, PASSWORD};

/// Answers that a client cannot tell apart.
fn facts(got: &crate::client::Response) -> (u16, Value, Vec<String>) {
    let mut names: Vec<String> = got.headers.keys().map(ToString::to_string).collect();
    names.sort();
    let body = if got.body.is_empty() {
        Value::Null
    } else {
        got.json()
    };
    (got.status.as_u16(), body, names)
}

#[tokio::test]
async fn a_person_signs_up_verifies_the_address_and_gets_an_organisation() {
    let harness = OnboardingConsole::open().await;
    let mut ada = harness.visitor();
    let got = ada.sign_up(" Ada@Example.com ").await;
    assert_eq!(got.status.as_u16(), 202);
    assert_eq!(got.json(), json!({ "status": "check_mail" }));
    assert_eq!(ada.session().await["signed_in"], false);
    let early = ada.sign_in("ada@example.com", PASSWORD).await;
    early.error(401, "sign_in_failed");
    let people = harness
        .db
        .ask("SELECT count(*)::text FROM app.person")
        .await;
    assert_eq!(people, ["0"], "a sign-up creates no user yet");

    let emails = harness.mails_to("ada@example.com").await;
    assert_eq!(emails.len(), 1);
    assert_eq!(emails[0].0, "verify");
    assert!(
        emails[0].1.starts_with("http://127.0.0.1:8081/verify#"),
        "{emails:?}"
    );
    let token = harness.token_to("ada@example.com").await;
    let session = ada
        .done("/api/email/verify", &json!({ "token": token }))
        .await;
    assert_eq!(session["signed_in"], true);
    assert_eq!(session["person"]["email"], "ada@example.com");
    assert_eq!(session["person"]["email_verified"], true);
    assert_eq!(session["person"]["has_password"], true);
    assert_eq!(session["person"]["is_operator"], false);
    assert_eq!(session["account"]["name"], "Engines");
    assert_eq!(session["account"]["role"], "owner");
    assert_eq!(session["account"]["kind"], "live");

    let mut elsewhere = harness.visitor();
    assert_eq!(
        elsewhere
            .sign_in("ada@example.com", PASSWORD)
            .await
            .status
            .as_u16(),
        200
    );
    let repeated = ada
        .post("/api/email/verify", &json!({ "token": token }))
        .await;
    repeated.error(400, "token_invalid");
    harness.audit().await;
}

#[tokio::test]
async fn a_known_address_is_answered_like_an_unknown_one_and_its_owner_is_told() {
    let harness = OnboardingConsole::open().await;
    harness.member("known@example.com", Role::Owner).await;
    let (mut one, mut other) = (harness.visitor(), harness.visitor());
    let began = Instant::now();
    let unknown = one.sign_up("unknown@example.com").await;
    let first = began.elapsed();
    let began = Instant::now();
    let known = other.sign_up("known@example.com").await;
    let second = began.elapsed();
    assert_eq!(facts(&unknown), facts(&known));
    for took in [first, second] {
        assert!(took >= Duration::from_millis(400), "{took:?}");
    }
    let emails = harness.mails_to("known@example.com").await;
    assert_eq!(
        emails,
        [(
            "known".to_owned(),
            "http://127.0.0.1:8081/sign-in".to_owned()
        )]
    );

    let body = |email: &str| json!({ "email": email });
    let known = other
        .post("/api/password/forgot", &body("known@example.com"))
        .await;
    let unknown = one
        .post("/api/password/forgot", &body("nobody@example.com"))
        .await;
    let nonsense = one.post("/api/password/forgot", &body("no address")).await;
    assert_eq!(known.status.as_u16(), 202);
    assert_eq!(facts(&known), facts(&unknown));
    assert_eq!(facts(&known), facts(&nonsense));
    assert_eq!(harness.mails_to("nobody@example.com").await.len(), 0);
}

#[tokio::test]
async fn a_sign_up_with_a_foreign_address_sets_no_password_on_its_account() {
    let harness = OnboardingConsole::open().await;
    let mut mallory = harness.visitor();
    mallory.sign_up("ada@example.com").await;
    // Ada opens the email that she did not ask for, in a browser of her own.
    let token = harness.token_to("ada@example.com").await;
    let mut ada = harness.visitor();
    let session = ada
        .done("/api/email/verify", &json!({ "token": token }))
        .await;
    assert_eq!(session["person"]["has_password"], false);
    mallory
        .sign_in("ada@example.com", PASSWORD)
        .await
        .error(401, "sign_in_failed");
    assert_eq!(mallory.session().await["signed_in"], false);
    // An email leads to a password of her own.
    ada.done(
        "/api/password/forgot",
        &json!({ "email": "ada@example.com" }),
    )
    .await;
    let token = harness.token_to("ada@example.com").await;
    let body = json!({ "token": token, "password": "my own password" });
    ada.done("/api/password/reset", &body).await;
    let mut elsewhere = harness.visitor();
    let got = elsewhere
        .sign_in("ada@example.com", "my own password")
        .await;
    assert_eq!(got.status.as_u16(), 200);
}

#[tokio::test]
async fn of_two_sign_ups_with_one_address_the_first_that_is_proved_counts() {
    let harness = OnboardingConsole::open().await;
    let (mut first, mut second) = (harness.visitor(), harness.visitor());
    first.sign_up("ada@example.com").await;
    let one = harness.token_to("ada@example.com").await;
    second.sign_up("ada@example.com").await;
    let other = harness.token_to("ada@example.com").await;
    assert_ne!(one, other);
    second
        .done("/api/email/verify", &json!({ "token": other }))
        .await;
    let late = first
        .post("/api/email/verify", &json!({ "token": one }))
        .await;
    late.error(400, "token_invalid");
    let people = harness
        .db
        .ask("SELECT count(*)::text FROM app.person")
        .await;
    assert_eq!(people, ["1"]);
    harness.audit().await;
}

#[tokio::test]
async fn a_link_that_is_used_by_many_at_once_makes_one_person() {
    let harness = OnboardingConsole::open().await;
    harness.visitor().sign_up("ada@example.com").await;
    let token = harness.token_to("ada@example.com").await;
    let tries = (0..4).map(|_| async {
        let mut visitor = harness.visitor();
        let got = visitor
            .post("/api/email/verify", &json!({ "token": token }))
            .await;
        got.status.as_u16()
    });
    let mut statuses = all_at_once(tries.collect()).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400]);
    let accounts = harness
        .db
        .ask("SELECT count(*)::text FROM app.account")
        .await;
    assert_eq!(accounts, ["1"]);
    harness.audit().await;
}

#[tokio::test]
async fn links_are_over_after_two_days_and_after_an_hour() {
    let harness = OnboardingConsole::open().await;
    let mut ada = harness.visitor();
    ada.sign_up("ada@example.com").await;
    let verify = harness.token_to("ada@example.com").await;
    harness.member("bob@example.com", Role::Owner).await;
    ada.done(
        "/api/password/forgot",
        &json!({ "email": "bob@example.com" }),
    )
    .await;
    let reset = harness.token_to("bob@example.com").await;
    harness.db.shift_clock(3_601).await;
    let body = json!({ "token": reset, "password": "another password" });
    ada.post("/api/password/reset", &body)
        .await
        .error(400, "token_invalid");
    harness.db.shift_clock(48 * 3_600 - 3_600).await;
    let late = ada
        .post("/api/email/verify", &json!({ "token": verify }))
        .await;
    late.error(400, "token_invalid");
    for nonsense in ["", "x", &"a".repeat(43), "ü"] {
        let got = ada
            .post("/api/email/verify", &json!({ "token": nonsense }))
            .await;
        got.error(400, "token_invalid");
    }
}

#[tokio::test]
async fn a_new_password_ends_every_sign_in_and_a_bad_one_does_not_cost_the_link() {
    let harness = OnboardingConsole::open().await;
    let (person, _) = harness.member("ada@example.com", Role::Owner).await;
    let mut old = harness.signed_in(person, true).await;
    assert_eq!(old.session().await["signed_in"], true);
    let mut ada = harness.visitor();
    ada.done(
        "/api/password/forgot",
        &json!({ "email": "Ada@Example.com" }),
    )
    .await;
    let token = harness.token_to("ada@example.com").await;
    for bad in ["short", "ada@example.com", "password123"] {
        let body = json!({ "token": token, "password": bad });
        let error = ada
            .post("/api/password/reset", &body)
            .await
            .error(400, "invalid_request");
        assert_eq!(error["param"], "password");
    }
    let body = json!({ "token": token, "password": "quite another one" });
    let session = ada.done("/api/password/reset", &body).await;
    assert_eq!(session["signed_in"], true);
    assert_eq!(old.session().await["signed_in"], false);
    ada.post("/api/password/reset", &body)
        .await
        .error(400, "token_invalid");
    let mut elsewhere = harness.visitor();
    let got = elsewhere
        .sign_in("ada@example.com", "quite another one")
        .await;
    assert_eq!(got.status.as_u16(), 200);
}

#[tokio::test]
async fn the_next_email_voids_the_link_of_the_one_before() {
    let harness = OnboardingConsole::open().await;
    harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.visitor();
    ada.done(
        "/api/password/forgot",
        &json!({ "email": "ada@example.com" }),
    )
    .await;
    let first = harness.token_to("ada@example.com").await;
    ada.done(
        "/api/password/forgot",
        &json!({ "email": "ada@example.com" }),
    )
    .await;
    let body = json!({ "token": first, "password": "quite another one" });
    ada.post("/api/password/reset", &body)
        .await
        .error(400, "token_invalid");
}

#[tokio::test]
async fn emails_are_limited_per_address_and_per_network() {
    let harness = OnboardingConsole::open().await;
    harness.member("ada@example.com", Role::Owner).await;
    let mut visitor = harness.visitor_at("198.51.100.1");
    let body = json!({ "email": "ada@example.com" });
    for _ in 0..5 {
        visitor.done("/api/password/forgot", &body).await;
    }
    assert_eq!(harness.mails_to("ada@example.com").await.len(), 3);
    for number in 5..20 {
        let body = json!({ "email": format!("p{number}@example.com") });
        visitor.done("/api/password/forgot", &body).await;
    }
    // A neighbour in the same network is locked out too, a client elsewhere is not.
    let mut neighbour = harness.visitor_at("198.51.100.200");
    let got = neighbour.post("/api/password/forgot", &body).await;
    got.error(429, "too_many_attempts");
    assert_eq!(got.header("retry-after"), "3600");
    neighbour
        .sign_up("new@example.com")
        .await
        .error(429, "too_many_attempts");
    let mut elsewhere = harness.visitor_at("203.0.113.1");
    elsewhere
        .done(
            "/api/password/forgot",
            &json!({ "email": "bob@example.com" }),
        )
        .await;
    harness.db.shift_clock(3_601).await;
    visitor.done("/api/password/forgot", &body).await;
    assert_eq!(harness.mails_to("ada@example.com").await.len(), 4);
}

#[tokio::test]
async fn the_operator_decides_about_open_sign_up() {
    let closed = OnboardingConsole::with(|_| {}).await;
    let got = closed.visitor().sign_up("ada@example.com").await;
    got.error(403, "sign_up_closed");

    let harness = OnboardingConsole::with(|settings| settings.sign_up = SignUp::Invitation).await;
    let (_, account) = harness.member("owner@example.com", Role::Owner).await;
    harness
        .visitor()
        .sign_up("ada@example.com")
        .await
        .error(403, "sign_up_closed");
    let token = trunkline_console::Token::fresh(&trunkline_keyring::SystemRandom).unwrap();
    let mut tx = harness.people.begin().await.unwrap();
    let new = NewInvitation {
        account,
        email: "ada@example.com",
        role: Role::Developer,
        token: &token.hash,
        is_mailed: true,
        invited_by: None,
        life_seconds: 3_600,
    };
    people::invite(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    let body = |email: &str| {
        json!({
            "email": email, "name": "Ada", "password": PASSWORD, "organisation": "Engines",
            "invitation": token.text.reveal(),
        })
    };
    let mut mallory = harness.visitor();
    let other = mallory
        .post("/api/sign-up", &body("mallory@example.com"))
        .await;
    other.error(400, "token_invalid");
    let mut ada = harness.visitor();
    let got = ada.post("/api/sign-up", &body("ada@example.com")).await;
    assert_eq!(got.json(), json!({ "status": "signed_in" }));
    let session = ada.session().await;
    assert_eq!(session["account"]["id"], account.number());
    assert_eq!(session["account"]["role"], "developer");
    assert_eq!(session["person"]["email_verified"], true);
    let twice = harness
        .visitor()
        .post("/api/sign-up", &body("ada@example.com"))
        .await;
    twice.error(400, "token_invalid");
    harness.audit().await;
}

#[tokio::test]
async fn a_person_with_an_unverified_address_may_ask_for_another_email() {
    let harness = OnboardingConsole::open().await;
    let (person, _) = harness
        .person("ada@example.com", Role::Owner, false, false)
        .await;
    let mut ada = harness.signed_in(person, true).await;
    ada.done("/api/email/verify/again", &json!({})).await;
    let first = harness.token_to("ada@example.com").await;
    ada.done("/api/email/verify/again", &json!({})).await;
    let second = harness.token_to("ada@example.com").await;
    ada.post("/api/email/verify", &json!({ "token": first }))
        .await
        .error(400, "token_invalid");
    let session = ada
        .done("/api/email/verify", &json!({ "token": second }))
        .await;
    assert_eq!(session["person"]["email_verified"], true);
    ada.done("/api/email/verify/again", &json!({})).await;
    assert_eq!(
        harness.mails_to("ada@example.com").await.len(),
        2,
        "there is nothing to prove"
    );
    let mut unknown = harness.visitor();
    let got = unknown.post("/api/email/verify/again", &json!({})).await;
    got.error(401, "not_signed_in");
}

#[tokio::test]
async fn fields_are_checked_and_tokens_are_nowhere_in_the_tables() {
    let harness = OnboardingConsole::open().await;
    let mut ada = harness.visitor();
    for (field, value) in [
        ("email", json!("no address")),
        ("name", json!(" ")),
        ("name", json!("a\nb")),
        ("organisation", json!("")),
        ("password", json!("short")),
    ] {
        let mut body = json!({
            "email": "ada@example.com", "name": "Ada", "password": PASSWORD, "organisation": "Engines",
        });
        body[field] = value;
        let error = ada
            .post("/api/sign-up", &body)
            .await
            .error(400, "invalid_request");
        assert_eq!(error["param"], field);
        assert!(!error.to_string().contains(PASSWORD), "{error}");
    }
    ada.sign_up("ada@example.com").await;
    harness.member("bob@example.com", Role::Owner).await;
    ada.done(
        "/api/password/forgot",
        &json!({ "email": "bob@example.com" }),
    )
    .await;
    let tokens = [
        harness.token_to("ada@example.com").await,
        harness.token_to("bob@example.com").await,
        PASSWORD.to_owned(),
    ];
    for table in [
        "email",
        "sign_up",
        "person_token",
        "person",
        "attempt_counter",
    ] {
        let rows = harness
            .db
            .ask(&format!("SELECT t::text FROM app.{table} AS t"))
            .await
            .join("\n");
        for token in &tokens {
            assert!(!rows.contains(token), "{table}: {rows}");
        }
    }
}

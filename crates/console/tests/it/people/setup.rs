//! The link that makes an operator.

use serde_json::json;
use trunkline_console::ConsoleSettings;
use trunkline_store::people::Role;
use trunkline_testkit::all_at_once;

use super::{Browser, PASSWORD, setup_body};
use crate::client::{DASH_URL, TestConsole};

#[tokio::test]
async fn the_set_up_link_makes_the_operator_with_an_organisation_and_signs_in() {
    let test_console = TestConsole::new().await;
    let browser = Browser::new(&test_console);
    let before = browser.session().await;
    assert_eq!(before["signed_in"], false);
    assert_eq!(before["person"], json!(null));
    assert_eq!(
        before["instance"],
        json!({
            "name": "Trunkline", "base_url": "http://127.0.0.1:8080/v1", "sign_up": "closed",
            "needs_setup": true, "sends_mail": false, "providers": [], "mode": "live", "trial": null,
        })
    );
    let token = test_console.setup_token().await;
    let got = browser.post("/api/setup", setup_body(&token)).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let session = got.json();
    assert_eq!(
        session,
        browser.session().await,
        "the answer is the session"
    );
    assert_eq!(session["signed_in"], true);
    let person = &session["person"];
    assert_eq!(person["email"], "ada@example.com");
    assert_eq!(person["name"], "Ada Lovelace");
    for yes in ["is_operator", "has_password", "email_verified"] {
        assert_eq!(person[yes], true, "{yes}");
    }
    assert_eq!(session["account"]["name"], "Analytical Engines");
    assert_eq!(session["account"]["role"], "owner");
    assert_eq!(session["account"]["kind"], "live");
    assert_eq!(session["accounts"], json!([session["account"]]));
    let rights = [
        "keys.write",
        "playground",
        "tasks.write",
        "wallet.write",
        "members.write",
        "account.write",
    ];
    assert_eq!(session["rights"], json!(rights));
    assert!(session["stepped_up_until"].is_string());
    assert_eq!(session["instance"]["needs_setup"], false);
    test_console.audit().await;
}

#[tokio::test]
async fn the_link_works_once_and_not_after_a_day_and_not_when_another_was_given() {
    let test_console = TestConsole::new().await;
    let browser = Browser::new(&test_console);
    let token = test_console.setup_token().await;
    test_console.db.shift_clock(86_401).await;
    let over = browser.post("/api/setup", setup_body(&token)).await;
    let over = over.error(400, "token_invalid");
    let token = test_console.setup_token().await;
    let good = browser.post("/api/setup", setup_body(&token)).await;
    assert_eq!(good.status.as_u16(), 200);
    let mut texts = vec![over["message"].clone()];
    let unknown = "A".repeat(43);
    for used in [token.as_str(), &unknown, "short", ""] {
        let got = Browser::new(&test_console)
            .post("/api/setup", setup_body(used))
            .await;
        texts.push(got.error(400, "token_invalid")["message"].clone());
    }
    texts.dedup();
    assert_eq!(
        texts.len(),
        1,
        "the response does not reveal which: {texts:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_concurrent_uses_of_the_set_up_link_one_creates_the_operator() {
    let test_console = TestConsole::new().await;
    let token = test_console.setup_token().await;
    let tries = (0..6).map(|number| {
        let (test_console, token) = (&test_console, token.clone());
        async move {
            let mut body = setup_body(&token);
            body["email"] = json!(format!("op{number}@example.com"));
            let got = Browser::new(test_console).post("/api/setup", body).await;
            got.status.as_u16()
        }
    });
    let statuses = all_at_once(tries.collect()).await;
    let good = statuses.iter().filter(|status| **status == 200);
    assert_eq!(good.count(), 1, "{statuses:?}");
    let count = test_console
        .db
        .ask("SELECT count(*)::text FROM app.person")
        .await;
    assert_eq!(count, ["1"]);
}

#[tokio::test]
async fn a_new_link_resets_the_password_of_an_operator() {
    let test_console = TestConsole::new().await;
    let old = test_console.operator().await;
    let account = old.session().await["account"]["id"].clone();
    let mut body = setup_body(&test_console.setup_token().await);
    body["password"] = json!("another good one");
    body["organisation"] = json!("Ignored");
    let browser = Browser::new(&test_console);
    let session = browser.post("/api/setup", body).await.json();
    assert_eq!(session["account"]["id"], account, "no second organisation");
    assert_eq!(session["account"]["name"], "Analytical Engines");
    assert_eq!(old.session().await["signed_in"], false, "others are out");
    let wrong = Browser::new(&test_console)
        .sign_in("ada@example.com", PASSWORD)
        .await;
    wrong.error(401, "sign_in_failed");
    let right = Browser::new(&test_console)
        .sign_in("ada@example.com", "another good one")
        .await;
    assert_eq!(right.status.as_u16(), 200);
}

#[tokio::test]
async fn the_link_is_not_used_up_by_a_form_that_is_wrong() {
    let test_console = TestConsole::new().await;
    let browser = Browser::new(&test_console);
    let token = test_console.setup_token().await;
    for (field, value) in [
        ("email", "nobody"),
        ("email", ""),
        ("name", " "),
        ("name", "two\nlines"),
        ("password", "short"),
        ("password", "password123"),
        ("password", "ada@example.com"),
        ("organisation", ""),
    ] {
        let mut body = setup_body(&token);
        body[field] = json!(value);
        let got = browser.post("/api/setup", body).await;
        let error = got.error(400, "invalid_request");
        assert_eq!(error["param"], field, "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            !message.contains("password123"),
            "a secret is not repeated: {message}"
        );
    }
    let good = browser.post("/api/setup", setup_body(&token)).await;
    assert_eq!(good.status.as_u16(), 200);
}

#[tokio::test]
async fn the_seeded_account_of_dev_becomes_the_operators_alone() {
    let plain = ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1");
    let test_console = TestConsole::new().await;
    let seeded = test_console.organisation("Developer").await;
    let settings = ConsoleSettings {
        first_account: Some(seeded),
        ..plain
    };
    let console = Box::pin(test_console.restarted(settings)).await;
    let first = console.operator().await.session().await;
    assert_eq!(first["account"]["id"], seeded.number());
    assert_eq!(first["account"]["name"], "Analytical Engines");
    assert_eq!(first["account"]["role"], Role::Owner.as_str());
    let mut body = setup_body(&console.setup_token().await);
    body["email"] = json!("grace@example.com");
    body["organisation"] = json!("Compilers");
    let second = Browser::new(&console).post("/api/setup", body).await.json();
    assert_ne!(second["account"]["id"], seeded.number());
    assert_eq!(second["account"]["name"], "Compilers");
}

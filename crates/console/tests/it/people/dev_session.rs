//! The signed-in link of `trunkline dev`.

use serde_json::{Value, json};
use trunkline_console::{ConsoleSettings, Mode, Token};
use trunkline_keyring::SystemRandom;
use trunkline_testkit::all_at_once;
use trunkline_types::AccountId;

use super::{Browser, setup_body};
use crate::client::{DASH_URL, TestConsole};

const HERE: &str = "127.0.0.1";

/// A console as `trunkline dev` opens it, its seeded account, and the token of its link.
async fn dev(mode: Mode, offered: bool) -> (TestConsole, AccountId, String) {
    let test_console = TestConsole::new().await;
    let seeded = test_console.organisation("Developer").await;
    let token = Token::fresh(&SystemRandom).unwrap();
    let settings = ConsoleSettings {
        mode,
        first_account: Some(seeded),
        dev_link: offered.then_some(token.hash),
        ..ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1")
    };
    let test_console = Box::pin(test_console.restarted(settings)).await;
    (test_console, seeded, token.text.reveal().to_owned())
}

fn body(token: &str) -> Value {
    json!({ "token": token })
}

#[tokio::test]
async fn the_link_of_dev_signs_in_as_the_operator_of_the_seeded_account() {
    let (test_console, seeded, token) = Box::pin(dev(Mode::Dev, true)).await;
    let browser = Browser::from(&test_console, HERE);
    assert_eq!(browser.session().await["instance"]["needs_setup"], true);
    let got = browser.post("/api/session/dev", body(&token)).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let session = browser.session().await;
    assert_eq!(session["signed_in"], true);
    assert_eq!(session["account"]["id"], seeded.number());
    assert_eq!(session["account"]["role"], "owner");
    assert_eq!(session["person"]["is_operator"], true);
    assert_eq!(session["person"]["has_password"], false);
    assert_eq!(session["instance"]["needs_setup"], false);
    // A second browser of the same developer is the same person.
    let second = Browser::from(&test_console, "::1");
    let got = second.post("/api/session/dev", body(&token)).await;
    assert_eq!(got.json()["person"], session["person"]);
    let count = test_console
        .db
        .ask("SELECT count(*)::text FROM app.person")
        .await;
    assert_eq!(count, ["1"]);
}

#[tokio::test]
async fn the_operator_of_dev_is_never_asked_for_a_password_that_does_not_exist() {
    let (test_console, _, token) = Box::pin(dev(Mode::Dev, true)).await;
    let browser = Browser::from(&test_console, HERE);
    browser.post("/api/session/dev", body(&token)).await;
    test_console.db.shift_clock(3_600).await;
    let made = browser.post("/api/keys", json!({ "name": "laptop" })).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    assert!(browser.session().await["stepped_up_until"].is_string());
}

#[tokio::test]
async fn the_link_signs_in_the_operator_created_by_the_form() {
    let (test_console, seeded, token) = Box::pin(dev(Mode::Dev, true)).await;
    let setup = test_console.setup_token().await;
    let ada = Browser::from(&test_console, HERE);
    let got = ada.post("/api/setup", setup_body(&setup)).await;
    assert_eq!(got.status.as_u16(), 200, "{got:?}");
    let other = Browser::from(&test_console, HERE);
    other.post("/api/session/dev", body(&token)).await;
    let session = other.session().await;
    assert_eq!(session["person"]["email"], "ada@example.com");
    assert_eq!(session["account"]["id"], seeded.number());
    // Ada has a password, and an hour later it is asked for as everywhere.
    test_console.db.shift_clock(3_600).await;
    let refused = other.post("/api/keys", json!({ "name": "laptop" })).await;
    refused.error(403, "step_up_required");
}

#[tokio::test]
async fn a_wrong_token_and_one_of_an_earlier_start_are_refused() {
    let (test_console, _, _) = Box::pin(dev(Mode::Dev, true)).await;
    let earlier = Token::fresh(&SystemRandom).unwrap();
    for wrong in [earlier.text.reveal(), "short", ""] {
        let browser = Browser::from(&test_console, HERE);
        let got = browser.post("/api/session/dev", body(wrong)).await;
        got.error(400, "token_invalid");
        assert_eq!(browser.cookie(), None);
    }
    let count = test_console
        .db
        .ask("SELECT count(*)::text FROM app.person")
        .await;
    assert_eq!(count, ["0"]);
}

#[tokio::test]
async fn serve_and_remote_consoles_have_no_signed_in_link() {
    for (mode, offered, address) in [
        (Mode::Live, true, HERE),
        (Mode::Live, false, HERE),
        (Mode::Dev, false, HERE),
        (Mode::Dev, true, "192.0.2.1"),
        (Mode::Dev, true, "2001:db8::1"),
    ] {
        let (test_console, _, token) = Box::pin(dev(mode, offered)).await;
        let browser = Browser::from(&test_console, address);
        let got = browser.post("/api/session/dev", body(&token)).await;
        got.error(404, "not_found");
        assert_eq!(browser.session().await["signed_in"], false);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tabs_that_open_the_link_at_once_are_one_person() {
    let (test_console, _, token) = Box::pin(dev(Mode::Dev, true)).await;
    let tabs = (0..6).map(|_| {
        let (test_console, token) = (&test_console, token.clone());
        async move {
            let got = Browser::from(test_console, HERE)
                .post("/api/session/dev", body(&token))
                .await;
            (got.status.as_u16(), got.json()["person"]["id"].clone())
        }
    });
    let mut seen = all_at_once(tabs.collect()).await;
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0].0, 200);
}

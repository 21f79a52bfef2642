//! Two organisations side by side, secrets in no answer and no table, and tables of one owner.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::Role;

use super::{Browser, PASSWORD};
use crate::client::TestConsole;

/// The error without the id of its request, which is always another.
fn bare(got: &crate::client::Response) -> Value {
    let mut error = got.error(404, "not_found");
    error["request_id"] = json!(null);
    error
}

#[tokio::test]
async fn what_belongs_to_another_organisation_is_as_unknown_as_what_never_was() {
    let test_console = TestConsole::new().await;
    let (acme, other) = (
        test_console.organisation("Acme").await,
        test_console.organisation("Other").await,
    );
    let ada = test_console
        .member(acme, "ada@example.com", Role::Owner)
        .await;
    let eve = test_console
        .member(other, "eve@example.com", Role::Owner)
        .await;
    let theirs = eve.session().await["person"]["id"].clone();
    let invite = json!({ "email": "x@example.com", "role": "viewer" });
    let invitation = eve.post("/api/members/invitations", invite).await.json()["id"].clone();
    let device = eve.get("/api/sessions").await.json()["data"][0]["id"].clone();
    let role = json!({ "role": "viewer" });
    let never = "00000000-0000-7000-8000-000000000000";
    for (method, path, foreign, unknown, body) in [
        (
            Method::PATCH,
            "/api/members/",
            theirs.to_string(),
            "999999",
            Some(role),
        ),
        (
            Method::DELETE,
            "/api/members/",
            theirs.to_string(),
            "999999",
            None,
        ),
        (
            Method::DELETE,
            "/api/members/invitations/",
            invitation.to_string(),
            "999999",
            None,
        ),
        (
            Method::DELETE,
            "/api/sessions/",
            device.as_str().unwrap().to_owned(),
            never,
            None,
        ),
    ] {
        let foreign = format!("{path}{foreign}");
        let foreign = ada.send(method.clone(), &foreign, body.clone()).await;
        let unknown = ada
            .send(method.clone(), &format!("{path}{unknown}"), body.clone())
            .await;
        let nonsense = ada
            .send(method.clone(), &format!("{path}nonsense"), body)
            .await;
        assert_eq!(bare(&foreign), bare(&unknown), "{method} {path}");
        assert_eq!(bare(&foreign), bare(&nonsense), "{method} {path}");
    }
    let switch = |account: i64| json!({ "account_id": account });
    let foreign = ada
        .post("/api/session/account", switch(other.number()))
        .await;
    let unknown = ada.post("/api/session/account", switch(999_999)).await;
    assert_eq!(bare(&foreign), bare(&unknown));
    assert_eq!(eve.session().await["account"]["role"], "owner");
    let seen = ada.get("/api/members").await.json().to_string();
    assert!(!seen.contains("eve@"), "{seen}");
}

#[tokio::test]
async fn secrets_are_in_no_table_and_in_no_answer() {
    let test_console = TestConsole::new().await;
    let token = test_console.setup_token().await;
    let browser = Browser::new(&test_console);
    let mut answers = Vec::new();
    let got = browser.post("/api/setup", super::setup_body(&token)).await;
    answers.push(got.body.clone());
    let cookie = browser.cookie().unwrap();
    let value = cookie.split_once('=').unwrap().1.to_owned();
    let wrong = "canary-of-a-wrong-password";
    answers.push(
        Browser::new(&test_console)
            .sign_in("ada@example.com", wrong)
            .await
            .body,
    );
    for path in [
        "/api/session",
        "/api/sessions",
        "/api/members",
        "/openapi.json",
    ] {
        answers.push(browser.get(path).await.body);
    }
    let mut kept = Vec::new();
    for table in [
        "person",
        "member",
        "sign_in",
        "invitation",
        "person_token",
        "sign_in_attempt",
    ] {
        kept.extend(
            test_console
                .db
                .ask(&format!("SELECT t::text FROM app.{table} AS t"))
                .await,
        );
    }
    let texts = answers
        .iter()
        .map(|body| String::from_utf8_lossy(body).into_owned());
    let texts: Vec<String> = texts.chain(kept).collect();
    for secret in [PASSWORD, wrong, token.as_str(), value.as_str()] {
        let found = texts.iter().find(|text| text.contains(secret));
        assert_eq!(found, None, "{secret}");
    }
    assert!(
        texts
            .iter()
            .any(|text| text.contains("$argon2id$v=19$m=19456,t=2,p=1$"))
    );
    let is_exposed = answers
        .iter()
        .any(|body| String::from_utf8_lossy(body).contains("argon2"));
    assert!(!is_exposed, "not even the hash is shown");
}

#[tokio::test]
async fn a_disabled_person_is_signed_out() {
    let test_console = TestConsole::new().await;
    let browser = test_console.operator().await;
    let shut = "UPDATE app.person SET disabled_at = app.now() RETURNING id::text";
    assert_eq!(test_console.db.ask(shut).await.len(), 1);
    assert_eq!(browser.session().await["signed_in"], false);
    let repeated = Browser::new(&test_console)
        .sign_in("ada@example.com", PASSWORD)
        .await;
    repeated.error(401, "sign_in_failed");
    test_console.audit().await;
}

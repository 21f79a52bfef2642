//! Invitations: to a new person, to an existing one, revoked, replaced, used once.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};
use trunkline_console::ConsoleSettings;
use trunkline_store::people::Role;
use trunkline_testkit::all_at_once;

use super::{Browser, PASSWORD};
use crate::client::{DASH_URL, TestConsole};

const PATH: &str = "/api/members/invitations";
const ACCEPT: &str = "/api/invitations/accept";
const LOOK: &str = "/api/invitations/preview";

/// Invites and gives the token of the link.
async fn invite(owner: &Browser<'_>, email: &str, role: &str) -> (String, Value) {
    let got = owner
        .post(PATH, json!({ "email": email, "role": role }))
        .await;
    assert_eq!(got.status.as_u16(), 201, "{got:?}");
    let made = got.json();
    let link = made["link"].as_str().unwrap();
    let token = link
        .strip_prefix(&format!("{DASH_URL}/invitation#"))
        .unwrap();
    (token.to_owned(), made)
}

#[tokio::test]
async fn a_new_person_accepts_an_invitation_with_a_name_and_a_password() {
    let test_console = TestConsole::new().await;
    let owner = test_console.operator().await;
    let (token, made) = invite(&owner, "Grace@Example.com", "developer").await;
    assert_eq!(made["email"], "grace@example.com");
    assert_eq!(made["invited_by"], "Ada Lovelace");
    let listed = owner.get("/api/members").await.json();
    assert_eq!(listed["invitations"][0]["id"], made["id"]);
    assert_eq!(listed["invitations"][0]["link"], Value::Null, "shown once");
    let browser = Browser::new(&test_console);
    let look = browser.post(LOOK, json!({ "token": token })).await.json();
    let expected = json!({
        "email": "grace@example.com", "organisation": "Analytical Engines", "role": "developer",
        "has_person": false,
    });
    assert_eq!(look, expected);
    for (body, param) in [
        (json!({ "token": token }), "password"),
        (json!({ "token": token, "name": "Grace" }), "password"),
        (json!({ "token": token, "password": PASSWORD }), "name"),
        (
            json!({ "token": token, "name": "Grace", "password": "short" }),
            "password",
        ),
        (
            json!({ "token": token, "name": "Grace", "password": "grace@example.com" }),
            "password",
        ),
    ] {
        let got = browser.post(ACCEPT, body).await;
        assert_eq!(got.error(400, "invalid_request")["param"], param);
    }
    let body = json!({ "token": token, "name": "Grace Hopper", "password": PASSWORD });
    let session = browser.post(ACCEPT, body.clone()).await.json();
    assert_eq!(session["person"]["name"], "Grace Hopper");
    assert_eq!(
        session["person"]["email_verified"], false,
        "the link went who knows where"
    );
    assert_eq!(session["person"]["is_operator"], false);
    assert_eq!(session["account"]["name"], "Analytical Engines");
    assert_eq!(session["account"]["role"], "developer");
    browser.post(ACCEPT, body).await.error(400, "token_invalid");
    browser
        .post(LOOK, json!({ "token": token }))
        .await
        .error(400, "token_invalid");
    let listed = owner.get("/api/members").await.json();
    assert_eq!(listed["invitations"], json!([]));
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);
    let repeated = Browser::new(&test_console)
        .sign_in("grace@example.com", PASSWORD)
        .await;
    assert_eq!(repeated.status.as_u16(), 200);
    let member = owner
        .post(
            PATH,
            json!({ "email": "grace@example.com", "role": "admin" }),
        )
        .await;
    member.error(409, "conflict");
    test_console.audit().await;
}

#[tokio::test]
async fn an_existing_person_accepts_it_with_password_or_session() {
    let test_console = TestConsole::new().await;
    let operator = test_console.operator().await;
    test_console.db.shift_clock(601).await;
    for (name, needs_password) in [("Acme", true), ("Other", false)] {
        let account = test_console.organisation(name).await;
        let email = format!("boss@{}.example", name.to_lowercase());
        let owner = test_console.member(account, &email, Role::Owner).await;
        let (token, _) = invite(&owner, "ada@example.com", "billing").await;
        let stranger = Browser::new(&test_console);
        let look = stranger.post(LOOK, json!({ "token": token })).await.json();
        assert_eq!(look["has_person"], true);
        let bare = stranger.post(ACCEPT, json!({ "token": token })).await;
        assert_eq!(bare.error(400, "invalid_request")["param"], "password");
        let wrong = json!({ "token": token, "name": "Eve", "password": "a brand new one" });
        stranger
            .post(ACCEPT, wrong)
            .await
            .error(401, "sign_in_failed");
        // Another person who is signed in is not that person.
        let other = owner.post(ACCEPT, json!({ "token": token })).await;
        assert_eq!(other.error(400, "invalid_request")["param"], "password");
        let session = if needs_password {
            let body = json!({ "token": token, "password": PASSWORD });
            stranger.post(ACCEPT, body).await.json()
        } else {
            operator
                .post(ACCEPT, json!({ "token": token }))
                .await
                .json()
        };
        assert_eq!(session["account"]["name"], name);
        assert_eq!(session["account"]["role"], "billing");
        assert_eq!(
            session["person"]["name"], "Ada Lovelace",
            "who they are stays"
        );
        let trusted = session["stepped_up_until"].is_string();
        assert_eq!(
            trusted, needs_password,
            "a link gives no trust, a password does"
        );
    }
    let accounts = operator.session().await["accounts"].clone();
    assert_eq!(accounts.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn an_expired_revoked_or_replaced_link_is_refused_with_one_message() {
    let test_console = TestConsole::new().await;
    let owner = test_console.operator().await;
    let browser = Browser::new(&test_console);
    let (replaced, _) = invite(&owner, "grace@example.com", "viewer").await;
    let (revoked, made) = invite(&owner, "grace@example.com", "viewer").await;
    let open = owner.get("/api/members").await.json();
    assert_eq!(open["invitations"].as_array().unwrap().len(), 1);
    let path = format!("{PATH}/{}", made["id"]);
    assert_eq!(owner.delete(&path).await.status.as_u16(), 204);
    owner.delete(&path).await.error(404, "not_found");
    let (over, _) = invite(&owner, "grace@example.com", "viewer").await;
    test_console.db.shift_clock(7 * 86_400 + 1).await;
    let mut texts = Vec::new();
    for token in [replaced.as_str(), &revoked, &over, &"A".repeat(43), "", "x"] {
        let body = json!({ "token": token, "name": "Grace", "password": PASSWORD });
        let got = browser.post(ACCEPT, body).await;
        texts.push(got.error(400, "token_invalid")["message"].clone());
        let got = browser.post(LOOK, json!({ "token": token })).await;
        texts.push(got.error(400, "token_invalid")["message"].clone());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_concurrent_uses_of_one_link_one_succeeds() {
    let test_console = TestConsole::new().await;
    let owner = test_console.operator().await;
    let (token, _) = invite(&owner, "grace@example.com", "viewer").await;
    let tries = (0..5).map(|_| {
        let (test_console, token) = (&test_console, token.clone());
        async move {
            let body = json!({ "token": token, "name": "Grace", "password": PASSWORD });
            Browser::new(test_console)
                .post(ACCEPT, body)
                .await
                .status
                .as_u16()
        }
    });
    let statuses = all_at_once(tries.collect()).await;
    let good = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(good, 1, "{statuses:?}");
    let members = test_console
        .db
        .ask("SELECT count(*)::text FROM app.member")
        .await;
    assert_eq!(members, ["2"]);
}

#[tokio::test]
async fn where_mail_is_sent_the_link_goes_by_mail_alone_and_proves_the_address() {
    let settings = ConsoleSettings {
        sends_mail: true,
        ..ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1")
    };
    let test_console = TestConsole::with(settings).await;
    let owner = test_console.operator().await;
    let got = owner
        .post(
            PATH,
            json!({ "email": "grace@example.com", "role": "viewer" }),
        )
        .await;
    assert_eq!(got.json()["link"], Value::Null);
    let emails = test_console
        .db
        .ask("SELECT kind || ' ' || to_address || ' ' || state FROM app.email")
        .await;
    assert_eq!(emails, ["invitation grace@example.com waiting"]);
    let mailed = test_console
        .db
        .ask("SELECT mailed::text FROM app.invitation")
        .await;
    assert_eq!(mailed, ["true"]);
}

#[tokio::test]
async fn without_mail_an_email_is_queued_for_the_operator_with_a_sealed_link() {
    let test_console = TestConsole::new().await;
    let owner = test_console.operator().await;
    let (token, _) = invite(&owner, "grace@example.com", "viewer").await;
    let emails = test_console.db.ask("SELECT state FROM app.email").await;
    assert_eq!(emails, ["kept"]);
    let dump = test_console
        .db
        .ask("SELECT encode(sealed, 'escape') FROM app.email")
        .await;
    assert!(!dump[0].contains(&token));
    let hashes = test_console
        .db
        .ask("SELECT i::text FROM app.invitation AS i")
        .await;
    assert!(!hashes[0].contains(&token));
}

/// The attack of the finding: sixty emails to one address, by one member of two organisations.
#[tokio::test]
async fn an_address_gets_three_invitations_an_hour_from_all_organisations_together() {
    let test_console = TestConsole::new().await;
    let mut made = Vec::new();
    for name in ["acme", "best"] {
        let account = test_console.organisation(name).await;
        let email = format!("ada@{name}.example");
        let owner = test_console.member(account, &email, Role::Owner).await;
        for _ in 0..30 {
            let body = json!({ "email": "victim@example.com", "role": "viewer" });
            made.push(owner.post(PATH, body).await.status.as_u16());
        }
        invite(&owner, "other@example.com", "viewer").await;
    }
    let of = |status: u16| made.iter().filter(|one| **one == status).count();
    assert_eq!((of(201), of(429)), (3, 57));
    let emails = "SELECT count(*)::text FROM app.email";
    assert_eq!(test_console.db.ask(emails).await, ["5"]);
}

// G-12
#[tokio::test]
async fn an_organisation_sends_120_invitations_an_hour_whatever_it_withdraws() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("acme").await;
    let owner = test_console.member(account, "ada@acme.example", Role::Owner);
    let owner = owner.await;
    let mut counts = BTreeMap::<u16, usize>::new();
    for number in 0..130 {
        let email = format!("x{number}@example.com");
        let body = json!({ "email": email, "role": "viewer" });
        let got = owner.post(PATH, body).await;
        *counts.entry(got.status.as_u16()).or_default() += 1;
        if got.status.as_u16() == 201 {
            // Open invitations have a bound of their own.
            let id = got.json()["id"].as_i64().unwrap();
            let gone = owner
                .send(Method::DELETE, &format!("{PATH}/{id}"), None)
                .await;
            assert_eq!(gone.status.as_u16(), 204, "{gone:?}");
        } else {
            got.error(429, "too_many_attempts");
            assert_eq!(got.header("retry-after"), "3600");
        }
    }
    assert_eq!(counts, BTreeMap::from([(201, 120), (429, 10)]));
    let emails = "SELECT count(*)::text FROM app.email";
    assert_eq!(test_console.db.ask(emails).await, ["120"]);
    // Another organisation in the same network, and the same one after an hour.
    let other = test_console.organisation("best").await;
    let neighbour = test_console.member(other, "eve@best.example", Role::Owner);
    invite(&neighbour.await, "y@example.com", "viewer").await;
    test_console.db.shift_clock(3_601).await;
    let second = test_console.member(account, "bob@acme.example", Role::Owner);
    invite(&second.await, "z@example.com", "viewer").await;
}

// G-12
#[tokio::test]
async fn a_network_sends_240_invitations_an_hour_through_all_its_organisations() {
    let test_console = TestConsole::new().await;
    let mut counts = BTreeMap::<u16, usize>::new();
    let mut cookie = None;
    for name in ["acme", "best", "core"] {
        let account = test_console.organisation(name).await;
        let email = format!("ada@{name}.example");
        let owner = test_console.member(account, &email, Role::Owner).await;
        for number in 0..90 {
            let email = format!("{name}{number}@example.com");
            let body = json!({ "email": email, "role": "viewer" });
            let got = owner.post(PATH, body).await;
            *counts.entry(got.status.as_u16()).or_default() += 1;
        }
        cookie = owner.cookie();
    }
    assert_eq!(counts, BTreeMap::from([(201, 240), (429, 30)]));
    let elsewhere = Browser::from(&test_console, "203.0.113.9");
    elsewhere.plant(&cookie.unwrap());
    invite(&elsewhere, "last@example.com", "viewer").await;
}

#[tokio::test]
async fn invitations_are_bounded_and_addresses_checked() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("Acme").await;
    let owner = test_console
        .member(account, "ada@example.com", Role::Owner)
        .await;
    for wrong in [
        "",
        "nobody",
        "a@b@c",
        "a b@c.example",
        "x@y.example\r\nbcc: z@y.example",
    ] {
        let got = owner
            .post(PATH, json!({ "email": wrong, "role": "viewer" }))
            .await;
        assert_eq!(
            got.error(400, "invalid_request")["param"],
            "email",
            "{wrong:?}"
        );
    }
    let role = owner
        .post(PATH, json!({ "email": "a@b.example", "role": "god" }))
        .await;
    role.error(400, "invalid_request");
    for number in 0..99 {
        invite(&owner, &format!("x{number}@example.com"), "viewer").await;
    }
    let body = json!({ "email": "one-more@example.com", "role": "viewer" });
    owner.post(PATH, body).await.error(409, "conflict");
    invite(&owner, "x7@example.com", "billing").await;
}

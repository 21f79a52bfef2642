//! People at the console: a browser that keeps its cookie, and what it is answered.

mod csrf;
mod dev_session;
mod invitations;
mod lockout;
mod members;
mod permissions;
mod setup;
mod signing_in;
mod tenant_isolation;

use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};
use trunkline_console::Token;
use trunkline_keyring::SystemRandom;
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind};
use trunkline_store::accounts::{self, NewAccount};
use trunkline_store::people::{self, NewPerson, NewSignIn, PersonId, Purpose, Role};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Shard};
use uuid::Uuid;

use crate::client::{DASH_URL, Response, TestConsole};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A browser: it keeps the cookies that it is given and says which site it is on.
pub(crate) struct Browser<'a> {
    test_console: &'a TestConsole,
    origin: &'static str,
    address: &'static str,
    cookie: Mutex<Option<String>>,
    /// The cookie that names the browser itself.
    device: Mutex<Option<String>>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(test_console: &'a TestConsole) -> Self {
        Self {
            test_console,
            origin: DASH_URL,
            address: "192.0.2.1",
            cookie: Mutex::new(None),
            device: Mutex::new(None),
        }
    }

    /// The same from another network.
    pub(crate) fn from(test_console: &'a TestConsole, address: &'static str) -> Self {
        Self {
            address,
            ..Self::new(test_console)
        }
    }

    /// The same at another address of the console.
    pub(crate) fn at(test_console: &'a TestConsole, origin: &'static str) -> Self {
        Self {
            origin,
            ..Self::new(test_console)
        }
    }

    pub(crate) fn cookie(&self) -> Option<String> {
        self.kept().clone()
    }

    pub(crate) fn plant(&self, cookie: &str) {
        *self.kept() = Some(cookie.to_owned());
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.cookie.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header("user-agent", "Mozilla/5.0 (test)")
            .header("x-forwarded-for", self.address);
        if method != Method::GET {
            request = request
                .header("origin", self.origin)
                .header("x-trunkline-console", "1");
        }
        let device = self.device.lock().unwrap().clone();
        for cookie in self.cookie().into_iter().chain(device) {
            request = request.header("cookie", cookie);
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let got = self.test_console.ask(request.body(body).unwrap()).await;
        for line in got.headers.get_all("set-cookie") {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let kept = (!pair.ends_with('=')).then(|| pair.to_owned());
            if pair.contains("trunkline-browser=") {
                *self.device.lock().unwrap() = kept;
            } else {
                *self.kept() = kept;
            }
        }
        got
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Response {
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.send(Method::DELETE, path, None).await
    }

    pub(crate) async fn sign_in(&self, email: &str, password: &str) -> Response {
        let body = json!({ "email": email, "password": password });
        self.post("/api/session", body).await
    }

    /// Who is signed in here, as the console tells it.
    pub(crate) async fn session(&self) -> Value {
        let got = self.get("/api/session").await;
        assert_eq!(got.status.as_u16(), 200, "{got:?}");
        got.json()
    }
}

impl TestConsole {
    /// An operator, made the way the first one is.
    pub(crate) async fn operator(&self) -> Browser<'_> {
        let browser = Browser::new(self);
        let got = browser
            .post("/api/setup", setup_body(&self.setup_token().await))
            .await;
        assert_eq!(got.status.as_u16(), 200, "{got:?}");
        browser
    }

    pub(crate) async fn setup_token(&self) -> String {
        let token = Token::fresh(&SystemRandom).unwrap();
        let mut tx = self.people.begin().await.unwrap();
        let done = people::issue_token(&mut tx, Purpose::Setup, None, &token.hash, 86_400).await;
        tx.finish(done).await.unwrap();
        token.text.reveal().to_owned()
    }

    pub(crate) async fn organisation(&self, name: &str) -> AccountId {
        let mut tx = self.people.begin().await.unwrap();
        let account = ledger_accounts::create_account(&mut tx, AccountKind::Live)
            .await
            .unwrap();
        let new = NewAccount {
            id: account,
            name,
            group: "default",
            allowed_groups: &[],
            shard: Shard::new(0).unwrap(),
        };
        accounts::create(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        account
    }

    /// A person without a password.
    pub(crate) async fn person(&self, email: &str) -> PersonId {
        let mut tx = self.people.begin().await.unwrap();
        let new = NewPerson {
            email,
            name: email.split('@').next().unwrap(),
            password: None,
            is_verified: false,
            is_operator: false,
        };
        let made = people::create_person(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        made.unwrap()
    }

    /// A member who is signed in, with the password just given.
    pub(crate) async fn member(&self, account: AccountId, email: &str, role: Role) -> Browser<'_> {
        let person = self.person(email).await;
        let mut tx = self.people.begin().await.unwrap();
        people::add_member(&mut tx, account, person, role)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        self.device(person).await
    }

    /// One more device of a person.
    pub(crate) async fn device(&self, person: PersonId) -> Browser<'_> {
        let token = Token::fresh(&SystemRandom).unwrap();
        let mut tx = self.people.begin().await.unwrap();
        let new = NewSignIn {
            id: Uuid::from_bytes(random_bytes()),
            token: &token.hash,
            person,
            account: None,
            is_stepped_up: true,
            address: "192.0.2.1",
            agent: "test",
        };
        people::sign_in(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        let browser = Browser::new(self);
        browser.plant(&format!("trunkline={}", token.text.reveal()));
        browser
    }

    /// That nothing is in the books that must not be.
    pub(crate) async fn audit(&self) {
        for view in [
            "app.audit_organisation_without_owner",
            "app.audit_disabled_person_signed_in",
            "app.audit_revision_never_issued",
        ] {
            let rows = self
                .db
                .ask(&format!("SELECT v::text FROM {view} AS v"))
                .await;
            assert_eq!(rows, Vec::<String>::new(), "{view}");
        }
    }
}

pub(crate) fn setup_body(token: &str) -> Value {
    json!({
        "token": token,
        "email": "ada@example.com",
        "name": "Ada Lovelace",
        "password": PASSWORD,
        "organisation": "Analytical Engines",
    })
}

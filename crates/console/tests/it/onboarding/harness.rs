//! A console with a mail server, a mail worker that delivers emails, and visitors with a browser each.

use std::collections::BTreeMap;

use axum::body::Body;
use http::header::SET_COOKIE;
use http::{Method, Request};
use serde_json::{Value, json};
use trunkline_console::{Console, ConsoleSettings, SignUp, Token};
use trunkline_db::{Database, Role as DbRole, SystemClock};
use trunkline_keyring::{Keyring, SystemRandom};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind};
use trunkline_ledger::audit;
use trunkline_store::accounts::{self, DEFAULT_GROUP, NewAccount};
use trunkline_store::emails;
use trunkline_store::people::{self, NewPerson, NewSignIn, PersonId, Role};
use trunkline_store::redemption_codes::{self, NewCode, RedemptionCode, Wallet};
use trunkline_testkit::{Db, random_bytes};
use trunkline_types::{AccountId, Clock as _, Money, Shard, Timestamp, uuid_v7};

use crate::client::{DASH_URL, Response, ask, parts};
use crate::fake_catalog::FakeCatalog;
use crate::operator::harness::give_second_factor;

pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) struct OnboardingConsole {
    pub(crate) db: Db,
    pub(crate) console: Console,
    pub(crate) people: Database,
    pub(crate) keyring: Keyring,
}

/// A visitor with a browser, at an address of the network.
pub(crate) struct Visitor<'a> {
    harness: &'a OnboardingConsole,
    pub(crate) jar: BTreeMap<String, String>,
    pub(crate) address: String,
}

impl OnboardingConsole {
    /// With open sign-up and a mail server.
    pub(crate) async fn open() -> Self {
        Self::with(|settings| {
            settings.sign_up = SignUp::Open;
            settings.sends_mail = true;
        })
        .await
    }

    pub(crate) async fn with(set: impl FnOnce(&mut ConsoleSettings)) -> Self {
        let db = Db::fresh().await;
        let people = db.connect(DbRole::Console).await;
        Self::over(db, people, set).await
    }

    /// The same with a pool of the role console that the test has made.
    pub(crate) async fn over(
        db: Db,
        people: Database,
        set: impl FnOnce(&mut ConsoleSettings),
    ) -> Self {
        let mut settings = ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1");
        set(&mut settings);
        let data = db.connect(DbRole::Data).await;
        let parts = parts(data, people.clone(), &FakeCatalog::new(), settings);
        Self {
            keyring: parts.keyring.clone(),
            console: Console::new(parts),
            people,
            db,
        }
    }

    pub(crate) fn visitor(&self) -> Visitor<'_> {
        self.visitor_at("192.0.2.7")
    }

    pub(crate) fn visitor_at(&self, address: &str) -> Visitor<'_> {
        Visitor {
            harness: self,
            jar: BTreeMap::new(),
            address: address.to_owned(),
        }
    }

    /// Emails to an address as they would be sent, oldest first.
    pub(crate) async fn mails_to(&self, address: &str) -> Vec<(String, String)> {
        let rows = self
            .db
            .ask(&format!(
                "SELECT id || ' ' || kind || ' ' || encode(sealed, 'hex') FROM app.email
                 WHERE to_address = '{address}' ORDER BY created_at, id"
            ))
            .await;
        let read = |row: String| {
            let parts: Vec<&str> = row.split(' ').collect();
            let sealed: Vec<u8> = (0..parts[2].len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&parts[2][at..at + 2], 16).unwrap())
                .collect();
            let id = parts[0].parse().unwrap();
            let context = emails::context(id);
            let binding = trunkline_keyring::Binding::of_operator(&context);
            let purpose = trunkline_keyring::Purpose::Emails;
            let opened = self.keyring.open(purpose, &binding, &sealed).unwrap();
            let content = emails::Content::of_bytes(opened.reveal()).unwrap();
            (parts[1].to_owned(), content.link)
        };
        rows.into_iter().map(read).collect()
    }

    /// The token of the newest email to an address.
    pub(crate) async fn token_to(&self, address: &str) -> String {
        let (_, link) = self.mails_to(address).await.pop().expect("an email");
        link.split_once('#').expect("a token").1.to_owned()
    }

    /// A member of a new organisation, made without asking.
    pub(crate) async fn member(&self, email: &str, role: Role) -> (PersonId, AccountId) {
        self.person(email, role, true, false).await
    }

    pub(crate) async fn person(
        &self,
        email: &str,
        role: Role,
        is_verified: bool,
        is_operator: bool,
    ) -> (PersonId, AccountId) {
        let mut tx = self.people.begin().await.unwrap();
        let account = ledger_accounts::create_account(&mut tx, AccountKind::Live)
            .await
            .unwrap();
        let new = NewAccount {
            id: account,
            name: "Works",
            group: DEFAULT_GROUP,
            allowed_groups: &[],
            shard: Shard::new(1).unwrap(),
        };
        accounts::create(&mut tx, &new).await.unwrap();
        let new = NewPerson {
            email,
            name: "Ada",
            password: None,
            is_verified,
            is_operator,
        };
        let person = people::create_person(&mut tx, &new).await.unwrap().unwrap();
        people::add_member(&mut tx, account, person, role)
            .await
            .unwrap();
        if is_operator {
            give_second_factor(&mut tx, person).await;
        }
        tx.commit().await.unwrap();
        (person, account)
    }

    /// A browser in which a person is signed in, made without asking.
    pub(crate) async fn signed_in(&self, person: PersonId, is_stepped_up: bool) -> Visitor<'_> {
        let token = Token::fresh(&SystemRandom).unwrap();
        let mut tx = self.people.begin().await.unwrap();
        let new = NewSignIn {
            id: uuid_v7(SystemClock.now(), random_bytes()),
            token: &token.hash,
            person,
            account: None,
            is_stepped_up,
            address: "192.0.2.7",
            agent: "test",
        };
        people::sign_in(&mut tx, &new).await.unwrap();
        people::note_second_factor(&mut tx, new.id).await.unwrap();
        tx.commit().await.unwrap();
        let mut visitor = self.visitor();
        let text = token.text.reveal().to_owned();
        visitor.jar.insert("trunkline".to_owned(), text);
        visitor
    }

    pub(crate) async fn code(
        &self,
        usd: &str,
        wallet: Wallet,
        expires_at: Option<Timestamp>,
    ) -> String {
        let text = RedemptionCode::new(&random_bytes());
        let mut tx = self.people.begin().await.unwrap();
        let new = NewCode {
            id: uuid_v7(SystemClock.now(), random_bytes()),
            text: &text,
            batch: "b",
            amount: usd.parse::<Money>().unwrap(),
            wallet,
            made_by: "a test",
            expires_at,
        };
        redemption_codes::create(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        text.reveal()
    }

    pub(crate) async fn balance(&self, account: AccountId) -> (String, String, bool) {
        let balance = ledger_accounts::balance(&self.people, account)
            .await
            .unwrap()
            .unwrap();
        (
            balance.paid.to_string(),
            balance.trial.to_string(),
            balance.topped_up,
        )
    }

    /// Fails with every row that must not be.
    pub(crate) async fn audit(&self) {
        let auditor = self.db.connect(DbRole::Audit).await;
        let report = audit::run(&auditor).await.unwrap();
        let violations: Vec<_> = report
            .violations
            .iter()
            .filter(|violation| violation.view != "app.audit_clock_shifted")
            .collect();
        assert!(violations.is_empty(), "{violations:#?}");
    }
}

impl Visitor<'_> {
    pub(crate) async fn get(&mut self, path: &str) -> Response {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Response {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Posts what must be taken.
    pub(crate) async fn done(&mut self, path: &str, body: &Value) -> Value {
        let got = self.post(path, body).await;
        assert!(got.status.is_success(), "{path}: {got:?}");
        if got.body.is_empty() {
            Value::Null
        } else {
            got.json()
        }
    }

    pub(crate) async fn session(&mut self) -> Value {
        self.get("/api/session").await.json()
    }

    pub(crate) async fn sign_up(&mut self, email: &str) -> Response {
        let body = json!({
            "email": email, "name": "Ada", "password": PASSWORD, "organisation": "Engines",
        });
        self.post("/api/sign-up", &body).await
    }

    pub(crate) async fn sign_in(&mut self, email: &str, password: &str) -> Response {
        let body = json!({ "email": email, "password": password });
        self.post("/api/session", &body).await
    }

    async fn ask(&mut self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let cookies: Vec<String> = self
            .jar
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-trunkline-console", "1")
            .header("origin", DASH_URL)
            .header("x-forwarded-for", &self.address)
            .header("content-type", "application/json");
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let got = ask(&self.harness.console, request.body(body).unwrap()).await;
        for line in got.headers.get_all(SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if value.is_empty() {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
        got
    }
}

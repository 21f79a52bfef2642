//! A console with organisations, people who are signed in, and calls that the real ledger charged.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};
use trunkline_console::{Console, ConsoleSettings, Parts, Token};
use trunkline_db::{Database, Role as DbRole, SystemClock, Tx};
use trunkline_keyring::SystemRandom;
use trunkline_ledger::accounts::{
    self as ledger_accounts, AccountKind, TopUp, TopUpAnswer, Wallet,
};
use trunkline_ledger::{
    Detail, Ledger, LedgerSettings, LedgerTasks, OnCallerGone, Outcome, Owner, Refund,
    RefundAnswer, RefundKind, Reserve, ReserveAnswer, Settle, SettleAnswer, Void, Wallets, audit,
};
use trunkline_payments::Payments;
use trunkline_store::accounts::{self, NewAccount};
use trunkline_store::people::{self, NewPerson, NewSignIn, Role};
use trunkline_store::redemption_codes::{self, NewCode, RedemptionCode, Wallet as CodeWallet};
use trunkline_testkit::{Db, random_bytes};
use trunkline_types::{
    AccountId, Bucket, Clock as _, Face, KeyId, Money, NodeId, RequestId, Shard, Units, Usage,
    uuid_v7,
};

use crate::client::{DASH_URL, Response, ask, parts};
use crate::fake_catalog::FakeCatalog;

pub(crate) struct CustomerConsole {
    pub(crate) db: Db,
    pub(crate) console: Console,
    pub(crate) fake_catalog: Arc<FakeCatalog>,
    pub(crate) data: Database,
    pub(crate) people: Database,
    pub(crate) ledger: Ledger,
    /// Kept, because the ledger writes as long as they are.
    _tasks: LedgerTasks,
    numbers: AtomicI64,
}

/// A signed-in browser.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    cookie: String,
    /// The account that it names in a header, for the defect that believes it.
    named: Option<AccountId>,
}

/// A call to make.
#[derive(Debug, Clone)]
pub(crate) struct CallSpec {
    pub(crate) key: Option<KeyId>,
    pub(crate) model: String,
    pub(crate) endpoint: String,
    pub(crate) nanos: i64,
    pub(crate) outcome: Outcome,
    pub(crate) units: Units,
    pub(crate) attempts: Value,
    pub(crate) warnings: Vec<String>,
    pub(crate) price_version: [u8; 32],
    /// What it costs the operator, in nano-USD; none if that is not known.
    pub(crate) cost: Option<i64>,
}

impl Browser {
    /// The browser that has this token.
    pub(crate) fn of(token: &str) -> Self {
        Self {
            cookie: format!("trunkline={token}"),
            named: None,
        }
    }

    /// The same browser, whose requests name another account.
    pub(crate) fn naming(&self, account: AccountId) -> Self {
        Self {
            named: Some(account),
            ..self.clone()
        }
    }

    /// One without a session.
    pub(crate) fn stranger() -> Self {
        Self {
            cookie: "trunkline=nobody".to_owned(),
            named: None,
        }
    }
}

impl Default for CallSpec {
    fn default() -> Self {
        Self {
            key: None,
            model: "open-chat".to_owned(),
            endpoint: "chat".to_owned(),
            nanos: 400_000,
            outcome: Outcome::Complete,
            units: Units::none()
                .plus(Face::Input, 12)
                .and_then(|units| units.plus(Face::Output, 5))
                .unwrap(),
            attempts: json!([{ "channel": 7, "status": 200, "error": null, "ms": 812 }]),
            warnings: Vec::new(),
            price_version: [7; 32],
            cost: Some(987_654),
        }
    }
}

impl CustomerConsole {
    pub(crate) async fn new() -> Self {
        Self::with_payments(None).await
    }

    pub(crate) async fn with_payments(payments: Option<Payments>) -> Self {
        let db = Db::fresh().await;
        let fake_catalog = FakeCatalog::new();
        let data = db.connect(DbRole::Data).await;
        let people = db.connect(DbRole::Console).await;
        let settings = ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1");
        let node = NodeId::new("harness").unwrap();
        let patient = LedgerSettings {
            admission_wait: Duration::from_secs(60),
            settlement_wait: Duration::from_secs(60),
            ..LedgerSettings::default()
        };
        let (ledger, tasks) = Ledger::open(data.clone(), &node, patient).await.unwrap();
        let parts = Parts {
            payments,
            ..parts(data.clone(), people.clone(), &fake_catalog, settings)
        };
        Self {
            console: Console::new(parts),
            db,
            fake_catalog,
            data,
            people,
            ledger,
            _tasks: tasks,
            numbers: AtomicI64::new(1),
        }
    }

    /// An organisation with money in its wallets, in nano-USD.
    pub(crate) async fn firm(&self, name: &str, paid: i64, trial: i64) -> AccountId {
        let mut tx = self.people.begin().await.unwrap();
        let account = ledger_accounts::create_account(&mut tx, AccountKind::Live)
            .await
            .unwrap();
        let new = NewAccount {
            id: account,
            name,
            group: "default",
            allowed_groups: &["vip".to_owned()],
            shard: Shard::new(1).unwrap(),
        };
        accounts::create(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        self.pay(account, Wallet::Paid, paid, "manual").await;
        self.pay(account, Wallet::Trial, trial, "trial-credit")
            .await;
        account
    }

    pub(crate) async fn pay(&self, account: AccountId, wallet: Wallet, nanos: i64, provider: &str) {
        if nanos == 0 {
            return;
        }
        let amount = Money::from_nanos(nanos);
        let mut tx = self.people.begin().await.unwrap();
        let event = if provider == "code" {
            redeemed(&mut tx, account, wallet, amount).await
        } else {
            format!("pay-{}", self.number())
        };
        let money = TopUp {
            request: self.request(),
            account,
            wallet,
            amount,
            provider: provider.to_owned(),
            event,
        };
        let answer = ledger_accounts::top_up(&mut tx, &money).await.unwrap();
        assert_eq!(answer, TopUpAnswer::Done);
        tx.commit().await.unwrap();
    }

    /// A person with a role, signed in, who gave the password just now.
    pub(crate) async fn member(&self, account: AccountId, role: Role) -> Browser {
        self.sign_in(account, role, true).await
    }

    pub(crate) async fn sign_in(&self, account: AccountId, role: Role, fresh: bool) -> Browser {
        let token = Token::fresh(&SystemRandom).unwrap();
        let email = format!("{}-{}@example.com", role.as_str(), self.number());
        let mut tx = self.people.begin().await.unwrap();
        let new = NewPerson {
            email: &email,
            name: "Ada",
            password: None,
            is_verified: true,
            is_operator: false,
        };
        let person = people::create_person(&mut tx, &new).await.unwrap().unwrap();
        assert!(
            people::add_member(&mut tx, account, person, role)
                .await
                .unwrap()
        );
        let device = NewSignIn {
            id: uuid_v7(SystemClock.now(), random_bytes()),
            token: &token.hash,
            person,
            account: Some(account),
            is_stepped_up: fresh,
            address: "127.0.0.1",
            agent: "a test",
        };
        people::sign_in(&mut tx, &device).await.unwrap();
        tx.commit().await.unwrap();
        Browser::of(token.text.reveal())
    }

    /// Begins a call of an account: money is held for it.
    pub(crate) async fn hold(&self, account: AccountId, spec: &CallSpec) -> RequestId {
        let request = self.request();
        let reserve = Reserve {
            request,
            account,
            key: spec.key,
            owner: Owner::Request,
            amount: Money::from_nanos(spec.nanos.max(1)),
            wallets: Wallets::TrialFirst,
            model: spec.model.clone(),
            endpoint: spec.endpoint.clone(),
            group: "default".to_owned(),
            price_version: spec.price_version,
            lifetime: Duration::from_secs(600),
            capacity: None,
            idempotency: None,
        };
        let held = self.ledger.reserve(reserve).await.unwrap();
        assert!(matches!(held, ReserveAnswer::Held { .. }), "{held:?}");
        request
    }

    /// Makes a call of an account from its hold to its end.
    pub(crate) async fn call(&self, account: AccountId, spec: CallSpec) -> RequestId {
        let request = self.hold(account, &spec).await;
        let detail = Detail {
            measured: Usage::unknown()
                .with(Bucket::PlainInput, 12)
                .with(Bucket::PlainOutput, 5),
            units: spec.units,
            tier: Some("standard".to_owned()),
            cost: spec.cost.map(Money::from_nanos),
            attempts: spec.attempts,
            warnings: spec.warnings,
            ..Detail::nothing(spec.outcome)
        };
        if spec.outcome.is_failed() {
            let void = Void {
                request,
                account,
                detail,
            };
            self.ledger.void(void).await.unwrap();
            return request;
        }
        let settle = Settle {
            request,
            account,
            amount: Money::from_nanos(spec.nanos),
            unpaid: None,
            detail,
            on_caller_gone: OnCallerGone::Refund,
        };
        let done = self.ledger.settle(settle).await.unwrap();
        assert!(matches!(done, SettleAnswer::Done { .. }), "{done:?}");
        request
    }

    /// Gives a part of a charge back.
    pub(crate) async fn refund(&self, account: AccountId, request: RequestId, nanos: i64) {
        let refund = Refund {
            request,
            account,
            kind: RefundKind::SettlementAdjustment,
            amount: Some(Money::from_nanos(nanos)),
        };
        let done = self.ledger.refund(refund).await.unwrap();
        assert!(matches!(done, RefundAnswer::Done { .. }), "{done:?}");
    }

    pub(crate) fn request(&self) -> RequestId {
        RequestId::new(SystemClock.now(), random_bytes())
    }

    pub(crate) fn number(&self) -> i64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) async fn get(&self, browser: &Browser, path: &str) -> Response {
        self.send(browser, Method::GET, path, None).await
    }

    /// The JSON of an answer that must be good.
    pub(crate) async fn read(&self, browser: &Browser, path: &str) -> Value {
        let got = self.get(browser, path).await;
        assert_eq!(got.status.as_u16(), 200, "{path}: {got:?}");
        assert_eq!(got.header("cache-control"), "no-store", "{path}");
        got.json()
    }

    pub(crate) async fn post(&self, browser: &Browser, path: &str, body: Value) -> Response {
        self.send(browser, Method::POST, path, Some(body)).await
    }

    pub(crate) async fn send(
        &self,
        browser: &Browser,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Response {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("cookie", &browser.cookie)
            .header("x-trunkline-console", "1")
            .header("origin", DASH_URL);
        if let Some(account) = browser.named {
            request = request.header("x-defect-account", account.number());
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        ask(&self.console, request.body(body).unwrap()).await
    }

    /// A key of the organisation that such a browser made, and its secret.
    pub(crate) async fn key(&self, browser: &Browser, name: &str) -> (KeyId, String) {
        let got = self
            .post(browser, "/api/keys", json!({ "name": name }))
            .await;
        assert_eq!(got.status.as_u16(), 201, "{got:?}");
        let made = got.json();
        let id = KeyId::new(made["key"]["id"].as_i64().unwrap());
        (id, made["secret"].as_str().unwrap().to_owned())
    }

    /// Fails with every row that does not hold.
    pub(crate) async fn audit(&self) {
        let auditor = self.db.connect(DbRole::Audit).await;
        let report = audit::run(&auditor).await.unwrap();
        // Organisations here have one member, of the role that is tried.
        let odd = [
            "app.audit_clock_shifted",
            "app.audit_organisation_without_owner",
        ];
        let violations: Vec<_> = report
            .violations
            .iter()
            .filter(|violation| !odd.contains(&violation.view.as_str()))
            .collect();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// Every page of a list, from the first to the last, and how many there were.
    pub(crate) async fn pages(&self, browser: &Browser, path: &str) -> (Vec<Value>, usize) {
        let mut all = Vec::new();
        let mut next: Option<String> = None;
        for count in 1..1_000 {
            let joint = if path.contains('?') { '&' } else { '?' };
            let target = match &next {
                Some(next) => format!("{path}{joint}after={next}"),
                None => path.to_owned(),
            };
            let page = self.read(browser, &target).await;
            all.extend(page["data"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(text) => next = Some(text.to_owned()),
                None => return (all, count),
            }
        }
        panic!("{path} does not end");
    }
}

/// Texts of one field of many rows.
pub(crate) fn field(rows: &[Value], name: &str) -> Vec<String> {
    let text = |row: &Value| row[name].as_str().unwrap_or_default().to_owned();
    rows.iter().map(text).collect()
}

/// A code that was made and used up, as the books name it.
async fn redeemed(tx: &mut Tx, account: AccountId, wallet: Wallet, amount: Money) -> String {
    let id = uuid_v7(SystemClock.now(), random_bytes());
    let text = RedemptionCode::new(&random_bytes());
    let code = NewCode {
        id,
        text: &text,
        batch: "tests",
        amount,
        wallet: match wallet {
            Wallet::Paid => CodeWallet::Paid,
            Wallet::Trial => CodeWallet::Trial,
        },
        made_by: "a test",
        expires_at: None,
    };
    redemption_codes::create(tx, &code).await.unwrap();
    redemption_codes::redeem(tx, id, account).await.unwrap();
    id.to_string()
}

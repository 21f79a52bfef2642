//! A sound ledger with a bit of everything in it, and a way to break it as no code of the product can.
//!
//! Account 1000 has both wallets, a key with a sub-key, and budgets on all three; account 1001 has
//! paid money, no key and no budget, so that a wrong row of it breaks nothing else.

use std::time::Duration;

use sqlx::Connection as _;
use trunkline_db::Role;
use trunkline_ledger::accounts::{self as ledger_accounts, Adjust, AdjustAnswer, Period, Wallet};
use trunkline_ledger::{
    CapacityClaim, Idempotency, Ledger, LedgerSettings, LedgerTasks, Owner, RefundAnswer,
    RefundKind, Reserve, ReserveAnswer, SettleAnswer, audit,
};
use trunkline_testkit::Db;
use trunkline_types::{AccountId, KeyId, Money, NodeId, RequestId};

use crate::test_ledger::{TestLedger, extend, refund, request, reserve, settle, void};

/// What corruptions are written with, in the scene's database: a call by its name, and an id beside it that is not taken.
const WORDS: &str = "
    CREATE SCHEMA scene;
    CREATE TABLE scene.call (name text PRIMARY KEY, id uuid NOT NULL);
    CREATE FUNCTION scene.id(call text) RETURNS uuid LANGUAGE sql STABLE
        RETURN (SELECT c.id FROM scene.call AS c WHERE c.name = call);
    CREATE FUNCTION scene.beside(call text) RETURNS uuid LANGUAGE sql STABLE
        RETURN overlay(scene.id(call)::text PLACING 'ffffffffffff' FROM 25)::uuid;";

/// The views of the sums of days.
const SUMS: [&str; 2] = ["margin_day_disagrees", "usage_day_disagrees"];

/// A copy of a sound ledger, to be broken.
pub(super) struct Scene {
    db: Db,
}

/// The ledger while it is played.
struct Play {
    harness: TestLedger,
    calls: Vec<(&'static str, RequestId)>,
}

/// Breaks a copy of the scene with a statement, and expects exactly these views to say so.
pub(super) async fn detects(statement: &'static str, views: &[&str]) {
    let scene = Scene::new().await;
    scene.corrupt(statement).await;
    let mut found = scene.found().await;
    // A wrong call or refund is also a wrong sum of its day, which tests of its own ask for.
    found.retain(|view| !SUMS.contains(&view.as_str()) || views.contains(&view.as_str()));
    assert_eq!(found, views, "{statement}");
}

// === impl Scene ===

impl Scene {
    /// One in which the audit finds nothing. It is played once for many tests: a play takes longer than all that is then
    /// done to a copy.
    pub(super) async fn new() -> Self {
        let prepared = Db::prepared("audit-scene", async || {
            let scene = Self {
                db: Play::played().await,
            };
            assert_eq!(
                scene.found().await,
                Vec::<String>::new(),
                "the scene is sound"
            );
            scene.db
        });
        Self { db: prepared.await }
    }

    /// All views.
    pub(super) async fn views(&self) -> Vec<String> {
        let auditor = self.db.connect(Role::Audit).await;
        audit::run(&auditor).await.unwrap().views
    }

    /// The views that are not empty, in order.
    pub(super) async fn found(&self) -> Vec<String> {
        let auditor = self.db.connect(Role::Audit).await;
        let report = audit::run(&auditor).await.unwrap();
        for violation in &report.violations {
            assert!(violation.count > 0 && !violation.rows.is_empty());
            assert!(!violation.meaning.is_empty(), "{}", violation.view);
        }
        let name = |violation: audit::Violation| violation.view.replace("ledger.audit_", "");
        report.violations.into_iter().map(name).collect()
    }

    /// Says a statement as the database's superuser, past every trigger.
    pub(super) async fn corrupt(&self, statement: &'static str) {
        let url = self.db.superuser_url();
        let mut unknown = sqlx::PgConnection::connect(url.reveal()).await.unwrap();
        sqlx::raw_sql("SET session_replication_role = replica")
            .execute(&mut unknown)
            .await
            .unwrap();
        sqlx::raw_sql(statement)
            .execute(&mut unknown)
            .await
            .unwrap();
        unknown.close().await.unwrap();
    }

    /// What the superuser reads: the first column of a query for one.
    pub(super) async fn ask(&self, query: &str) -> Vec<String> {
        self.db.ask(query).await
    }
}

// === impl Play ===

impl Play {
    /// The database in which everything has happened.
    async fn played() -> Db {
        let harness = TestLedger::new().await;
        let mut play = Self {
            harness,
            calls: Vec::new(),
        };
        let (rich, plain) = play.accounts().await;
        // A node that died once: its second life let go of what the first had held.
        let (first, _first_tasks) = patient(&play.harness, "n2").await;
        play.hold(&first, "interrupted", plain, 10, |_| {}).await;
        let (_second, _second_tasks) = patient(&play.harness, "n2").await;
        let (ledger, tasks) = patient(&play.harness, "n1").await;
        play.calls_with_budgets(&ledger, rich).await;
        play.calls_without(&ledger, plain).await;
        drop(ledger);
        tasks.finish().await;
        play.name_calls().await;
        play.harness.db
    }

    /// Writes the names of the calls into the database, for statements and for copies.
    async fn name_calls(&self) {
        let url = self.harness.db.superuser_url();
        let mut superuser = sqlx::PgConnection::connect(url.reveal()).await.unwrap();
        sqlx::raw_sql(WORDS).execute(&mut superuser).await.unwrap();
        for (name, call) in &self.calls {
            sqlx::query("INSERT INTO scene.call VALUES ($1, $2)")
                .bind(name)
                .bind(call.uuid())
                .execute(&mut superuser)
                .await
                .unwrap();
        }
        superuser.close().await.unwrap();
    }

    async fn accounts(&self) -> (AccountId, AccountId) {
        let rich = self.harness.account(1_000, 50).await;
        let plain = self.harness.account(1_000, 0).await;
        assert_eq!((rich.number(), plain.number()), (1_000, 1_001));
        let parent = self.harness.key(rich, 1, None).await;
        let child = self.harness.key(rich, 2, Some(1)).await;
        let mut tx = self.harness.console.begin().await.unwrap();
        for (key, period, limit) in [
            (None, Period::Monthly, 600),
            (Some(parent), Period::Total, 500),
            (Some(child), Period::Daily, 400),
        ] {
            let limit = Some(Money::from_nanos(limit));
            let set = ledger_accounts::set_budget(&mut tx, rich, key, period, "UTC", limit).await;
            assert_eq!(set, Ok(true));
        }
        let goodwill = Adjust {
            request: request(),
            account: plain,
            wallet: Wallet::Paid,
            amount: Money::from_nanos(7),
            reason: "goodwill".to_owned(),
            actor: "someone".to_owned(),
        };
        assert_eq!(
            ledger_accounts::adjust(&mut tx, &goodwill).await,
            Ok(AdjustAnswer::Done)
        );
        tx.commit().await.unwrap();
        (rich, plain)
    }

    async fn calls_with_budgets(&mut self, ledger: &Ledger, rich: AccountId) {
        let by_child = |reserve: &mut Reserve| reserve.key = Some(KeyId::new(2));
        let by_parent = |reserve: &mut Reserve| reserve.key = Some(KeyId::new(1));
        // 50 out of the trial wallet, 20 out of the paid one.
        let split = self.hold(ledger, "split", rich, 80, by_child).await;
        charge(ledger, split, rich, 70).await;
        let refunded = self.hold(ledger, "refunded", rich, 40, by_child).await;
        charge(ledger, refunded, rich, 40).await;
        let back = ledger.refund(refund(refunded, rich)).await;
        assert!(matches!(back, Ok(RefundAnswer::Done { .. })), "{back:?}");
        let cheaper = self.hold(ledger, "cheaper", rich, 60, by_parent).await;
        charge(ledger, cheaper, rich, 60).await;
        let mut part = refund(cheaper, rich);
        part.kind = RefundKind::SettlementAdjustment;
        part.amount = Some(Money::from_nanos(10));
        let back = ledger.refund(part).await;
        assert!(matches!(back, Ok(RefundAnswer::Done { .. })), "{back:?}");
        let released = self.hold(ledger, "released", rich, 30, by_child).await;
        let let_go = ledger.void(void(released, rich)).await;
        assert!(matches!(let_go, Ok(SettleAnswer::Done { .. })));
        let running = self.hold(ledger, "running", rich, 15, by_child).await;
        ledger.extend(extend(running, rich, 25)).await.unwrap();
    }

    async fn calls_without(&mut self, ledger: &Ledger, plain: AccountId) {
        let call = self.hold(ledger, "charged", plain, 50, |_| {}).await;
        charge(ledger, call, plain, 45).await;
        let call = self.hold(ledger, "voided", plain, 30, |_| {}).await;
        let let_go = ledger.void(void(call, plain)).await;
        assert!(matches!(let_go, Ok(SettleAnswer::Done { .. })));
        self.hold(ledger, "open", plain, 30, |_| {}).await;
        let task = |reserve: &mut Reserve| reserve.owner = Owner::Task(reserve.request.uuid());
        let call = self.hold(ledger, "task", plain, 25, task).await;
        charge(ledger, call, plain, 20).await;
        self.hold(ledger, "waiting", plain, 5, task).await;
        let named = |reserve: &mut Reserve| {
            let key = "k".to_owned();
            let body_hash = [1; 32];
            reserve.idempotency = Some(Idempotency { key, body_hash });
        };
        let call = self.hold(ledger, "named", plain, 5, named).await;
        charge(ledger, call, plain, 5).await;
        let placed = |reserve: &mut Reserve| {
            let name = "p".to_owned();
            reserve.capacity = Some(CapacityClaim { name, cap: 2 });
        };
        let call = self.hold(ledger, "placed", plain, 5, placed).await;
        charge(ledger, call, plain, 5).await;
        let packed = |reserve: &mut Reserve| reserve.lifetime = Duration::from_secs(3_600);
        let call = self.hold(ledger, "packed", plain, 6, packed).await;
        charge(ledger, call, plain, 4).await;
        let call = self.hold(ledger, "packed open", plain, 3, packed).await;
        ledger.extend(extend(call, plain, 5)).await.unwrap();
    }

    async fn hold(
        &mut self,
        ledger: &Ledger,
        name: &'static str,
        account: AccountId,
        nanos: i64,
        change: impl Fn(&mut Reserve),
    ) -> RequestId {
        let call = request();
        let mut reserve_op = reserve(call, account, nanos);
        // Short enough to be a row, which a statement can corrupt.
        reserve_op.lifetime = Duration::from_secs(800);
        change(&mut reserve_op);
        let answer = ledger.reserve(reserve_op).await;
        assert!(
            matches!(answer, Ok(ReserveAnswer::Held { .. })),
            "{name}: {answer:?}"
        );
        self.calls.push((name, call));
        call
    }
}

/// The scene must come out the same on a machine that is busy with other things.
async fn patient(harness: &TestLedger, node: &str) -> (Ledger, LedgerTasks) {
    let settings = LedgerSettings {
        admission_wait: Duration::from_secs(60),
        settlement_wait: Duration::from_secs(60),
        ..LedgerSettings::default()
    };
    let node = NodeId::new(node).unwrap();
    Ledger::open(harness.data.clone(), &node, settings)
        .await
        .unwrap()
}

async fn charge(ledger: &Ledger, call: RequestId, account: AccountId, nanos: i64) {
    let done = ledger.settle(settle(call, account, nanos)).await;
    assert!(matches!(done, Ok(SettleAnswer::Done { .. })), "{done:?}");
}

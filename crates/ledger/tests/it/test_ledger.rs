//! A database with accounts in it, and short ways to say the eight words.

use std::time::Duration;

use trunkline_db::{Database, Role, SystemClock};
use trunkline_ledger::accounts::{self, AccountKind, Balance, TopUp, TopUpAnswer, Wallet};
use trunkline_ledger::{
    Detail, Extend, Ledger, LedgerSettings, LedgerTasks, OnCallerGone, Outcome, Owner, Refund,
    RefundKind, Reserve, ReserveAnswer, Settle, SettleAnswer, Void, Wallets, audit, chain,
    usage_report,
};
use trunkline_testkit::{Db, random_bytes};
use trunkline_types::{AccountId, Clock as _, Face, KeyId, Money, NodeId, RequestId, Units, Usage};

pub(crate) const PRICES: [u8; 32] = [7; 32];

pub(crate) struct TestLedger {
    pub(crate) db: Db,
    pub(crate) data: Database,
    pub(crate) console: Database,
}

impl TestLedger {
    pub(crate) async fn new() -> Self {
        let db = Db::fresh().await;
        let data = db.connect(Role::Data).await;
        let console = db.connect(Role::Console).await;
        Self { db, data, console }
    }

    pub(crate) async fn ledger(&self, node: &str) -> (Ledger, LedgerTasks) {
        let node = NodeId::new(node).unwrap();
        Ledger::open(self.data.clone(), &node, patient())
            .await
            .unwrap()
    }

    /// An account with money in its wallets, in nano-USD.
    pub(crate) async fn account(&self, paid: i64, trial: i64) -> AccountId {
        let mut tx = self.console.begin().await.unwrap();
        let account = accounts::create_account(&mut tx, AccountKind::Live)
            .await
            .unwrap();
        for (wallet, amount) in [(Wallet::Paid, paid), (Wallet::Trial, trial)] {
            if amount > 0 {
                let top_up = top_up(
                    account,
                    wallet,
                    amount,
                    &format!("{account}-{}", wallet.as_str()),
                );
                assert_eq!(
                    accounts::top_up(&mut tx, &top_up).await.unwrap(),
                    TopUpAnswer::Done
                );
            }
        }
        tx.commit().await.unwrap();
        account
    }

    pub(crate) async fn key(&self, account: AccountId, key: i64, parent: Option<i64>) -> KeyId {
        let mut tx = self.console.begin().await.unwrap();
        assert!(
            accounts::register_key(&mut tx, account, KeyId::new(key), parent.map(KeyId::new))
                .await
                .unwrap()
        );
        tx.commit().await.unwrap();
        KeyId::new(key)
    }

    pub(crate) async fn balance(&self, account: AccountId) -> Balance {
        accounts::balance(&self.data, account)
            .await
            .unwrap()
            .unwrap()
    }

    /// Posted and held of the paid, then of the trial wallet.
    pub(crate) async fn wallets(&self, account: AccountId) -> [i64; 4] {
        let balance = self.balance(account).await;
        [
            balance.paid,
            balance.paid_held,
            balance.trial,
            balance.trial_held,
        ]
        .map(Money::nanos)
    }

    /// Sums up what waits and enters it in the chains; how many lines were entered.
    pub(crate) async fn chained(&self) -> u64 {
        usage_report::sum_up(&self.data).await.unwrap();
        chain::link(&self.data).await.unwrap().lines
    }

    /// Fails with every row that does not hold.
    pub(crate) async fn audit(&self) {
        let auditor = self.db.connect(Role::Audit).await;
        let report = audit::run(&auditor).await.unwrap();
        assert!(report.views.len() >= 21, "{:?}", report.views);
        let violations: Vec<_> = report
            .violations
            .iter()
            .filter(|violation| violation.view != "app.audit_clock_shifted")
            .collect();
        assert!(violations.is_empty(), "{violations:#?}");
    }
}

/// Callers that wait long enough for a machine that is out of breath.
pub(crate) fn patient() -> LedgerSettings {
    LedgerSettings {
        admission_wait: Duration::from_secs(30),
        settlement_wait: Duration::from_secs(30),
        ..LedgerSettings::default()
    }
}

pub(crate) fn top_up(account: AccountId, wallet: Wallet, nanos: i64, event: &str) -> TopUp {
    TopUp {
        request: request(),
        account,
        wallet,
        amount: Money::from_nanos(nanos),
        provider: "test".to_owned(),
        event: event.to_owned(),
    }
}

pub(crate) fn request() -> RequestId {
    RequestId::new(SystemClock.now(), random_bytes())
}

pub(crate) fn reserve(request: RequestId, account: AccountId, nanos: i64) -> Reserve {
    Reserve {
        request,
        account,
        key: None,
        owner: Owner::Request,
        amount: Money::from_nanos(nanos),
        wallets: Wallets::TrialFirst,
        model: "model".to_owned(),
        endpoint: "chat".to_owned(),
        group: "default".to_owned(),
        price_version: PRICES,
        lifetime: Duration::from_secs(3_600),
        capacity: None,
        idempotency: None,
    }
}

/// One whose lifetime is too short to be packed: its hold is a row.
pub(crate) fn reserve_row(request: RequestId, account: AccountId, nanos: i64) -> Reserve {
    Reserve {
        lifetime: Duration::from_secs(600),
        ..reserve(request, account, nanos)
    }
}

pub(crate) fn detail(outcome: Outcome) -> Detail {
    Detail {
        units: Units::none().plus(Face::Input, 12).unwrap(),
        measured: Usage::unknown(),
        tier: Some("standard".to_owned()),
        cost: Some(Money::from_nanos(3)),
        ..Detail::nothing(outcome)
    }
}

pub(crate) fn settle(request: RequestId, account: AccountId, nanos: i64) -> Settle {
    Settle {
        request,
        account,
        amount: Money::from_nanos(nanos),
        unpaid: None,
        detail: detail(Outcome::Complete),
        on_caller_gone: OnCallerGone::Refund,
    }
}

pub(crate) fn void(request: RequestId, account: AccountId) -> Void {
    Void {
        request,
        account,
        detail: detail(Outcome::UpstreamFailed),
    }
}

pub(crate) fn refund(request: RequestId, account: AccountId) -> Refund {
    Refund {
        request,
        account,
        kind: RefundKind::Refund,
        amount: None,
    }
}

pub(crate) fn extend(request: RequestId, account: AccountId, total: i64) -> Extend {
    Extend {
        request,
        account,
        total: Money::from_nanos(total),
        wallets: Wallets::TrialFirst,
    }
}

pub(crate) const fn nanos(amount: i64) -> Money {
    Money::from_nanos(amount)
}

pub(crate) fn held(paid: i64, trial: i64) -> ReserveAnswer {
    ReserveAnswer::Held {
        paid: nanos(paid),
        trial: nanos(trial),
    }
}

pub(crate) fn done(paid: i64, trial: i64) -> SettleAnswer {
    SettleAnswer::Done {
        paid: nanos(paid),
        trial: nanos(trial),
    }
}

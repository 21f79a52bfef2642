//! No false alarm: hundreds of words of every kind at once, over midnight, through deaths and returns
//! of nodes, while people move budgets and money. Whatever was answered, the audit finds nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use trunkline_db::Database;
use trunkline_ledger::accounts::{self, Adjust, Period, Wallet};
use trunkline_ledger::recovery::{heartbeat, register, sweep};
use trunkline_ledger::{
    CapacityClaim, Idempotency, Ledger, LedgerError, Owner, RefundKind, Reserve, Wallets, WriteOff,
    WriteOffReason,
};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, KeyId, Money, NodeId, RequestId};

use crate::test_ledger::{TestLedger, extend, refund, request, reserve, settle, top_up, void};

const WORKERS: usize = 8;
const WORDS_EACH: usize = 25;
const DEAD_AFTER: Duration = Duration::from_secs(120);

/// Small numbers out of one seed; a failing run prints it.
struct Rng(u64);

/// What the workers share: calls that were made, and who may pay.
#[derive(Clone)]
struct BusyLedger {
    calls: Arc<Mutex<Vec<(RequestId, AccountId)>>>,
    accounts: Arc<[AccountId]>,
}

// === impl Rng ===

impl Rng {
    fn new() -> Self {
        Self(u64::from_le_bytes(random_bytes()))
    }

    /// From 0 to `sides - 1` (xorshift).
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn nanos(&mut self, most: u64) -> i64 {
        i64::try_from(self.roll(most + 1)).unwrap()
    }

    fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[usize::try_from(self.roll(u64::try_from(things.len()).unwrap())).unwrap()]
    }
}

// === impl BusyLedger ===

impl BusyLedger {
    fn any_call(&self, dice: &mut Rng) -> Option<(RequestId, AccountId)> {
        let calls = self.calls.lock().unwrap();
        (!calls.is_empty()).then(|| dice.one_of(&calls))
    }

    fn new_call(&self, dice: &mut Rng) -> Reserve {
        let account = dice.one_of(&self.accounts);
        let call = request();
        let mut reserve_op = reserve(call, account, dice.nanos(60));
        // Keys 10 n + 1 and, below it, 10 n + 2 are of the account n.
        let key = account.number() * 10;
        reserve_op.key = dice.one_of(&[None, Some(KeyId::new(key + 1)), Some(KeyId::new(key + 2))]);
        reserve_op.owner = dice.one_of(&[
            Owner::Request,
            Owner::Request,
            Owner::Task(call.uuid()),
            Owner::Connection(call.uuid()),
        ]);
        reserve_op.wallets =
            dice.one_of(&[Wallets::TrialFirst, Wallets::TrialFirst, Wallets::PaidOnly]);
        if dice.roll(4) == 0 {
            let name = dice.one_of(&["p", "q"]).to_owned();
            reserve_op.capacity = Some(CapacityClaim { name, cap: 20 });
        }
        if dice.roll(3) == 0 {
            let key = dice.one_of(&["a", "b", "c"]).to_owned();
            let body_hash = [1; 32];
            reserve_op.idempotency = Some(Idempotency { key, body_hash });
        }
        self.calls.lock().unwrap().push((call, account));
        reserve_op
    }

    /// One word, now and then said twice at the same time. Any answer will do but an error of ours.
    async fn say(&self, ledger: &Ledger, dice: &mut Rng) {
        let choice = dice.roll(12);
        let Some((call, account)) = self.any_call(dice).filter(|_| choice >= 4) else {
            let reserve_op = self.new_call(dice);
            if dice.roll(3) == 0 {
                let (first, second) = tokio::join!(
                    ledger.reserve(reserve_op.clone()),
                    ledger.reserve(reserve_op)
                );
                expected(first.map(|_| ()));
                return expected(second.map(|_| ()));
            }
            return expected(ledger.reserve(reserve_op).await.map(|_| ()));
        };
        let nanos = dice.nanos(80);
        let received = match choice {
            4 => ledger
                .extend(extend(call, account, nanos))
                .await
                .map(|_| ()),
            5 | 6 => {
                let repeated = ledger.settle(settle(call, account, nanos + 1));
                let (first, second) =
                    tokio::join!(ledger.settle(settle(call, account, nanos)), repeated);
                expected(second.map(|_| ()));
                first.map(|_| ())
            }
            7 => ledger
                .settle(settle(call, account, nanos))
                .await
                .map(|_| ()),
            8 => ledger.void(void(call, account)).await.map(|_| ()),
            9 => {
                let (first, second) = tokio::join!(
                    ledger.refund(refund(call, account)),
                    ledger.refund(refund(call, account))
                );
                expected(second.map(|_| ()));
                first.map(|_| ())
            }
            10 => {
                let mut part = refund(call, account);
                part.kind = RefundKind::SettlementAdjustment;
                part.amount = Some(Money::from_nanos(nanos));
                ledger.refund(part).await.map(|_| ())
            }
            _ => {
                let loss = WriteOff {
                    request: call,
                    account,
                    reason: WriteOffReason::UnknownOutcome,
                    sale: None,
                    cost: Some(Money::from_nanos(nanos)),
                };
                ledger.write_off(loss).await
            }
        };
        expected(received);
    }

    /// What people do meanwhile: move limits, pay twice, correct.
    async fn admin_operations(&self, console: &Database, dice: &mut Rng) {
        let account = dice.one_of(&self.accounts);
        let key = account.number() * 10 + dice.nanos(2);
        let key = (key % 10 > 0).then_some(KeyId::new(key));
        let mut tx = console.begin().await.unwrap();
        match dice.roll(4) {
            0 | 1 => {
                let period = dice.one_of(&[Period::Total, Period::Daily, Period::Weekly]);
                let zone = dice.one_of(&["UTC", "Asia/Shanghai", "America/New_York"]);
                let limit = (dice.roll(3) > 0).then(|| Money::from_nanos(dice.nanos(900)));
                let set = accounts::set_budget(&mut tx, account, key, period, zone, limit).await;
                assert_eq!(set, Ok(true));
            }
            2 => {
                let wallet = dice.one_of(&[Wallet::Paid, Wallet::Trial]);
                let event = format!("payment {}", dice.roll(6));
                let paid = top_up(account, wallet, 50, &event);
                accounts::top_up(&mut tx, &paid).await.unwrap();
                accounts::top_up(&mut tx, &paid).await.unwrap();
            }
            _ => {
                let adjust = Adjust {
                    request: request(),
                    account,
                    wallet: dice.one_of(&[Wallet::Paid, Wallet::Trial]),
                    amount: Money::from_nanos(dice.nanos(100) - 50),
                    reason: "goodwill".to_owned(),
                    actor: "someone".to_owned(),
                };
                accounts::adjust(&mut tx, &adjust).await.unwrap();
            }
        }
        tx.commit().await.unwrap();
    }
}

/// Being replaced and being too slow are answers too.
fn expected(received: Result<(), LedgerError>) {
    match received {
        Ok(()) | Err(LedgerError::StaleEpoch | LedgerError::Unavailable) => {}
        Err(LedgerError::Rejected(text)) => panic!("a word of ours was refused: {text}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_busy_ledger_is_not_a_wrong_one() {
    let harness = TestLedger::new().await;
    let mut accounts = Vec::new();
    for _ in 0..3 {
        let account = harness.account(3_000, 200).await;
        let number = account.number() * 10;
        harness.key(account, number + 1, None).await;
        harness.key(account, number + 2, Some(number + 1)).await;
        accounts.push(account);
    }
    let busy = BusyLedger {
        calls: Arc::default(),
        accounts: Arc::from(accounts),
    };
    // Whenever this runs, it is late in the evening: a task that is left open for a day is a finding.
    let left = until_midnight(&harness).await;
    harness.db.shift_clock((left - 3_600).max(0)).await;
    round(&harness, &busy).await;
    // The next round begins before midnight and ends after it.
    let left = until_midnight(&harness).await;
    harness.db.shift_clock(left - 1).await;
    round(&harness, &busy).await;
    // Every hold is past its deadline now, and every node silent.
    harness.db.shift_clock(3_600).await;
    round(&harness, &busy).await;
    let tasks_left: i64 = {
        let mut session = harness.data.session().await.unwrap();
        sqlx::query_scalar("SELECT count(*) FROM ledger.usage")
            .fetch_one(&mut *session)
            .await
            .unwrap()
    };
    assert!(tasks_left > 10, "the rounds did something: {tasks_left}");
}

/// Seconds of the day that are left, by the ledger's clock.
async fn until_midnight(harness: &TestLedger) -> i64 {
    let mut session = harness.data.session().await.unwrap();
    sqlx::query_scalar(
        "SELECT floor(extract(epoch FROM ledger.period_end('daily', 'UTC', app.now()) - app.now()))::bigint",
    )
    .fetch_one(&mut *session)
    .await
    .unwrap()
}

/// Two nodes, one of which is replaced in the middle, a sweeper and account operations; then the audit.
async fn round(harness: &TestLedger, busy: &BusyLedger) {
    let (first, first_tasks) = harness.ledger("n1").await;
    let (second, second_tasks) = harness.ledger("n2").await;
    let mut working = JoinSet::new();
    for worker in 0..WORKERS {
        let ledger = if worker % 2 == 0 { &first } else { &second }.clone();
        let busy = busy.clone();
        working.spawn(async move {
            let mut dice = Rng::new();
            for _ in 0..WORDS_EACH {
                busy.say(&ledger, &mut dice).await;
            }
        });
    }
    let (admin, console) = (busy.clone(), harness.console.clone());
    working.spawn(async move {
        let mut dice = Rng::new();
        for _ in 0..WORDS_EACH {
            admin.admin_operations(&console, &mut dice).await;
        }
    });
    let sweeper = NodeId::new("sweeper").unwrap();
    let (sweeper, _) = register(&harness.data, &sweeper).await.unwrap();
    for _ in 0..3 {
        sweep(&harness.data, &sweeper, DEAD_AFTER).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The workers of the second node are told that it was replaced, in the middle of their words.
    let (third, third_tasks) = harness.ledger("n2").await;
    let mut dice = Rng::new();
    for _ in 0..WORDS_EACH {
        busy.say(&third, &mut dice).await;
    }
    while let Some(done) = working.join_next().await {
        done.unwrap();
    }
    assert_eq!(heartbeat(&harness.data, first.node_epoch()).await, Ok(true));
    drop((first, second, third));
    for tasks in [first_tasks, second_tasks, third_tasks] {
        tasks.finish().await;
    }
    harness.audit().await;
}

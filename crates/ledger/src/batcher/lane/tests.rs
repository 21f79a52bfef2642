//! Callers who have gone, a process that was replaced, a database that is away, a kept connection.

use trunkline_db::{PoolSettings, Role, connect_lazily};
use trunkline_testkit::Db;
use trunkline_types::{AccountId, Money, NodeId, RequestId, Secret, Timestamp};

use super::*;
use crate::operations::{
    Detail, Outcome, Owner, Refund, RefundKind, Reserve, ReserveAnswer, Settle, SettleAnswer,
    Wallets,
};

type Caller = oneshot::Receiver<Result<Answer, LedgerError>>;

const ACCOUNT: AccountId = AccountId::new(1_000);
const PATIENCE: Duration = Duration::from_secs(60);

fn call() -> RequestId {
    RequestId::new(Timestamp::from_micros(1), [0; 10])
}

fn settle(on_caller_gone: OnCallerGone) -> Op {
    Op::Settle(Box::new(Settle {
        request: call(),
        account: ACCOUNT,
        amount: Money::from_nanos(5),
        unpaid: None,
        detail: Detail::nothing(Outcome::Complete),
        on_caller_gone,
    }))
}

fn refund() -> Op {
    Op::Refund(Refund {
        request: call(),
        account: ACCOUNT,
        kind: RefundKind::Refund,
        amount: None,
    })
}

fn reserve() -> Op {
    Op::Reserve(Box::new(Reserve {
        request: call(),
        account: ACCOUNT,
        key: None,
        owner: Owner::Request,
        amount: Money::from_nanos(5),
        wallets: Wallets::TrialFirst,
        model: "model".to_owned(),
        endpoint: "chat".to_owned(),
        group: "default".to_owned(),
        price_version: [7; 32],
        lifetime: PATIENCE,
        capacity: None,
        idempotency: None,
    }))
}

/// A word, and its caller, who waits that much longer.
fn job(op: Op, patience: Duration) -> (Job, Caller) {
    let (reply, caller) = oneshot::channel();
    let job = Job {
        op,
        reply: Some(reply),
        expires: Instant::now().checked_add(patience),
        unsure: false,
    };
    (job, caller)
}

fn words(compensations: &mut CompensationQueue) -> Vec<&'static str> {
    let word = |job: Job| {
        assert!(job.reply.is_none(), "of our own accord");
        match job.op {
            Op::Reserve(_) => "reserve",
            Op::Extend(_) => "extend",
            Op::Settle(_) => "settle",
            Op::Void(_) => "void",
            Op::Refund(_) => "refund",
            Op::WriteOff(_) => "write off",
        }
    };
    compensations
        .next(usize::MAX)
        .into_iter()
        .map(word)
        .collect()
}

#[test]
fn a_caller_has_given_up_when_it_has_gone_or_when_its_time_is_over() {
    let now = Instant::now();
    let (waits, _caller) = job(reserve(), PATIENCE);
    assert!(!waits.given_up(now));
    assert!(
        waits.given_up(now + PATIENCE + PATIENCE),
        "its time is over"
    );
    let (gone, caller) = job(reserve(), PATIENCE);
    drop(caller);
    assert!(gone.given_up(now), "it has gone before its time");
    assert!(!Job::internal(refund()).given_up(now), "no caller waits");
}

#[test]
fn a_pending_charge_is_dropped_if_its_caller_left_unless_it_is_final() {
    let mut compensations = CompensationQueue::default();
    let (late, mut late_caller) = job(settle(OnCallerGone::Refund), Duration::ZERO);
    let (waits, _caller) = job(settle(OnCallerGone::Refund), PATIENCE);
    let waiting = forget_expired(vec![late, waits], &mut compensations);
    assert_eq!(waiting.len(), 1);
    assert_eq!(late_caller.try_recv(), Ok(Err(LedgerError::Unavailable)));
    assert_eq!(words(&mut compensations), ["void", "refund", "write off"]);
    for (op, answer) in [
        (settle(OnCallerGone::Keep), vec!["settle"]),
        (refund(), vec!["refund"]),
        (reserve(), vec![]),
    ] {
        let (job, caller) = job(op, PATIENCE);
        drop(caller);
        assert!(forget_expired(vec![job], &mut compensations).is_empty());
        assert_eq!(words(&mut compensations), answer);
    }
}

#[test]
fn an_uncertain_operation_is_kept_and_compensated_once_it_is_known() {
    let mut compensations = CompensationQueue::default();
    let (paid, trial) = (Money::ZERO, Money::ZERO);
    let held = Answer::Reserve(ReserveAnswer::Held { paid, trial });
    let charged = Answer::Settle(SettleAnswer::Before {
        charged: true,
        paid,
        trial,
    });
    let charge = settle(OnCallerGone::Refund);
    for (op, answered, undone) in [
        (reserve(), held, vec!["void"]),
        (charge, charged, vec!["void", "refund", "write off"]),
    ] {
        let (mut job, caller) = job(op, Duration::ZERO);
        job.mark_unsure();
        drop(caller);
        let still = forget_expired(vec![job], &mut compensations);
        assert_eq!((still.len(), words(&mut compensations)), (1, vec![]));
        let rerouted = answer(still, vec![Applied::Answer(answered)], &mut compensations);
        assert!(rerouted.is_none());
        assert_eq!(words(&mut compensations), undone);
    }
}

#[test]
fn a_replaced_process_refunds_unacknowledged_charges_and_nothing_else() {
    let retired = |mut job: Job, unsure| {
        job.unsure = unsure;
        let mut compensations = CompensationQueue::default();
        job.retire(&mut compensations);
        compensations.refunds().len()
    };
    let refunds_owed = |op: Op, unsure| {
        let (job, mut caller) = job(op, PATIENCE);
        let owed = retired(job, unsure);
        assert_eq!(caller.try_recv(), Ok(Err(LedgerError::StaleEpoch)));
        owed
    };
    assert_eq!(refunds_owed(settle(OnCallerGone::Refund), true), 1);
    assert_eq!(
        refunds_owed(settle(OnCallerGone::Refund), false),
        0,
        "it was not charged by this operation; a reported charge stays"
    );
    assert_eq!(refunds_owed(settle(OnCallerGone::Keep), true), 0);
    assert_eq!(retired(Job::internal(refund()), false), 1, "a debt of ours");
    assert_eq!(
        refunds_owed(refund(), false),
        0,
        "who was told no finds nothing done"
    );
}

#[tokio::test]
async fn an_absent_database_is_retried_with_backoff_up_to_the_deadline() {
    let nowhere = Secret::new("postgres://nobody@127.0.0.1:1/nothing".to_owned());
    let database = connect_lazily(&nowhere, Role::Data, PoolSettings::named("absent")).unwrap();
    // A closed pool says no at once, so all the time that passes is pauses.
    database.close().await.unwrap();
    let lane = Lane {
        number: 0,
        database,
        node_epoch: NodeEpoch {
            node: NodeId::new("n1").unwrap(),
            epoch: 1,
        },
        max_batch: 1,
        counts: Arc::new(Counters::default()),
        requests: OpenRequests::default(),
    };
    let began = Instant::now();
    let ended = tokio::time::timeout(PATIENCE, lane.wait_for_database()).await;
    assert!(ended.is_ok(), "the callers are looked after again");
    assert!(began.elapsed() >= LONGEST_PAUSE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_lane_keeps_its_connection_until_it_is_as_old_as_one_may_become() {
    let db = Db::fresh().await;
    let database = db.connect(Role::Data).await;
    let max_lifetime = database.settings().max_lifetime;
    let mut connection = LaneConnection::default();
    let mut backends = Vec::new();
    for age in [None, None, Some(max_lifetime)] {
        let mut tx = connection.begin(&database).await.unwrap();
        let backend: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        backends.push(backend);
        if let Some(age) = age {
            connection.since = connection.since.and_then(|since| since.checked_sub(age));
        }
        connection.keep(tx.commit_and_keep().await.unwrap(), max_lifetime);
    }
    backends.dedup();
    assert_eq!(backends.len(), 1, "one connection for every batch");
    assert!(connection.session.is_none(), "the pool may replace it now");
}

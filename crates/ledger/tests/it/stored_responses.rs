//! Answers under clients' keys: shown once they are charged, gone with their call, forgotten in time.

use trunkline_ledger::stored_responses::{self, Include, Row};
use trunkline_ledger::{Idempotency, Ledger, ReserveAnswer};
use trunkline_types::{AccountId, NodeId, RequestId};

use crate::test_ledger::{TestLedger, held, request, reserve, settle, void};

/// Holds money for a call with a name.
async fn name(ledger: &Ledger, account: AccountId, key: &str) -> RequestId {
    let call = request();
    let mut reserve_op = reserve(call, account, 10);
    reserve_op.idempotency = Some(Idempotency {
        key: key.to_owned(),
        body_hash: [7; 32],
    });
    assert_eq!(ledger.reserve(reserve_op).await, Ok(held(10, 0)));
    call
}

async fn find(
    harness: &TestLedger,
    account: AccountId,
    key: &str,
    include: Include,
) -> Option<Row> {
    stored_responses::find(&harness.data, account, key, include)
        .await
        .unwrap()
}

async fn keep(harness: &TestLedger, account: AccountId, key: &str, call: RequestId) -> bool {
    stored_responses::store(&harness.data, account, key, call, b"sealed")
        .await
        .unwrap()
}

#[tokio::test]
async fn a_stored_response_appears_with_the_charge_and_goes_without_it() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let first = name(&ledger, account, "k").await;
    assert!(keep(&harness, account, "k", first).await);
    assert!(
        !keep(&harness, account, "k", request()).await,
        "another call"
    );
    assert!(!keep(&harness, account, "l", first).await, "another name");
    let running = find(&harness, account, "k", Include::Charged)
        .await
        .unwrap();
    assert_eq!((running.finished, running.answer_bytes), (false, None));
    let task = find(&harness, account, "k", Include::Any).await.unwrap();
    assert_eq!(task.answer_bytes, Some(6));
    ledger.settle(settle(first, account, 10)).await.unwrap();
    let row = find(&harness, account, "k", Include::Charged)
        .await
        .unwrap();
    assert_eq!(
        row,
        Row {
            request: first,
            body_hash: [7; 32],
            finished: true,
            answer_bytes: Some(6),
        }
    );
    let answer = stored_responses::answer(&harness.data, account, "k", first);
    assert_eq!(answer.await.unwrap(), Some(b"sealed".to_vec()));
    let other = stored_responses::answer(&harness.data, account, "k", request());
    assert_eq!(other.await.unwrap(), None);
    let found = find(&harness, account, "k", Include::Nothing)
        .await
        .unwrap();
    assert_eq!(found.answer_bytes, None);
    let other = harness.account(100, 0).await;
    assert_eq!(find(&harness, other, "k", Include::Any).await, None);
    let second = name(&ledger, account, "gone").await;
    assert!(keep(&harness, account, "gone", second).await);
    ledger.void(void(second, account)).await.unwrap();
    assert_eq!(find(&harness, account, "gone", Include::Any).await, None);
    harness.audit().await;
}

/// The answer was kept and the process died before the charge: nothing is charged, and the key is free.
#[tokio::test]
async fn a_node_that_dies_before_the_charge_frees_the_key_and_its_answer() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = name(&ledger, account, "k").await;
    assert!(keep(&harness, account, "k", call).await);
    let node = NodeId::new("n1").unwrap();
    let (_, voided) = trunkline_ledger::recovery::register(&harness.data, &node)
        .await
        .unwrap();
    assert_eq!(voided, 1);
    assert_eq!(find(&harness, account, "k", Include::Any).await, None);
    assert_eq!(harness.wallets(account).await, [100, 0, 0, 0]);
    let (next, _tasks) = harness.ledger("n1").await;
    name(&next, account, "k").await;
    harness.audit().await;
}

#[tokio::test]
async fn a_name_is_forgotten_after_a_day_and_one_that_we_gave_after_two_minutes() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let ours = format!("{}ours", stored_responses::GENERATED_KEY_PREFIX);
    let running = format!("{}running", stored_responses::GENERATED_KEY_PREFIX);
    for key in ["k", &ours] {
        let call = name(&ledger, account, key).await;
        ledger.settle(settle(call, account, 10)).await.unwrap();
    }
    let newest = name(&ledger, account, &running).await;
    let like = || stored_responses::newest_generated(&harness.data, account, &[7; 32]);
    assert_eq!(like().await.unwrap(), Some((running.clone(), newest)));
    assert_eq!(
        stored_responses::newest_generated(&harness.data, account, &[8; 32]).await,
        Ok(None),
        "another body"
    );
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(0));
    harness.db.shift_clock(121).await;
    assert_eq!(like().await, Ok(None), "too old to be joined");
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(1));
    assert_eq!(find(&harness, account, &ours, Include::Any).await, None);
    assert!(
        find(&harness, account, &running, Include::Any)
            .await
            .is_some()
    );
    harness.db.shift_clock(86_400).await;
    assert_eq!(find(&harness, account, "k", Include::Any).await, None);
    assert_eq!(stored_responses::purge(&harness.data).await, Ok(2));
    let repeated = ledger.reserve(reserve(request(), account, 1)).await;
    assert!(matches!(repeated, Ok(ReserveAnswer::Held { .. })));
}

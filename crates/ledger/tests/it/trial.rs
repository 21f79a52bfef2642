//! Credit for trying out that is over.

use trunkline_ledger::accounts::{self, ExpiredTrial, Wallet};
use trunkline_types::{AccountId, Money};

use crate::test_ledger::{TestLedger, nanos, refund, request, reserve, settle, top_up};

/// Takes back what is left of credit of a hundred, as the data plane, which does it.
async fn take_back(harness: &TestLedger, account: AccountId) -> Money {
    let over = ExpiredTrial {
        request: request(),
        account,
        granted: nanos(100),
    };
    let mut tx = harness.data.begin().await.unwrap();
    let taken = accounts::expire_trial(&mut tx, &over).await.unwrap();
    tx.commit().await.unwrap();
    taken
}

#[tokio::test]
async fn what_is_unspent_and_unheld_goes_back_and_paid_money_stays() {
    let harness = TestLedger::new().await;
    let account = harness.account(500, 100).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let spent = request();
    ledger.reserve(reserve(spent, account, 30)).await.unwrap();
    ledger.settle(settle(spent, account, 30)).await.unwrap();
    ledger
        .reserve(reserve(request(), account, 20))
        .await
        .unwrap();
    assert_eq!(take_back(&harness, account).await, nanos(50));
    assert_eq!(harness.wallets(account).await, [500, 0, 20, 20]);
    let reasons = harness
        .db
        .ask("SELECT reason || ', ' || actor FROM ledger.adjustment")
        .await;
    assert_eq!(reasons, ["trial credit expired, trunkline"]);
    harness.audit().await;
}

#[tokio::test]
async fn spent_trial_credit_does_not_expire_later_credit() {
    let harness = TestLedger::new().await;
    let account = harness.account(0, 100).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let call = request();
    ledger.reserve(reserve(call, account, 100)).await.unwrap();
    ledger.settle(settle(call, account, 100)).await.unwrap();
    let mut tx = harness.console.begin().await.unwrap();
    accounts::top_up(&mut tx, &top_up(account, Wallet::Trial, 70, "trial"))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(take_back(&harness, account).await, Money::ZERO);
    assert_eq!(harness.wallets(account).await, [0, 0, 70, 0]);
    // A refund brings credit back that is over.
    ledger.refund(refund(call, account)).await.unwrap();
    assert_eq!(take_back(&harness, account).await, nanos(100));
    assert_eq!(harness.wallets(account).await, [0, 0, 70, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn expiry_takes_nothing_from_empty_and_unknown_accounts() {
    let harness = TestLedger::new().await;
    let empty = harness.account(500, 0).await;
    assert_eq!(take_back(&harness, empty).await, Money::ZERO);
    assert_eq!(take_back(&harness, AccountId::new(1)).await, Money::ZERO);
    assert_eq!(harness.wallets(empty).await, [500, 0, 0, 0]);
    harness.audit().await;
}

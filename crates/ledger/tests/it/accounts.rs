//! Accounts, payments and corrections.

use trunkline_db::{DbError, Role};
use trunkline_ledger::accounts::{self, AccountKind, Adjust, AdjustAnswer, TopUpAnswer, Wallet};
use trunkline_types::{AccountId, Money};

use crate::test_ledger::{TestLedger, request, reserve, top_up};

#[tokio::test]
async fn a_payment_is_applied_once_however_often_it_is_told() {
    let harness = TestLedger::new().await;
    let account = harness.account(0, 0).await;
    let other = harness.account(0, 0).await;
    let say = |top_up: accounts::TopUp| {
        let console = harness.console.clone();
        async move {
            let mut tx = console.begin().await.unwrap();
            let answer = accounts::top_up(&mut tx, &top_up).await.unwrap();
            tx.commit().await.unwrap();
            answer
        }
    };
    assert!(!harness.balance(account).await.topped_up);
    assert_eq!(
        say(top_up(account, Wallet::Paid, 500, "e1")).await,
        TopUpAnswer::Done
    );
    assert_eq!(
        say(top_up(account, Wallet::Paid, 500, "e1")).await,
        TopUpAnswer::Before
    );
    assert_eq!(
        say(top_up(account, Wallet::Paid, 501, "e1")).await,
        TopUpAnswer::Different
    );
    assert_eq!(
        say(top_up(other, Wallet::Paid, 500, "e1")).await,
        TopUpAnswer::Different
    );
    assert_eq!(
        say(top_up(account, Wallet::Paid, 0, "e2")).await,
        TopUpAnswer::Refused
    );
    assert_eq!(
        say(top_up(AccountId::new(1), Wallet::Paid, 5, "e3")).await,
        TopUpAnswer::Refused
    );
    assert_eq!(
        say(top_up(other, Wallet::Trial, 7, "e4")).await,
        TopUpAnswer::Done
    );
    assert_eq!(harness.wallets(account).await, [500, 0, 0, 0]);
    assert_eq!(harness.wallets(other).await, [0, 0, 7, 0]);
    assert!(harness.balance(account).await.topped_up && !harness.balance(other).await.topped_up);
    harness.audit().await;
}

#[tokio::test]
async fn settings_of_an_account_that_make_no_sense_are_refused() {
    let harness = TestLedger::new().await;
    let account = harness.account(10, 0).await;
    let owner = harness.db.owner().await;
    let set = async |settings: &str| {
        let mut session = owner.session().await.unwrap();
        let text = format!("UPDATE ledger.account SET {settings} WHERE id = $1");
        let done = sqlx::query(sqlx::AssertSqlSafe(text))
            .bind(account.number())
            .execute(&mut *session)
            .await;
        done.map_err(DbError::from).map(drop)
    };
    for wrong in [
        "kind = 'other'",
        "credit_limit = -1",
        "low_balance_nanos = 0",
        "balance_low = true",
    ] {
        let refused = set(wrong).await.unwrap_err();
        assert_eq!(
            refused.constraint(),
            Some("account_settings_are_sound"),
            "{wrong}"
        );
    }
    for wrong in ["paid_held = 11", "paid_held = -1", "trial_held = 1"] {
        let refused = set(wrong).await.unwrap_err();
        assert_eq!(
            refused.constraint(),
            Some("account_covers_holds"),
            "{wrong}"
        );
    }
    assert_eq!(
        set("credit_limit = 5, low_balance_nanos = 20, balance_low = true").await,
        Ok(())
    );
    harness.audit().await;
}

#[tokio::test]
async fn an_account_keeps_its_kind() {
    let harness = TestLedger::new().await;
    for kind in [AccountKind::Live, AccountKind::Test] {
        let mut tx = harness.console.begin().await.unwrap();
        let account = accounts::create_account(&mut tx, kind).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(harness.balance(account).await.kind, kind);
    }
}

#[tokio::test]
async fn a_correction_is_made_once_and_never_takes_what_is_held() {
    let harness = TestLedger::new().await;
    let account = harness.account(100, 0).await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    ledger
        .reserve(reserve(request(), account, 60))
        .await
        .unwrap();
    let correction = |amount, request| Adjust {
        request,
        account,
        wallet: Wallet::Paid,
        amount: Money::from_nanos(amount),
        reason: "goodwill".to_owned(),
        actor: "someone".to_owned(),
    };
    let say = |adjust: Adjust| {
        let console = harness.console.clone();
        async move {
            let mut tx = console.begin().await.unwrap();
            let answer = accounts::adjust(&mut tx, &adjust).await.unwrap();
            tx.commit().await.unwrap();
            answer
        }
    };
    assert_eq!(
        say(correction(-41, request())).await,
        AdjustAnswer::TooLittle(Money::from_nanos(40))
    );
    let take = correction(-40, request());
    assert_eq!(say(take.clone()).await, AdjustAnswer::Done);
    assert_eq!(say(take).await, AdjustAnswer::Before);
    assert_eq!(say(correction(0, request())).await, AdjustAnswer::Refused);
    assert_eq!(say(correction(5, request())).await, AdjustAnswer::Done);
    assert_eq!(harness.wallets(account).await, [65, 60, 0, 0]);
    harness.audit().await;
}

#[tokio::test]
async fn no_role_can_change_or_delete_a_transfer() {
    let harness = TestLedger::new().await;
    harness.account(100, 0).await;
    let owner = harness.db.owner().await;
    for statement in [
        "UPDATE ledger.transfer SET amount = 1",
        "DELETE FROM ledger.transfer",
        "UPDATE ledger.usage SET paid = 0",
        "DELETE FROM ledger.hold",
        "TRUNCATE ledger.transfer",
        "UPDATE ledger.account SET kind = 'test'",
        "INSERT INTO ledger.top_up (provider, event_id, request_id, account_id, wallet, amount) SELECT 'a', 'b', request_id, 1, 'paid', 1 FROM ledger.transfer",
    ] {
        let mut session = harness.data.session().await.unwrap();
        let refused = sqlx::query(statement)
            .execute(&mut *session)
            .await
            .map_err(DbError::from);
        assert!(
            matches!(refused, Err(DbError::Refused { .. })),
            "{statement}: {refused:?}"
        );
    }
    for statement in [
        "UPDATE ledger.transfer SET amount = 1",
        "DELETE FROM ledger.transfer",
    ] {
        let mut session = owner.session().await.unwrap();
        let refused = sqlx::query(statement)
            .execute(&mut *session)
            .await
            .map_err(DbError::from);
        assert!(
            matches!(refused, Err(DbError::Refused { .. })),
            "{statement}: {refused:?}"
        );
    }
    let audit = harness.db.connect(Role::Audit).await;
    let mut session = audit.session().await.unwrap();
    let refused = sqlx::query("UPDATE ledger.account SET paid_posted = 0")
        .execute(&mut *session)
        .await;
    assert!(refused.is_err());
}

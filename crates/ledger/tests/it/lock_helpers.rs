//! Standing in the way of a lane, and seeing what became of those who waited.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use trunkline_db::Tx;
use trunkline_types::{AccountId, RequestId};

use crate::test_ledger::TestLedger;

/// How long anything may take that must come.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Stands in the way of everything the account does until it is rolled back.
pub(crate) async fn in_the_way(harness: &TestLedger, account: AccountId) -> Tx {
    let mut tx = harness.console.begin().await.unwrap();
    sqlx::query("SELECT FROM ledger.account WHERE id = $1 FOR NO KEY UPDATE")
        .bind(account.number())
        .execute(&mut *tx)
        .await
        .unwrap();
    tx
}

pub(crate) async fn until_wallets(harness: &TestLedger, account: AccountId, expected: [i64; 4]) {
    let look = async {
        while harness.wallets(account).await != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(LONGEST, look).await;
    assert!(found.is_ok(), "{:?}", harness.wallets(account).await);
}

/// Lets a caller speak, and says whether it waits.
pub(crate) async fn begins<T>(caller: &mut Pin<Box<impl Future<Output = T>>>) -> bool {
    poll_fn(|context| Poll::Ready(caller.as_mut().poll(context).is_pending())).await
}

pub(crate) async fn transfers(harness: &TestLedger, request: RequestId) -> Vec<String> {
    let mut session = harness.data.session().await.unwrap();
    sqlx::query_scalar("SELECT kind FROM ledger.posting WHERE request_id = $1 ORDER BY kind")
        .bind(request.uuid())
        .fetch_all(&mut *session)
        .await
        .unwrap()
}

/// Waits until a lane stands before the lock of [`in_the_way`]: its batch is under way.
pub(crate) async fn until_blocked(harness: &TestLedger) {
    let blocked = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let look = async {
        while harness.db.ask(blocked).await != ["1"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(LONGEST, look).await;
    assert!(found.is_ok(), "no session waits for the lock");
}

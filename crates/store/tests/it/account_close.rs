//! The end of an account: who may do which part of it.

use trunkline_db::Role as DbRole;
use trunkline_store::account_close::{self, CloseAnswer};
use trunkline_store::keys;

use crate::test_store::TestStore;

#[tokio::test]
async fn the_data_plane_finishes_what_an_operator_erases_and_leaves_closed_accounts_alone() {
    let harness = TestStore::new().await;
    let (erased, closed) = (harness.account().await, harness.account().await);
    let mut tx = harness.console.begin().await.unwrap();
    for account in [erased, closed] {
        let answer = account_close::close(&mut tx, account, keys::OPERATOR).await;
        assert_eq!(answer.unwrap(), CloseAnswer::Done { keys: 0 });
    }
    account_close::erase(&mut tx, erased).await.unwrap();
    let repeated = account_close::close(&mut tx, closed, keys::OPERATOR).await;
    assert_eq!(repeated.unwrap(), CloseAnswer::Before);
    tx.commit().await.unwrap();

    let data = harness.db.connect(DbRole::Data).await;
    let mut session = data.session().await.unwrap();
    let found = account_close::to_erase(&mut session, 10).await.unwrap();
    assert_eq!(found, [erased]);
    let tasks = account_close::tasks_to_erase(&mut session, erased, 10).await;
    assert_eq!(tasks.unwrap(), []);
    account_close::finish_erasure(&data, erased).await.unwrap();
    let found = account_close::to_erase(&mut session, 10).await.unwrap();
    assert_eq!(found, []);
    let names = "SELECT name FROM app.account WHERE erased_at IS NOT NULL";
    assert_eq!(harness.db.ask(names).await, ["erased"]);
}

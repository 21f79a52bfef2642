//! Limits of accounts, models and platforms: who may write them, what is refused, how nodes find out.

use trunkline_db::{Role, revision};
use trunkline_store::limits::{self, RateLimit, Rates, Scope, SetLimitError};
use trunkline_types::AccountId;

use crate::test_store::TestStore;

fn rates(requests: Option<i64>, at_once: Option<i64>) -> Rates {
    Rates {
        requests_per_minute: requests,
        tokens_per_minute: None,
        concurrent_calls: at_once,
    }
}

fn limit(account: Option<AccountId>, name: &str, rates: Rates) -> RateLimit {
    RateLimit {
        account,
        scope: Scope::Model,
        name: name.to_owned(),
        rates,
    }
}

async fn set(harness: &TestStore, limit: &RateLimit) -> Result<(), SetLimitError> {
    let mut tx = harness.console.begin().await.unwrap();
    let done = limits::set(&mut tx, limit).await;
    match done {
        Ok(()) => tx.commit().await.map_err(SetLimitError::from),
        Err(error) => Err(error),
    }
}

#[tokio::test]
async fn a_limit_is_set_changed_and_removed_and_every_change_has_a_number() {
    let harness = TestStore::new().await;
    let data = harness.db.connect(Role::Data).await;
    let number = async || {
        let mut session = data.session().await.unwrap();
        revision::current(&mut session, limits::TOPIC)
            .await
            .unwrap()
    };
    assert_eq!(number().await, 0);
    let first = limit(None, "a", rates(Some(1), None));
    set(&harness, &first).await.unwrap();
    let changed = limit(None, "a", rates(None, Some(2)));
    set(&harness, &changed).await.unwrap();
    assert_eq!(number().await, 2);
    let mut session = data.session().await.unwrap();
    assert_eq!(limits::list(&mut session).await.unwrap(), [changed]);
    drop(session);
    let mut tx = harness.console.begin().await.unwrap();
    let gone = limits::remove(&mut tx, None, Scope::Model, "a").await;
    assert!(tx.finish(gone).await.unwrap());
    assert_eq!(number().await, 3);
    let mut session = data.session().await.unwrap();
    assert_eq!(limits::list(&mut session).await.unwrap(), []);
}

#[tokio::test]
async fn a_limit_without_a_value_or_a_subject_is_refused() {
    let harness = TestStore::new().await;
    let refused = set(&harness, &limit(None, "a", rates(None, None))).await;
    assert_eq!(refused, Err(SetLimitError::Nothing));
    let unknown = AccountId::new(987_654_321);
    let refused = set(&harness, &limit(Some(unknown), "a", rates(Some(1), None))).await;
    assert_eq!(refused, Err(SetLimitError::UnknownAccount(unknown)));
    for wrong in [
        limit(None, "a", rates(Some(0), None)),
        limit(None, "", rates(Some(1), None)),
    ] {
        let refused = set(&harness, &wrong).await;
        assert!(matches!(refused, Err(SetLimitError::Field(_))), "{wrong:?}");
    }
    let data = harness.db.connect(Role::Data).await;
    let mut tx = data.begin().await.unwrap();
    let written = limits::set(&mut tx, &limit(None, "a", rates(Some(1), None))).await;
    assert!(written.is_err(), "the data plane only reads");
}

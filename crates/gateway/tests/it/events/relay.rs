//! Copies on their way to JetStream.

use trunkline_db::outbox;
use trunkline_testkit::Nats;

use crate::events::fixtures::bus;
use crate::test_gateway::{OtherEngines, TestGateway, TestOptions};

/// Messages in the stream.
async fn stored(nats: &Nats) -> u64 {
    let way = bus(nats, "beside").await;
    way.stored().await.unwrap().unwrap()
}

/// Copies that wait.
async fn waiting(harness: &TestGateway) -> i64 {
    let mut session = harness.data.session().await.unwrap();
    outbox::waiting(&mut session, 10_000).await.unwrap().rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_copies_of_a_failed_publisher_are_stored_once() {
    let nats = Nats::start().await;
    let harness = TestGateway::build(TestOptions {
        bus: bus(&nats, "n1").await,
        ..TestOptions::default()
    })
    .await;
    harness.happens(30).await;
    let all = waiting(&harness).await;
    assert!(all >= 30);
    // Its rows come back when its transaction ends without a commit.
    harness
        .db
        .ask("CREATE RULE dies AS ON DELETE TO app.outbox DO INSTEAD NOTHING")
        .await;
    assert_eq!(
        trunkline_account_api::relay_events(harness.gateway.account_api())
            .await
            .unwrap(),
        0
    );
    assert_eq!(waiting(&harness).await, all);
    assert_eq!(stored(&nats).await, u64::try_from(all).unwrap());
    harness.db.ask("DROP RULE dies ON app.outbox").await;
    while waiting(&harness).await > 0 {
        trunkline_account_api::relay_events(harness.gateway.account_api())
            .await
            .unwrap();
    }
    assert_eq!(stored(&nats).await, u64::try_from(all).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_nats_the_outbox_is_only_emptied() {
    let harness = TestGateway::build(TestOptions {
        engines: OtherEngines::None,
        ..TestOptions::default()
    })
    .await;
    harness.happens(30).await;
    assert!(waiting(&harness).await >= 30);
    while waiting(&harness).await > 0 {
        assert!(
            trunkline_account_api::relay_events(harness.gateway.account_api())
                .await
                .unwrap()
                > 0
        );
    }
    assert_eq!(
        trunkline_account_api::relay_events(harness.gateway.account_api())
            .await
            .unwrap(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_wait_for_nats_and_not_for_ever() {
    let nats = Nats::start().await;
    let harness = TestGateway::build(TestOptions {
        bus: bus(&nats, "n1").await,
        ..TestOptions::default()
    })
    .await;
    nats.kill_9();
    harness.happens(30).await;
    for _ in 0..600 {
        if harness.metrics().await.contains("\ntrunkline_bus_up 0\n") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    drop(trunkline_account_api::relay_events(harness.gateway.account_api()).await);
    assert!(waiting(&harness).await >= 30);
    trunkline_db::events::purge(&harness.data).await.unwrap();
    assert!(waiting(&harness).await >= 30, "a week has not passed");
    harness.db.shift_clock(8 * 86_400).await;
    let purged = trunkline_db::events::purge(&harness.data).await.unwrap();
    assert!(purged.copies >= 30);
    assert_eq!(waiting(&harness).await, 0);
}

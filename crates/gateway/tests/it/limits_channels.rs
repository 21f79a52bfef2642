//! Limits of a channel: videos wait until it may be asked, and has a place.

use trunkline_store::channels::{self, ChannelId, ChannelState};

use crate::test_gateway::{ChannelOptions, TestGateway, TestOptions};
use crate::videos::{MONEY, cat, column, ended, furnished, made, quick, work};

/// A gateway whose only channel to a vendor of videos has limits.
pub(crate) async fn narrow(requests: Option<i64>, at_once: Option<i64>) -> TestGateway {
    let harness = TestGateway::build(TestOptions {
        settings: quick(),
        paid: MONEY,
        ..TestOptions::default()
    })
    .await;
    let harness = Box::pin(furnished(harness)).await;
    let base = format!("http://{}/api/v1", harness.simulator.address());
    // The one that sets up the database is out of use.
    let sql = "SELECT id::text FROM app.channel WHERE name = 'dashscope_native'";
    let id = ChannelId::new(harness.db.ask(sql).await[0].parse().unwrap());
    let mut tx = harness.console.begin().await.unwrap();
    let off = channels::set_state(&mut tx, id, ChannelState::Off).await;
    assert!(tx.finish(off).await.unwrap());
    let options = ChannelOptions {
        provider: Some("dashscope_native"),
        requests_per_minute: requests,
        concurrent_calls: at_once,
        ..ChannelOptions::default()
    };
    let models = [("wan2.7-t2v", "wan2.7-t2v")];
    harness
        .channel_with("narrow", &base, &models, options)
        .await;
    harness
}

#[tokio::test]
async fn a_video_waits_for_a_channel_that_may_be_asked() {
    let harness = narrow(Some(1), None).await;
    let first = made(&harness, &cat("[[id:first]]")).await;
    let second = made(&harness, &cat("[[id:second]]")).await;
    assert_eq!(ended(&harness, &first).await["status"], "completed");
    work(&harness).await;
    assert_eq!(
        column(&harness, &second, "state").await,
        "accepted",
        "it waits"
    );
    let [_, held, _, _] = harness.wallets().await;
    assert!(held > 0, "with its money held");
    harness.audit().await;
}

#[tokio::test]
async fn a_channel_has_no_more_videos_under_way_than_it_takes() {
    let harness = narrow(None, Some(1)).await;
    let first = made(&harness, &cat("[[id:first]]")).await;
    let second = made(&harness, &cat("[[id:second]]")).await;
    assert_eq!(column(&harness, &first, "state").await, "submitted");
    assert_eq!(
        column(&harness, &second, "state").await,
        "accepted",
        "it waits"
    );
    assert_eq!(ended(&harness, &first).await["status"], "completed");
    assert_eq!(ended(&harness, &second).await["status"], "completed");
    harness.posted_at_rest().await;
    harness.audit().await;
}

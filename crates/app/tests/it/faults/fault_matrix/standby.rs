//! Rows P2 and P3: the database fails over to a standby that is in step, and the old one returns.

use super::{Scene, all_end};
use crate::faults::client_view::ClientView;
use crate::faults::formats::Pair;
use crate::faults::process_harness::{MONEY, ProcessHarness, audit_of};

// row: P2
// row: P3
#[tokio::test]
async fn a_standby_has_every_charge_and_the_old_primary_acknowledges_none() {
    let scene = Scene::new(ProcessHarness::wired().await);
    let standby = scene.harness.postgres.standby().await;
    let mut spent = 0;
    for number in 0..20 {
        spent += scene.serves_again(&format!("before{number}")).await;
    }
    // Streams of every pair are under way when their database dies, and end on the new one.
    let streams = scene.streams("[[tokens:100]] [[pace:20]]").await;
    scene.harness.postgres.kill_9_postmaster();
    standby.promote().await;
    scene.harness.postgres.wire().lead_to(standby.address());
    scene.harness.postgres.wire().cut();
    all_end(streams, &ClientView::Complete).await;
    spent += scene.price_of_all();
    let prompt = "[[id:after]] [[tokens:3]]";
    assert_eq!(
        scene.reported(Pair::CHAT, prompt, true).await,
        ClientView::Complete
    );
    spent += scene.price("after");
    // Everything that was acknowledged is on the new server, and nothing else.
    let balance = "SELECT paid_posted::text FROM ledger.account WHERE kind = 'live'";
    let paid: i64 = standby.ask(balance).await[0].parse().unwrap();
    assert_eq!(paid, MONEY - spent);
    assert_eq!(
        standby.ask("SELECT count(*)::text FROM ledger.usage").await,
        ["37"]
    );
    // The old server returns. Without its standby it cannot acknowledge a commit, so a gateway that
    // finds its way to it serves no call and charges no account.
    scene.harness.postgres.start();
    scene
        .harness
        .postgres
        .wire()
        .lead_to(scene.harness.postgres.address());
    scene.harness.postgres.wire().cut();
    for pair in Pair::neighbours() {
        let reported = scene
            .reported(pair, "[[id:stray]] [[tokens:3]]", true)
            .await;
        let away = ClientView::Failed("temporarily_unavailable".to_owned());
        assert_eq!(reported, away, "{pair}");
    }
    assert!(scene.served("stray").is_empty());
    scene.harness.postgres.wire().lead_to(standby.address());
    scene.harness.postgres.wire().cut();
    assert_eq!(
        scene
            .reported(Pair::CHAT, "[[id:home]] [[tokens:3]]", true)
            .await,
        ClientView::Complete
    );
    let paid: i64 = standby.ask(balance).await[0].parse().unwrap();
    assert_eq!(paid, MONEY - spent - scene.price("home"));
    audit_of(&standby).await;
}

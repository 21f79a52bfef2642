//! Rows P2 and P3: the database fails over to a standby that is in step, and the old one returns.

use super::{Scene, read_until, rest};
use crate::arena::{Arena, MONEY, audit_of};
use crate::load::Told;

// row: P2
// row: P3
#[tokio::test]
async fn a_standby_takes_over_with_every_charge_and_the_old_server_can_acknowledge_none() {
    let scene = Scene::new(Arena::wired().await);
    let standby = scene.arena.postgres.standby().await;
    let mut spent = 0;
    for number in 0..20 {
        spent += scene.serves_again(&format!("before{number}")).await;
    }
    // One stream is under way when its database dies, and ends on the new one.
    let mut answer = scene
        .call("[[id:during]] [[tokens:40]] [[pace:20]]", true)
        .await
        .unwrap();
    read_until(&mut answer, "delta").await;
    scene.arena.postgres.kill_9_postmaster();
    standby.promote().await;
    scene.arena.postgres.wire().lead_to(standby.address());
    scene.arena.postgres.wire().cut();
    assert_eq!(rest(answer, true).await, Told::Complete);
    spent += scene.price("during");
    let prompt = "[[id:after]] [[tokens:3]]";
    assert_eq!(scene.told(prompt, true).await, Told::Complete);
    spent += scene.price("after");
    // Everything that was acknowledged is on the new server, and nothing else.
    let balance = "SELECT paid_posted::text FROM ledger.account WHERE kind = 'live'";
    let paid: i64 = standby.ask(balance).await[0].parse().unwrap();
    assert_eq!(paid, MONEY - spent);
    assert_eq!(
        standby.ask("SELECT count(*)::text FROM ledger.usage").await,
        ["22"]
    );
    // The old server returns. Without its standby it cannot acknowledge a commit, so a gateway that
    // finds its way to it serves nobody and charges nobody.
    scene.arena.postgres.start();
    scene
        .arena
        .postgres
        .wire()
        .lead_to(scene.arena.postgres.address());
    scene.arena.postgres.wire().cut();
    let told = scene.told("[[id:stray]] [[tokens:3]]", true).await;
    assert_eq!(told, Told::Failed("temporarily_unavailable".to_owned()));
    assert!(scene.served("stray").is_empty());
    scene.arena.postgres.wire().lead_to(standby.address());
    scene.arena.postgres.wire().cut();
    assert_eq!(
        scene.told("[[id:home]] [[tokens:3]]", true).await,
        Told::Complete
    );
    let paid: i64 = standby.ask(balance).await[0].parse().unwrap();
    assert_eq!(paid, MONEY - spent - scene.price("home"));
    audit_of(&standby).await;
}

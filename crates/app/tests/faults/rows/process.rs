//! Rows G: our process dies, at each step of a call.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Scene, read_until, rest};
use crate::arena::{Arena, signal};
use crate::load::Told;

/// A heartbeat may step on a trap that was meant for a call; then the scene is played again.
const TRIES: usize = 12;
/// What stands in the statement that holds money.
const RESERVE: &str = "INSERT INTO ledger.hold_";
/// The last words of transactions that wait for their next one.
const OPEN: &str = "SELECT query FROM pg_stat_activity
    WHERE usename = 'test_data' AND state = 'idle in transaction'";
/// A call that was not caught goes on within this.
const GOES_ON: Duration = Duration::from_millis(300);

/// A fresh scene in which a commit of a call's is caught, and the call under way.
enum Caught {
    Before,
    After,
}

impl Scene {
    fn trap(&self, caught: &Caught) -> usize {
        let wire = self.arena.postgres.wire();
        let before = wire.strikes();
        match caught {
            Caught::Before => wire.stall_before_commit(),
            Caught::After => wire.stall_after_commit(),
        }
        before
    }

    /// Waits until a commit is caught, and a moment longer: had it been a heartbeat's, the call
    /// would have gone on by then.
    async fn caught(&self, before: usize) {
        self.until_struck(before).await;
        tokio::time::sleep(GOES_ON).await;
    }

    /// Kills the gateway where it is, and starts its next life.
    async fn dies_and_returns(&mut self) {
        self.arena.kill_gateway().await;
        self.arena.postgres.wire().disarm();
        self.arena.postgres.wire().pass();
        self.arena.start_gateway().await;
    }
}

// row: G1
#[tokio::test]
async fn killed_before_money_is_held_a_call_leaves_nothing() {
    let mut scene = Scene::new(Arena::wired().await);
    let mut half = TcpStream::connect(scene.arena.address).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 900\r\n\r\n{{\"model\":",
        scene.arena.key
    );
    half.write_all(head.as_bytes()).await.unwrap();
    scene.serves_again("first").await;
    let spent = scene.price("first");
    scene.dies_and_returns().await;
    let mut answer = Vec::new();
    drop(half.read_to_end(&mut answer).await);
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    scene.spent(spent).await;
    assert_eq!(scene.usage().await.len(), 1);
    assert_eq!(scene.arena.simulator.truth().len(), 1);
}

// row: G1
#[tokio::test]
async fn killed_while_money_is_being_held_a_call_leaves_nothing() {
    for _ in 0..TRIES {
        let mut scene = Scene::new(Arena::wired().await);
        // The first heartbeat comes with the start; the next one is a second away.
        let spent = scene.serves_again("first").await;
        let before = scene.trap(&Caught::Before);
        let told = tokio::select! {
            told = scene.told("[[id:a]] [[tokens:3]]", true) => Some(told),
            () = scene.until_struck(before) => None,
        };
        let open = scene.arena.postgres.ask(OPEN).await;
        // Alone: beside another transaction that waits, it may be on its way.
        let reserving = matches!(open.as_slice(), [only] if only.contains(RESERVE));
        if told.is_some() || !reserving {
            continue;
        }
        scene.dies_and_returns().await;
        assert!(scene.served("a").is_empty());
        assert_eq!(scene.usage().await.len(), 1);
        scene.spent(spent).await;
        return;
    }
    panic!("no reservation was caught");
}

// row: G2
#[tokio::test]
async fn killed_after_money_is_held_and_before_anybody_is_asked_the_money_comes_back() {
    let mut scene = Scene::new(Arena::wired().await);
    // The line to the upstream lets nothing through: it is held for, and not yet asked.
    scene.arena.road.black_hole();
    let mut waiting = Box::pin(scene.call("[[id:a]] [[tokens:3]]", true));
    tokio::select! {
        _ = &mut waiting => panic!("nobody can answer"),
        () = scene.until_held() => {}
    }
    signal(scene.arena.pid(), "-KILL").await;
    assert!(waiting.as_mut().await.is_err(), "the connection is reset");
    drop(waiting);
    scene.arena.road.cut();
    scene.arena.road.pass();
    scene.dies_and_returns().await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, ["interrupted 0"]);
    assert!(scene.served("a").is_empty());
}

// row: G3
#[tokio::test]
async fn killed_while_the_upstream_is_silent_the_money_comes_back_and_the_loss_is_noted() {
    let mut scene = Scene::new(Arena::wired().await);
    let mut hanging = Box::pin(scene.call("[[id:a]] [[fault:hang_before_headers]]", true));
    tokio::select! {
        _ = &mut hanging => panic!("it hangs"),
        () = scene.until_asked("a") => {}
    }
    assert!(scene.arena.balance().await.1 > 0);
    signal(scene.arena.pid(), "-KILL").await;
    assert!(
        hanging.as_mut().await.is_err(),
        "the connection must be reset"
    );
    drop(hanging);
    scene.dies_and_returns().await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, ["interrupted 0"]);
    assert_eq!(scene.losses().await, ["crash"]);
}

// row: G4
#[tokio::test]
async fn killed_in_the_middle_of_a_stream_nothing_is_charged_then_or_later() {
    let mut scene = Scene::new(Arena::wired().await);
    let mut answer = scene
        .call("[[id:a]] [[tokens:500]] [[pace:20]]", true)
        .await
        .unwrap();
    read_until(&mut answer, "delta").await;
    scene.arena.kill_gateway().await;
    assert_eq!(rest(answer, true).await, Told::Unknown);
    scene.arena.start_gateway().await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, ["interrupted 0"]);
    assert_eq!(scene.losses().await, ["crash"]);
    let spent = scene.serves_again("b").await;
    scene.spent(spent).await;
}

// row: G5
#[tokio::test]
async fn killed_when_the_upstream_is_done_and_the_charge_is_not_written_nothing_is_charged() {
    let mut scene = Scene::new(Arena::wired().await);
    let mut answer = scene
        .call("[[id:a]] [[tokens:40]] [[pace:10]]", true)
        .await
        .unwrap();
    read_until(&mut answer, "delta").await;
    scene.arena.postgres.wire().black_hole();
    scene.until_served("a").await;
    read_until(&mut answer, "finish_reason\":\"stop\"").await;
    scene.arena.kill_gateway().await;
    assert_eq!(rest(answer, true).await, Told::Unknown);
    scene.arena.postgres.wire().pass();
    scene.arena.start_gateway().await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, ["interrupted 0"]);
}

// row: G6
#[tokio::test]
async fn killed_while_the_charge_is_written_it_is_written_whole_or_not_at_all() {
    for caught in [Caught::Before, Caught::After] {
        let mut played = false;
        for _ in 0..TRIES {
            let mut scene = Scene::new(Arena::wired().await);
            let mut answer = scene
                .call("[[id:a]] [[tokens:4]] [[pace:30]]", true)
                .await
                .unwrap();
            read_until(&mut answer, "delta").await;
            let before = scene.trap(&caught);
            let told = tokio::select! {
                told = rest(answer, true) => Some(told),
                () = async {
                    scene.until_served("a").await;
                    scene.caught(before).await;
                } => None,
            };
            if told.is_some() {
                assert_eq!(told, Some(Told::Complete), "only a heartbeat was caught");
                continue;
            }
            scene.dies_and_returns().await;
            let (usage, price) = (scene.usage().await, scene.price("a"));
            match caught {
                Caught::Before => {
                    assert_eq!(usage, ["interrupted 0"]);
                    scene.spent(0).await;
                }
                Caught::After => {
                    assert_eq!(usage, [format!("complete {price}")]);
                    scene.spent(price).await;
                }
            }
            played = true;
            break;
        }
        assert!(played, "no settlement was caught");
    }
}

// row: G7
#[tokio::test]
async fn killed_after_the_charge_and_before_the_last_byte_the_charge_stands_once() {
    let mut scene = Scene::new(Arena::wired().await);
    let answer = scene
        .call("[[id:a]] [[fault:gigantic_body:30000000]]", false)
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    let spent = scene.usage().await;
    scene.arena.kill_gateway().await;
    assert_eq!(rest(answer, false).await, Told::Unknown);
    scene.arena.start_gateway().await;
    assert_eq!(scene.usage().await, spent);
    assert_eq!(spent, [format!("complete {}", scene.price("a"))]);
    scene.spent(scene.price("a")).await;
    assert!(scene.losses().await.is_empty());
}

// row: G12
#[tokio::test]
async fn a_process_that_sleeps_through_its_replacement_charges_nothing_when_it_wakes() {
    let mut scene = Scene::new(Arena::wired().await);
    let mut answer = scene
        .call("[[id:a]] [[tokens:60]] [[pace:20]]", true)
        .await
        .unwrap();
    read_until(&mut answer, "delta").await;
    let old = scene.arena.pid();
    signal(old, "-STOP").await;
    let mut sleeper = scene.arena.replace_gateway().await;
    let spent = scene.serves_again("b").await;
    signal(old, "-CONT").await;
    let told = rest(answer, true).await;
    // Whether it first sees that it was replaced or how long it heard nothing: not charged.
    assert!(matches!(told, Told::Failed(_)), "{told:?}");
    // It learns of its end, and ends.
    let ended = tokio::time::timeout(super::STEP, sleeper.wait());
    assert!(!ended.await.expect("it ends").unwrap().success());
    scene.spent(spent).await;
    let usage = scene.usage().await;
    assert!(usage.contains(&"interrupted 0".to_owned()), "{usage:?}");
    assert_eq!(usage.len(), 2);
}

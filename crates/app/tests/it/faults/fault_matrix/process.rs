//! Rows G: our process dies, at each step of a call of every format.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use trunkline_testkit::all_at_once;

use super::{Scene, all_end, rest};
use crate::faults::client_view::ClientView;
use crate::faults::formats::{Format, Pair};
use crate::faults::process_harness::{CHARGES, HOLDS, ProcessHarness, signal};

/// Above what sockets and buffers on the way take: the last byte cannot have left.
const GIGANTIC: u64 = 12_000_000;

/// On which side of its commit a charge is caught.
#[derive(Debug, Clone, Copy)]
enum Caught {
    Before,
    After,
}

impl Scene {
    fn trap(&self, words: &str, caught: Caught) -> usize {
        let wire = self.harness.postgres.wire();
        wire.only_of(words);
        let before = wire.strikes();
        match caught {
            Caught::Before => wire.stall_before_commit(),
            Caught::After => wire.stall_after_commit(),
        }
        before
    }

    /// Kills the gateway where it is, and starts its next life.
    async fn dies_and_returns(&mut self) {
        self.harness.kill_gateway().await;
        self.harness.postgres.wire().disarm();
        self.harness.postgres.wire().pass();
        self.harness.start_gateway().await;
    }
}

/// Every pair, streamed and whole.
fn both_ways() -> Vec<(Pair, bool)> {
    let ways = |pair| [(pair, true), (pair, false)];
    Pair::all().into_iter().flat_map(ways).collect()
}

fn marker((pair, stream): (Pair, bool)) -> String {
    format!("{pair}-{stream}")
}

impl Scene {
    /// Sends a call of every pair, streamed and whole, without an answer; waits until the step is
    /// reached, and kills the gateway there. Every connection must be reset.
    async fn killed_unanswered(&mut self, behaviour: &str, step: impl AsyncFn(&Self)) {
        let scene = &*self;
        let calls = both_ways().into_iter().map(|way| async move {
            let prompt = format!("[[id:{}]] {behaviour}", marker(way));
            scene.call(way.0, &prompt, way.1).await
        });
        let mut waiting = Box::pin(all_at_once(calls.collect()));
        tokio::select! {
            _ = &mut waiting => panic!("no node can answer"),
            () = step(scene) => {}
        }
        signal(scene.harness.pid(), "-KILL").await;
        for answer in waiting.as_mut().await {
            assert!(answer.is_err(), "the connection must be reset");
        }
        drop(waiting);
        self.dies_and_returns().await;
    }
}

// row: G1
#[tokio::test]
async fn killed_before_money_is_held_a_call_leaves_nothing() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let mut halves = Vec::new();
    for (pair, stream) in Format::ALL.into_iter().flat_map(|caller| {
        let pair = Pair {
            caller,
            ..Pair::CHAT
        };
        [(pair, true), (pair, false)]
    }) {
        let mut half = TcpStream::connect(scene.harness.address).await.unwrap();
        let (name, key) = pair.caller.key(&scene.harness.key);
        let path = pair.caller.path(&pair.model(), stream);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\n{name}: {key}\r\n\
             content-type: application/json\r\ncontent-length: 900\r\n\r\n{{\"model\":"
        );
        half.write_all(head.as_bytes()).await.unwrap();
        halves.push(half);
    }
    scene.serves_again("first").await;
    let spent = scene.price("first");
    scene.dies_and_returns().await;
    for mut half in halves {
        let mut answer = Vec::new();
        drop(half.read_to_end(&mut answer).await);
        assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    }
    scene.spent(spent).await;
    assert_eq!(scene.usage().await.len(), 1);
    assert_eq!(scene.harness.simulator.requests().len(), 1);
}

// row: G1
#[tokio::test]
async fn killed_while_money_is_being_held_a_call_leaves_nothing() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    for pair in Pair::neighbours() {
        scene.serves_again(&format!("{pair}-first")).await;
        let (money, calls) = (scene.harness.balance().await, scene.usage().await.len());
        let marker = pair.to_string();
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        let before = scene.trap(HOLDS, Caught::Before);
        tokio::select! {
            reported = scene.reported(pair, &prompt, true) => panic!("{pair}: {reported:?}"),
            () = scene.until_struck(before) => {}
        }
        scene.dies_and_returns().await;
        scene.until_free().await;
        assert!(scene.served(&marker).is_empty(), "{pair}");
        assert_eq!(scene.usage().await.len(), calls, "{pair}");
        assert_eq!(scene.harness.balance().await, money, "{pair}");
    }
    scene.harness.audit().await;
}

// row: G2
#[tokio::test]
async fn kill_after_the_hold_and_before_the_upstream_call_returns_the_money() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let calls = both_ways().len();
    // The line to the upstream lets nothing through: it is held for, and not yet asked.
    scene.harness.road.black_hole();
    let held = async |scene: &Scene| scene.until_held(calls).await;
    scene.killed_unanswered("[[tokens:3]]", held).await;
    scene.harness.road.cut();
    scene.harness.road.pass();
    scene.spent(0).await;
    assert_eq!(scene.usage().await, vec!["interrupted 0"; calls]);
    assert!(scene.harness.simulator.requests().is_empty());
}

// row: G3
#[tokio::test]
async fn kill_while_the_upstream_is_silent_voids_the_hold_and_records_the_loss() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let calls = both_ways().len();
    let sent_upstream = async |scene: &Scene| {
        for way in both_ways() {
            scene.until_asked(&marker(way)).await;
        }
        scene.until_held(calls).await;
    };
    let silent = "[[fault:hang_before_headers]]";
    scene.killed_unanswered(silent, sent_upstream).await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, vec!["interrupted 0"; calls]);
    assert_eq!(scene.losses().await, vec!["crash"; calls]);
}

// row: G4
// covers: D-2-55, D-2-57
#[tokio::test]
async fn killed_in_the_middle_of_a_stream_nothing_is_charged_then_or_later() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let streams = scene.streams("[[tokens:500]] [[pace:20]]").await;
    let calls = streams.len();
    scene.harness.kill_gateway().await;
    all_end(streams, &ClientView::Unknown).await;
    scene.harness.start_gateway().await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, vec!["interrupted 0"; calls]);
    assert_eq!(scene.losses().await, vec!["crash"; calls]);
    let spent = scene.serves_again("b").await;
    scene.spent(spent).await;
}

// row: G5
#[tokio::test]
async fn kill_before_the_charge_is_written_charges_nothing() {
    const TOKENS: usize = 60;
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let mut streams = scene.streams("[[tokens:60]] [[pace:30]]").await;
    let calls = streams.len();
    scene.harness.postgres.wire().black_hole();
    scene.until_all_served().await;
    for stream in &mut streams {
        // The last word may come in one frame with the end.
        stream.read_words(TOKENS - 1).await;
    }
    scene.harness.kill_gateway().await;
    all_end(streams, &ClientView::Unknown).await;
    scene.harness.postgres.wire().pass();
    scene.harness.start_gateway().await;
    scene.spent(0).await;
    assert_eq!(scene.usage().await, vec!["interrupted 0"; calls]);
}

// row: G6
#[tokio::test]
async fn killed_while_the_charge_is_written_it_is_written_whole_or_not_at_all() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let mut spent = 0;
    for (pair, caught) in Pair::neighbours()
        .into_iter()
        .flat_map(|pair| [(pair, Caught::Before), (pair, Caught::After)])
    {
        let marker = format!("{pair}-{caught:?}");
        let prompt = format!("[[id:{marker}]] [[tokens:4]] [[pace:30]]");
        let stream = scene.stream(pair, &prompt).await;
        let before = scene.trap(CHARGES, caught);
        tokio::select! {
            (_, reported) = stream.ends() => panic!("{pair}: {reported:?} before it was charged"),
            () = scene.until_struck(before) => {}
        }
        scene.dies_and_returns().await;
        let row = match caught {
            Caught::Before => "interrupted 0".to_owned(),
            Caught::After => {
                spent += scene.price(&marker);
                format!("complete {}", scene.price(&marker))
            }
        };
        assert_eq!(scene.usage().await.pop(), Some(row), "{marker}");
        scene.spent(spent).await;
    }
}

// row: G7
#[tokio::test]
async fn kill_between_charge_and_last_byte_keeps_one_charge() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let mut answers = Vec::new();
    // Megabytes take their time: as they come, and translated once for every caller.
    let own = Format::ALL.map(|caller| Pair {
        caller,
        upstream: caller,
    });
    for pair in own.into_iter().chain(Pair::neighbours()) {
        let prompt = format!("[[id:{pair}]] [[fault:gigantic_body:{GIGANTIC}]]");
        let answer = scene.call(pair, &prompt, false).await.unwrap();
        assert_eq!(answer.status, 200, "{pair}");
        answers.push((pair, answer));
    }
    let charged = scene.usage().await;
    scene.harness.kill_gateway().await;
    let (mut spent, mut prices) = (0, Vec::new());
    for (pair, answer) in answers {
        assert_eq!(
            rest(pair, answer, false).await,
            ClientView::Unknown,
            "{pair}"
        );
        let price = scene.price(&pair.to_string());
        prices.push(format!("complete {price}"));
        spent += price;
    }
    assert_eq!(
        charged, prices,
        "each before its first byte, in their order"
    );
    scene.harness.start_gateway().await;
    assert_eq!(scene.usage().await, charged);
    scene.spent(spent).await;
    assert!(scene.losses().await.is_empty());
}

// row: G12
#[tokio::test]
async fn a_process_paused_during_its_replacement_charges_nothing_after_resume() {
    let mut scene = Scene::new(ProcessHarness::wired().await);
    let streams = scene.streams("[[tokens:100]] [[pace:20]]").await;
    let calls = streams.len();
    let old = scene.harness.pid();
    signal(old, "-STOP").await;
    let mut sleeper = scene.harness.replace_gateway().await;
    let spent = scene.serves_again("b").await;
    signal(old, "-CONT").await;
    let ends = streams.into_iter().map(super::Stream::ends);
    for (pair, reported) in all_at_once(ends.collect()).await {
        // Whether it first sees that it was replaced or how long it heard nothing: not charged.
        assert!(
            matches!(reported, ClientView::Failed(_)),
            "{pair}: {reported:?}"
        );
    }
    // It learns of its end, and ends.
    let ended = tokio::time::timeout(super::STEP, sleeper.wait());
    assert!(!ended.await.expect("it ends").unwrap().success());
    scene.spent(spent).await;
    let usage = scene.usage().await;
    let lost = usage.iter().filter(|it| *it == "interrupted 0").count();
    assert_eq!((lost, usage.len()), (calls, calls + 1), "{usage:?}");
}

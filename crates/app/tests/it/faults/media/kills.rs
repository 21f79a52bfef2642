//! Rows G: our process dies at each step of a call for a picture (whole), speech (streamed) and a
//! transcript (uploaded).

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_testkit::all_at_once;
use trunkline_upstream::UpstreamResponse;

use super::{Kind, MediaHarness, MediaResult, cost_of, reached, rest};
use crate::faults::process_harness::{CHARACTER, CHARGES, HOLDS, signal};

/// What was not caught goes on within this.
const GOES_ON: Duration = Duration::from_millis(300);
/// Characters whose sound is more than sockets and buffers on the way take.
const LONG_TEXT: usize = 4_000;
/// Uploads lie in the harness's own folder, where a test can see what is left of them.
const HERE: [(&str, &str); 1] = [("TRUNKLINE__UPLOADS__FOLDER", ".")];

/// On which side of its commit a charge is caught.
#[derive(Debug, Clone, Copy)]
enum Caught {
    Before,
    After,
}

impl MediaHarness {
    fn trap(&self, words: &str, caught: Caught) -> usize {
        let wire = self.process.postgres.wire();
        wire.only_of(words);
        let before = wire.strikes();
        match caught {
            Caught::Before => wire.stall_before_commit(),
            Caught::After => wire.stall_after_commit(),
        }
        before
    }

    async fn until_struck(&self, before: usize) {
        let wire = self.process.postgres.wire();
        reached("a commit is caught", async || wire.strikes() > before).await;
    }

    /// Kills the gateway where it is, and starts its next life.
    async fn dies_and_returns(&mut self) {
        self.process.kill_gateway().await;
        self.process.postgres.wire().disarm();
        self.process.postgres.wire().pass();
        self.process.start_gateway().await;
    }

    /// Sends a call of every kind without an answer; waits until the step is reached, and kills the
    /// gateway there. Every connection must be reset.
    async fn killed_unanswered(&mut self, behaviour: &str, step: impl AsyncFn(&Self)) {
        let harness = &*self;
        let calls = Kind::ALL.map(|kind| async move {
            let params = format!("[[id:{}]] {behaviour}", kind.as_str());
            harness.call(kind, kind.as_str(), &params).await
        });
        let mut waiting = Box::pin(all_at_once(calls.into_iter().collect()));
        tokio::select! {
            _ = &mut waiting => panic!("no node can answer"),
            () = step(harness) => {}
        }
        signal(harness.process.pid(), "-KILL").await;
        for answer in waiting.as_mut().await {
            assert!(answer.is_err(), "the connection must be reset");
        }
        drop(waiting);
        self.dies_and_returns().await;
    }

    /// The gateway serves every kind, and charges what it serves.
    async fn serves_again(&self) -> i64 {
        let mut spent = 0;
        for kind in Kind::ALL {
            let call = self.ask(kind, kind.as_str(), "again").await;
            let price = kind.price("again");
            assert_eq!(call.result, MediaResult::Whole(price), "{call:?}");
            spent += price;
        }
        spent
    }

    async fn until_all_asked(&self) {
        for kind in Kind::ALL {
            self.until_asked(kind.as_str()).await;
        }
        self.until_held(Kind::ALL.len()).await;
    }
}

/// Names of what lies in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

/// Whether a process has a file open that has no name, in this folder.
fn holds_a_nameless_file(pid: u32, folder: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let mut words = links.map(|link| link.to_string_lossy().into_owned());
    let folder = folder.to_string_lossy();
    words.any(|word| word.starts_with(&*folder) && word.ends_with("(deleted)"))
}

// row: G1
#[tokio::test]
async fn killed_before_money_is_held_pictures_speech_and_uploads_leave_nothing() {
    let mut harness = MediaHarness::with(true, &HERE).await;
    let spent = harness.serves_again().await;
    let (requests, rows) = (
        harness.process.simulator.requests().len(),
        harness.usage().await,
    );
    let folder = harness.process.folder.path().to_owned();
    let before = names_in(&folder);
    let mut halves = Vec::new();
    for kind in Kind::ALL {
        let (content_type, body) = kind.body(kind.as_str(), "half");
        let mut half = TcpStream::connect(harness.process.address).await.unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
            kind.path(),
            harness.process.key,
            body.len()
        );
        half.write_all(head.as_bytes()).await.unwrap();
        half.write_all(&body[..body.len() / 2]).await.unwrap();
        halves.push(half);
    }
    let pid = harness.process.pid();
    reached("the upload is on the disk", async || {
        holds_a_nameless_file(pid, &folder)
    })
    .await;
    harness.dies_and_returns().await;
    for mut half in halves {
        let mut answer = Vec::new();
        drop(half.read_to_end(&mut answer).await);
        assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    }
    harness.spent(spent).await;
    assert_eq!(harness.usage().await, rows);
    assert_eq!(harness.process.simulator.requests().len(), requests);
    assert_eq!(names_in(&folder), before, "something of an upload is left");
}

// row: G1
#[tokio::test]
async fn kill_during_the_hold_leaves_nothing_behind() {
    let mut harness = MediaHarness::new(true).await;
    for kind in Kind::ALL {
        harness.serves_again().await;
        let (money, calls) = (harness.process.balance().await, harness.usage().await.len());
        let params = format!("[[id:{}]]", kind.as_str());
        let before = harness.trap(HOLDS, Caught::Before);
        tokio::select! {
            call = harness.ask(kind, kind.as_str(), &params) => panic!("{kind:?}: {:?}", call.result),
            () = harness.until_struck(before) => {}
        }
        harness.dies_and_returns().await;
        reached("nothing is held", async || {
            harness.process.balance().await.1 == 0
        })
        .await;
        assert!(harness.served(kind.as_str()).is_empty(), "{kind:?}");
        assert_eq!(harness.usage().await.len(), calls, "{kind:?}");
        assert_eq!(harness.process.balance().await, money, "{kind:?}");
    }
    harness.process.audit().await;
}

// row: G2
#[tokio::test]
async fn kill_before_the_vendor_call_returns_the_money() {
    let mut harness = MediaHarness::new(true).await;
    harness.process.road.black_hole();
    let calls = Kind::ALL.len();
    let held = async |harness: &MediaHarness| harness.until_held(calls).await;
    harness.killed_unanswered("", held).await;
    harness.process.road.cut();
    harness.process.road.pass();
    harness.spent(0).await;
    assert_eq!(harness.usage().await, vec!["interrupted 0"; calls]);
    assert!(harness.process.simulator.requests().is_empty());
}

// row: G3
#[tokio::test]
async fn kill_during_upstream_wait_charges_nothing_and_does_not_resend() {
    let mut harness = MediaHarness::new(true).await;
    // Silent before the answer, then in the middle of it: speech has begun by then, and is row G4's.
    let sent_upstream = async |harness: &MediaHarness| harness.until_all_asked().await;
    harness
        .killed_unanswered("[[fault:hang_before_headers]]", sent_upstream)
        .await;
    harness.spent(0).await;
    let calls = Kind::ALL.len();
    assert_eq!(harness.usage().await, vec!["interrupted 0"; calls]);
    assert_eq!(harness.losses().await, vec!["crash"; calls]);
    for kind in Kind::ALL {
        assert_eq!(
            harness.served(kind.as_str()).len(),
            1,
            "{kind:?}: asked once"
        );
    }
}

/// Speech that has begun.
async fn begun(harness: &MediaHarness, params: &str) -> UpstreamResponse {
    let mut answer = harness.call(Kind::Speech, "voice", params).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(!answer.piece().await.unwrap().unwrap().is_empty());
    answer
}

// row: G4
#[tokio::test]
async fn kill_in_the_middle_of_a_generation_answer_charges_nothing() {
    let mut harness = MediaHarness::new(true).await;
    let text = "A long essay. ".repeat(40);
    let speech = begun(&harness, &format!("{text}[[id:voice]] [[pace:50]]")).await;
    let halves = async |harness: &MediaHarness| harness.until_all_asked().await;
    let half = "[[fault:hang_mid_stream]]";
    let waiting = |kind: Kind| {
        let params = format!("[[id:{}]] {half}", kind.as_str());
        let harness = &harness;
        async move { harness.call(kind, kind.as_str(), &params).await }
    };
    {
        let mut calls =
            Box::pin(async { tokio::join!(waiting(Kind::Picture), waiting(Kind::Transcript)) });
        tokio::select! {
            _ = &mut calls => panic!("half an answer is none"),
            () = halves(&harness) => {}
        }
        signal(harness.process.pid(), "-KILL").await;
        let (picture, transcript) = calls.await;
        assert!(picture.is_err() && transcript.is_err());
    }
    assert_eq!(
        rest(speech).await,
        MediaResult::Broken,
        "a part looks whole"
    );
    harness.dies_and_returns().await;
    harness.spent(0).await;
    assert_eq!(harness.usage().await, vec!["interrupted 0"; 3]);
    assert_eq!(harness.losses().await, vec!["crash"; 3]);
    for kind in Kind::ALL {
        assert_eq!(
            harness.served(kind.as_str()).len(),
            1,
            "{kind:?}: asked once"
        );
    }
    let spent = harness.serves_again().await;
    harness.spent(spent).await;
}

// row: G5
#[tokio::test]
async fn kill_before_the_generation_charge_is_written_charges_nothing() {
    let mut harness = MediaHarness::new(true).await;
    let speech = begun(&harness, "Good morning. [[id:voice]] [[pace:60]]").await;
    let late = |kind: Kind| {
        let params = format!("[[id:{}]] [[fault:slow_first_byte:1500]]", kind.as_str());
        let harness = &harness;
        async move { harness.call(kind, kind.as_str(), &params).await }
    };
    {
        let mut calls =
            Box::pin(async { tokio::join!(late(Kind::Picture), late(Kind::Transcript)) });
        tokio::select! {
            _ = &mut calls => panic!("nothing may be answered before it is charged"),
            () = async {
                harness.until_all_asked().await;
                harness.process.postgres.wire().black_hole();
                for kind in Kind::ALL {
                    harness.until_served(kind.as_str()).await;
                }
                tokio::time::sleep(GOES_ON).await;
            } => {}
        }
        signal(harness.process.pid(), "-KILL").await;
        let (picture, transcript) = calls.await;
        assert!(picture.is_err() && transcript.is_err());
    }
    assert_eq!(
        rest(speech).await,
        MediaResult::Broken,
        "the last piece was sent"
    );
    harness.dies_and_returns().await;
    harness.spent(0).await;
    assert_eq!(harness.usage().await, vec!["interrupted 0"; 3]);
}

// row: G6
#[tokio::test]
async fn kill_while_a_generation_charge_is_written_leaves_it_whole_or_none() {
    let mut harness = MediaHarness::new(true).await;
    let mut spent = 0;
    let scenes = Kind::ALL
        .into_iter()
        .flat_map(|kind| [(kind, Caught::Before), (kind, Caught::After)]);
    for (kind, caught) in scenes {
        let marker = format!("{}-{caught:?}", kind.as_str());
        let params = format!("[[id:{marker}]]");
        let before = harness.trap(CHARGES, caught);
        let mut call = Box::pin(harness.ask(kind, kind.as_str(), &params));
        tokio::select! {
            call = &mut call => panic!("{params}: told {:?} before it was charged", call.result),
            () = harness.until_struck(before) => {}
        }
        signal(harness.process.pid(), "-KILL").await;
        assert_eq!(call.await.result, MediaResult::Broken, "{params}");
        harness.dies_and_returns().await;
        assert_eq!(harness.served(&marker).len(), 1, "{kind:?}: asked once");
        let price = kind.price(&params);
        let row = match caught {
            Caught::Before => "interrupted 0".to_owned(),
            Caught::After => {
                spent += price;
                format!("complete {price}")
            }
        };
        assert_eq!(harness.usage().await.pop(), Some(row), "{params}");
        harness.spent(spent).await;
    }
}

// row: G7
#[tokio::test]
async fn kill_between_charge_and_last_audio_byte_keeps_one_charge() {
    let mut harness = MediaHarness::new(true).await;
    // This vendor hands its audio over in one piece: it is charged, and then sent for as long as it takes.
    let text = "x".repeat(LONG_TEXT);
    let body = serde_json::json!({
        "model": "long-voice", "input": text, "voice": "English_expressive_narrator",
    });
    let body = bytes::Bytes::from(body.to_string());
    let call = harness.outgoing(Kind::Speech.path(), "application/json", body.into());
    let mut answer = harness.client.send(call).await.unwrap();
    if answer.status != 200 {
        let reply = answer.whole(super::MOST).await.unwrap();
        panic!("{} {}", answer.status, String::from_utf8_lossy(&reply));
    }
    let price = CHARACTER * i64::try_from(LONG_TEXT).unwrap();
    assert_eq!(cost_of(&answer), price);
    let charged = vec![format!("complete {price}")];
    reached("it is charged", async || harness.usage().await == charged).await;
    tokio::time::sleep(GOES_ON).await;
    harness.process.kill_gateway().await;
    assert_eq!(
        rest(answer).await,
        MediaResult::Broken,
        "a part looks whole"
    );
    harness.process.start_gateway().await;
    assert_eq!(harness.usage().await, charged);
    harness.spent(price).await;
    assert!(harness.losses().await.is_empty());
}

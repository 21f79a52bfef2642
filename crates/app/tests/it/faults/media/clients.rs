//! Rows C: who asks for pictures, speech and transcripts leaves, or does not read.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{Call, Kind, MediaHarness, MediaResult, id_of, reached};
use crate::faults::process_harness::MONEY;

/// A reader who takes nothing for so long has gone.
const READER_WAIT: Duration = Duration::from_secs(60);
/// An upstream that takes a minute is not waited for.
const SLOW: Duration = Duration::from_secs(25);
/// More than sockets and buffers on the way take: four minutes at a quarter of the speed, as bare samples.
const UNREAD_CHARACTERS: usize = 4_000;

fn left(kind: Kind, params: &str, id: Option<String>) -> Call {
    Call {
        kind,
        params: params.to_owned(),
        id,
        result: MediaResult::Left,
    }
}

/// How a client leaves.
#[derive(Debug, Clone, Copy)]
enum Disconnect {
    Reset,
    ClosesBoth,
}

impl MediaHarness {
    /// Sends a call, and leaves when who makes it has been asked.
    async fn asks_and_leaves(
        &self,
        kind: Kind,
        (marker, params): (&str, &str),
        leaves: Disconnect,
    ) {
        let (content_type, body) = kind.body(kind.as_str(), params);
        let mut line = TcpStream::connect(self.process.address).await.unwrap();
        line.write_all(self.head(kind, &content_type, body.len()).as_bytes())
            .await
            .unwrap();
        line.write_all(&body).await.unwrap();
        self.until_asked(marker).await;
        self.until_held(1).await;
        match leaves {
            Disconnect::Reset => line.set_zero_linger().unwrap(),
            Disconnect::ClosesBoth => {}
        }
        drop(line);
    }

    fn head(&self, kind: Kind, content_type: &str, length: usize) -> String {
        format!(
            "POST {} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: {content_type}\r\ncontent-length: {length}\r\n\r\n",
            kind.path(),
            self.process.key
        )
    }
}

// row: C1
#[tokio::test]
async fn client_gone_before_the_result_pays_nothing_and_stops_the_vendor() {
    let harness = MediaHarness::new(false).await;
    for kind in Kind::ALL {
        let params = format!("[[id:{}]] [[fault:slow_first_byte:60000]]", kind.as_str());
        let began = Instant::now();
        let call = (kind.as_str(), params.as_str());
        harness.asks_and_leaves(kind, call, Disconnect::Reset).await;
        harness.until_held(0).await;
        assert!(began.elapsed() < SLOW, "{kind:?}: it was waited for");
        assert_eq!(
            harness.served(kind.as_str()).len(),
            1,
            "{kind:?}: asked once"
        );
        assert!(!harness.served(kind.as_str())[0].finished, "{kind:?}");
    }
    harness.spent(0).await;
    assert_eq!(harness.usage().await, vec!["cancelled 0"; 3]);
}

// row: C4
#[tokio::test]
async fn silent_disconnect_refunds_every_undelivered_result() {
    let harness = MediaHarness::new(false).await;
    for kind in Kind::ALL {
        let params = format!("[[id:{}]] [[fault:slow_first_byte:1500]]", kind.as_str());
        let call = (kind.as_str(), params.as_str());
        harness
            .asks_and_leaves(kind, call, Disconnect::ClosesBoth)
            .await;
        harness.until_held(0).await;
        assert_eq!(
            harness.served(kind.as_str()).len(),
            1,
            "{kind:?}: asked once"
        );
    }
    reached("what was not delivered went back", async || {
        harness.process.balance().await == (MONEY, 0)
    })
    .await;
    harness.spent(0).await;
    let usage = harness.usage().await;
    let words: Vec<&str> = usage
        .iter()
        .filter_map(|row| row.split(' ').next())
        .collect();
    assert_eq!(words, ["complete", "cancelled", "complete"]);
}

// row: C1
#[tokio::test]
async fn a_client_that_leaves_during_an_upload_leaves_no_rows_and_no_files() {
    let harness = MediaHarness::new(false).await;
    let (content_type, body) = Kind::Transcript.body("ears", "half");
    let mut half = TcpStream::connect(harness.process.address).await.unwrap();
    let head = harness.head(Kind::Transcript, &content_type, body.len());
    half.write_all(head.as_bytes()).await.unwrap();
    half.write_all(&body[..body.len() / 2]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(half);
    let whole = harness.ask(Kind::Transcript, "ears", "whole").await;
    assert!(matches!(whole.result, MediaResult::Whole(_)), "{whole:?}");
    harness.compare(&[whole]).await;
    assert_eq!(harness.usage().await.len(), 1);
    assert_eq!(harness.process.simulator.requests().len(), 1);
}

// row: C2
#[tokio::test]
async fn client_gone_in_mid_speech_pays_the_text_once_and_stops_the_vendor() {
    let harness = MediaHarness::new(false).await;
    let text = "A long essay. ".repeat(40);
    let params = format!("{text}[[id:left]] [[pace:50]]");
    let mut answer = harness.call(Kind::Speech, "voice", &params).await.unwrap();
    let id = id_of(&answer);
    assert!(answer.piece().await.unwrap().is_some());
    drop(answer);
    harness.until_stopped("left").await;
    harness.until_held(0).await;
    let price = Kind::Speech.price(&params);
    assert_eq!(harness.usage().await, [format!("client_gone {price}")]);
    harness.compare(&[left(Kind::Speech, &params, id)]).await;
    harness.spent(price).await;
}

// row: C3
#[tokio::test]
async fn client_not_reading_speech_times_out_and_pays_the_text_once() {
    let harness = MediaHarness::new(false).await;
    let params = format!("[[id:unread]] {}", "x".repeat(UNREAD_CHARACTERS));
    let body = serde_json::json!({
        "model": "voice", "input": params, "voice": "alloy", "response_format": "wav", "speed": 0.25,
    });
    let body = bytes::Bytes::from(body.to_string());
    let call = harness.outgoing(Kind::Speech.path(), "application/json", body.into());
    let unread = harness.client.send(call).await.unwrap();
    assert_eq!(unread.status, 200);
    let id = id_of(&unread);
    // It slows no other reader.
    let mut calls = Vec::new();
    for kind in Kind::ALL {
        let call = harness.ask(kind, kind.as_str(), "meanwhile").await;
        assert!(matches!(call.result, MediaResult::Whole(_)), "{call:?}");
        calls.push(call);
    }
    let began = Instant::now();
    while harness.process.balance().await.1 != 0 {
        assert!(began.elapsed() < READER_WAIT * 2, "still held");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(began.elapsed() > READER_WAIT / 2, "it was not waited for");
    let price = Kind::Speech.price(&params);
    let gone = format!("client_gone {price}");
    let of_unread = async || harness.usage().await.contains(&gone);
    reached("it is charged", of_unread).await;
    harness.until_stopped("unread").await;
    calls.push(left(Kind::Speech, &params, id));
    harness.compare(&calls).await;
    drop(unread);
}

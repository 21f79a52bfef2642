//! Clients that go away, and a simulator that closes.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::client::{asking, send, served, started, streaming};

#[tokio::test]
async fn a_client_that_leaves_a_stream_ends_the_generation() {
    let simulator = started().await;
    let mut stream = send(&simulator, &streaming("[[tokens:5000]] [[pace:5]]")).await;
    let mut bytes = vec![0; 2000];
    stream.read_exact(&mut bytes).await.unwrap();
    drop(stream);
    let left = served(&simulator, |served| served.client_left).await;
    assert!((1..5000).contains(&left.completion_tokens));
    assert_eq!((left.finished, left.told_usage), (false, None));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let later = served(&simulator, |_| true).await;
    assert_eq!(later.completion_tokens, left.completion_tokens);
}

#[tokio::test]
async fn a_client_that_reads_slowly_is_not_run_ahead_of_without_end() {
    let simulator = started().await;
    for body in [
        streaming("[[fault:gigantic_body:1000000000]]"),
        streaming("[[fault:gigantic_frame:1000000000]]"),
        asking("[[fault:gigantic_body:1000000000]]"),
    ] {
        simulator.clear_requests();
        let mut stream = send(&simulator, &body).await;
        let mut bytes = vec![0; 2000];
        stream.read_exact(&mut bytes).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let record = served(&simulator, |_| true).await;
        // What the system buffers on both sides of a loopback is some megabytes at most.
        assert!(
            record.completion_tokens < 10_000_000,
            "{}",
            record.completion_tokens
        );
        drop(stream);
        served(&simulator, |served| served.client_left).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_a_whole_answer_got_nothing() {
    let simulator = started().await;
    let stream = send(&simulator, &asking("[[tokens:100]] [[pace:100]]")).await;
    served(&simulator, |served| served.prompt_tokens > 0).await;
    drop(stream);
    let record = served(&simulator, |served| served.client_left).await;
    assert_eq!((record.status, record.completion_tokens), (0, 0));
}

#[tokio::test]
async fn stopping_closes_the_port_and_its_connections_without_a_client_error() {
    let simulator = started().await;
    let mut stream = send(&simulator, &streaming("[[fault:hang_mid_stream:1]]")).await;
    served(&simulator, |served| served.status == 200).await;
    let address = simulator.address();
    let other = simulator.clone();
    timeout(Duration::from_secs(5), simulator.stop())
        .await
        .expect("stopping does not wait for a hanging answer");
    let mut rest = Vec::new();
    // An end or a reset: closed either way.
    timeout(Duration::from_secs(5), stream.read_to_end(&mut rest))
        .await
        .expect("the connection is closed")
        .unwrap_or_default();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    let record = served(&other, |_| true).await;
    assert_eq!((record.client_left, record.finished), (false, false));
}

#[tokio::test]
async fn the_port_closes_with_the_last_handle() {
    let simulator = started().await;
    let address = simulator.address();
    drop(simulator);
    for _ in 0..400 {
        if tokio::net::TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the port stays open");
}

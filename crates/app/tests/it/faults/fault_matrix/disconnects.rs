//! Row C1 against an upstream that would answer: who resets its connection is found out while it waits,
//! and not by the upstream's own silence.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{STEP, Scene};
use crate::faults::process_harness::ProcessHarness;

// row: C1
#[tokio::test]
async fn a_client_that_resets_its_connection_before_a_late_answer_pays_nothing() {
    let scene = Scene::new(ProcessHarness::new().await);
    for stream in [false, true] {
        let marker = format!("late-{stream}");
        let prompt = format!("[[id:{marker}]] [[tokens:5]] [[fault:slow_first_byte:9000]]");
        let body = serde_json::json!({
            "model": "sim-fast", "stream": stream,
            "messages": [{ "role": "user", "content": prompt }],
        });
        let body = body.to_string();
        let mut line = TcpStream::connect(scene.harness.address).await.unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            scene.harness.key,
            body.len()
        );
        line.write_all(head.as_bytes()).await.unwrap();
        line.write_all(body.as_bytes()).await.unwrap();
        scene.until_asked(&marker).await;
        scene.until_held(1).await;
        let began = Instant::now();
        line.set_zero_linger().unwrap();
        drop(line);
        scene.until_free().await;
        assert!(began.elapsed() < STEP / 4, "it was waited for");
        assert!(!scene.served(&marker)[0].finished);
    }
    scene.spent(0).await;
    assert_eq!(scene.usage().await, vec!["cancelled 0"; 2]);
}

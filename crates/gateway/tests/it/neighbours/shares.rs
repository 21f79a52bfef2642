//! G-17: slow media, a full upload disk and a full channel of one account leave a share to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_gateway::{GenerationSettings, Settings};
use trunkline_store::PolicyFields;

use crate::generation::form::{Form, content_type, wav};
use crate::limits_channels::narrow;
use crate::test_gateway::{GatewayResponse, TestGateway, account};
use crate::videos::{MONEY, cat, column, generation, quick};

const LONGEST: Duration = Duration::from_secs(30);
/// All fetches at once, and what one account may have of them.
const FETCHES: usize = 64;
const OWN_FETCHES: usize = 16;

/// A server that takes connections and says nothing; how many it has taken.
async fn silent() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/video.mp4", listener.local_addr().unwrap());
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            open.push(stream);
        }
    });
    (url, taken)
}

async fn quoted(harness: &TestGateway, key: &str, url: &str) -> Value {
    let body = json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": url });
    let ask = json!({ "endpoint": "videos", "body": body }).to_string();
    let to = (harness.address, key);
    let sent = harness.send_as(to, Method::POST, "/v1/quotes", Bytes::from(ask), &[]);
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < LONGEST, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_media_of_one_account_take_no_fetches_of_another() {
    let harness = Arc::new(generation(quick()).await);
    let (url, taken) = silent().await;
    let mut slow = JoinSet::new();
    for _ in 0..FETCHES {
        let (harness, url) = (Arc::clone(&harness), url.clone());
        slow.spawn(async move { quoted(&harness, &harness.key, &url).await });
    }
    until("its own fetches are all in use", async || {
        taken.load(Ordering::Relaxed) >= OWN_FETCHES
    })
    .await;
    let other = harness.make_account_key().await;
    let clip = format!("http://{}/_media/clip-7s.mp4", harness.simulator.address());
    let quote = quoted(&harness, &other, &clip).await;
    assert_eq!(quote["exact"], json!(true), "{quote}");
    assert_eq!(taken.load(Ordering::Relaxed), OWN_FETCHES);
    slow.abort_all();
}

/// The head of an upload, and all but the end of it. It lies on the disk until this is dropped.
async fn upload_begun(harness: &TestGateway, key: &str, bytes: u32) -> TcpStream {
    let form = Form::default()
        .text("model", "ears")
        .file("file", "a.wav", "audio/wav", &wav(bytes / 2))
        .bytes();
    let head = format!(
        "POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
         content-type: {}\r\ncontent-length: {}\r\n\r\n",
        content_type(),
        form.len()
    );
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    // Without the end of its last boundary the file is not whole.
    stream.write_all(&form[..form.len() - 8]).await.unwrap();
    stream
}

/// The head of the response, if one comes soon.
async fn refused(stream: &mut TcpStream) -> Option<String> {
    let mut head = [0; 2_000];
    let read = tokio::time::timeout(Duration::from_millis(300), stream.read(&mut head));
    let read = read.await.ok()?.unwrap();
    Some(String::from_utf8_lossy(&head[..read]).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_of_one_account_leave_disk_to_another() {
    // A file of at most 1 MB, five on the disk, and of an account a fifth of that.
    const FILE: u32 = 1_000_000;
    let settings = Settings {
        generation: GenerationSettings {
            max_upload_bytes: u64::from(FILE) + 10_000,
            max_uploads_on_disk: u64::from(FILE) * 5,
            ..GenerationSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::generation_with(settings).await;
    let mut open = Vec::new();
    // As many as the whole disk takes: some are refused, because one account has its share.
    until("its share is used up", async || {
        let mut stream = upload_begun(&harness, &harness.key, FILE).await;
        let line = refused(&mut stream).await;
        open.push(stream);
        assert!(open.len() <= 6, "the whole disk is one account's: {line:?}");
        line.is_some_and(|line| line.starts_with("HTTP/1.1 503"))
    })
    .await;
    let payer = account(&harness.console, MONEY, 0).await;
    let other = harness.key_of(payer, PolicyFields::default()).await;
    harness.gateway.refresh().await.unwrap();
    let bearer = format!("Bearer {other}");
    let form =
        Form::default()
            .text("model", "glm-ears")
            .file("file", "a.wav", "audio/wav", &wav(8_000));
    let headers = [("authorization", bearer.as_str())];
    let path = "/v1/audio/transcriptions";
    let got = form.send_with(&harness, path, &headers).await;
    assert_eq!(got.status, 200, "{}", got.text());
}

#[tokio::test]
async fn tasks_of_one_account_leave_places_of_a_channel_to_another() {
    let harness = narrow(None, Some(4)).await;
    let mut states = Vec::new();
    for number in 0..5 {
        let id = crate::videos::made(&harness, &cat(&format!("[[id:own{number}]]"))).await;
        states.push(column(&harness, &id, "state").await);
    }
    let waits = states.iter().filter(|state| *state == "accepted").count();
    assert_eq!(waits, 2, "three of four places: {states:?}");
    let payer = account(&harness.console, MONEY, 0).await;
    let other = harness.key_of(payer, PolicyFields::default()).await;
    harness.gateway.refresh().await.unwrap();
    let body = Bytes::from(cat("[[id:other]]").to_string());
    let to = (harness.address, other.as_str());
    let sent = harness.send_as(to, Method::POST, "/v1/videos", body, &[]);
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let id = got.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(column(&harness, &id, "state").await, "submitted");
}

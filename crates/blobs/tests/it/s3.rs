//! What only S3 can do wrong: keys, buckets, servers that are away or silent.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use trunkline_blobs::{Media, MediaError, MediaSettings, Place, PutError, S3Settings};
use trunkline_types::Secret;

use crate::harness::{Harness, NOON, mp4, path, s3_settings};

const SHORT: Duration = Duration::from_millis(800);
/// For a busy machine; far below any default of the parts beneath.
const SLACK: Duration = Duration::from_secs(10);

async fn opened(settings: S3Settings) -> Media {
    let settings = MediaSettings {
        place: Place::S3(settings),
        budget_bytes: None,
    };
    Media::open(&settings).await.unwrap()
}

/// What each call says.
async fn errors_of(media: &Media) -> Vec<MediaError> {
    let note = Bytes::from_static(b"a note");
    let put = media.put_bytes(&path(9), note, &mp4()).await;
    let Err(PutError::Store(put)) = put else {
        panic!("{put:?}");
    };
    vec![
        put,
        media.head(&path(1)).await.unwrap_err(),
        media.get(&path(1), None).await.err().unwrap(),
        media.get(&path(1), Some(0..1)).await.err().unwrap(),
        media.delete(&path(1)).await.unwrap_err(),
        media.sweep(NOON, Duration::ZERO).await.unwrap_err(),
    ]
}

fn settings_of(harness: &Harness) -> S3Settings {
    match &harness.settings.place {
        Place::S3(settings) => settings.clone(),
        Place::Directory(_) => panic!("not S3"),
    }
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_told_as_such() {
    let harness = Harness::s3(None).await;
    harness.put(&path(1), b"there").await.unwrap();
    let wrong = Secret::new("wrong-canary".to_owned());
    let mut wrong_secret = settings_of(&harness);
    wrong_secret.secret_key = wrong.clone();
    let mut wrong_id = settings_of(&harness);
    wrong_id.access_key = wrong;
    for settings in [wrong_secret, wrong_id] {
        let debug = format!("{settings:?}");
        assert!(!debug.contains("wrong-canary"), "{debug}");
        let media = opened(settings).await;
        for error in errors_of(&media).await {
            assert!(matches!(error, MediaError::Refused { .. }), "{error:?}");
            let text = error.to_string();
            assert!(
                text.starts_with("the media store refused our key"),
                "{text}"
            );
        }
    }
    assert!(
        harness.media.head(&path(1)).await.is_ok(),
        "it is still there"
    );
}

#[tokio::test]
async fn the_bucket_is_private() {
    let harness = Harness::s3(None).await;
    harness.put(&path(1), b"there").await.unwrap();
    let settings = settings_of(&harness);
    let endpoint = settings.endpoint.unwrap();
    let address: SocketAddr = endpoint.strip_prefix("http://").unwrap().parse().unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /{}/{} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n",
        settings.bucket,
        path(1)
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(!answer.contains("there"), "{answer}");
}

#[tokio::test]
async fn a_bucket_that_does_not_exist_is_not_a_missing_object() {
    let harness = Harness::s3(None).await;
    let mut settings = settings_of(&harness);
    settings.bucket = "no-such-bucket".to_owned();
    let media = opened(settings).await;
    let error = media.sweep(NOON, Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, MediaError::NoBucket), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_away_is_told_as_such_and_in_time() {
    // A port that was free a moment ago: connections to it are refused.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut settings = s3_settings(&format!("http://{address}"));
    settings.time_limit = SLACK;
    let media = opened(settings).await;
    let begun = Instant::now();
    for error in errors_of(&media).await {
        assert!(matches!(error, MediaError::Away { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.starts_with("the media store cannot be reached"),
            "{text}"
        );
    }
    assert!(begun.elapsed() < SLACK * 6, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_takes_connections_and_says_nothing_is_told_in_time() {
    let silent = Silent::start(b"").await;
    let mut settings = s3_settings(&format!("http://{}", silent.address));
    settings.time_limit = SHORT;
    let media = opened(settings).await;
    let begun = Instant::now();
    let error = media.head(&path(1)).await.unwrap_err();
    let took = begun.elapsed();
    assert!(
        matches!(error, MediaError::TooSlow { time_limit } if time_limit == SHORT),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "the media store did not answer within 800 ms"
    );
    assert!(took >= SHORT && took < SHORT + SLACK, "{took:?}");
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_ends_with_an_error_in_time() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: video/mp4\r\n\
                ETag: \"x\"\r\nLast-Modified: Tue, 14 Nov 2023 12:00:00 GMT\r\n";
    let hash = "0f".repeat(32);
    let answer = format!("{head}x-amz-meta-sha256: {hash}\r\n\r\nten bytes.");
    let silent = Silent::start(answer.as_bytes()).await;
    let mut settings = s3_settings(&format!("http://{}", silent.address));
    settings.time_limit = SHORT;
    let media = opened(settings).await;
    let mut fetched = media.get(&path(1), None).await.unwrap();
    assert_eq!(fetched.metadata.bytes, 100);
    let first = fetched.stream.next().await.unwrap().unwrap();
    assert_eq!(first, "ten bytes.");
    let begun = Instant::now();
    let error = fetched.stream.next().await.unwrap().unwrap_err();
    assert!(matches!(error, MediaError::TooSlow { .. }), "{error:?}");
    assert!(begun.elapsed() < SHORT + SLACK);
    assert!(
        fetched.stream.next().await.is_none(),
        "nothing comes after an error"
    );
}

/// A server that says one thing to every client, and then nothing more.
struct Silent {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Silent {
    async fn start(answer: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = answer.to_vec();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = [0; 1_024];
                if socket.read(&mut request).await.is_ok() {
                    socket.write_all(&answer).await.unwrap();
                }
                open.push(socket);
            }
        });
        Self {
            address,
            _tasks: tasks,
        }
    }
}

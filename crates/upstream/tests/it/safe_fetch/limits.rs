//! Bounds of bytes, time, headers and fetches.

use std::time::Duration;

use tokio::time::Instant;
use trunkline_upstream::safe_fetch::{ByteRange, FetchError, FetchRequest, SafeFetcher};

use crate::calls::LONG;
use crate::safe_fetch::fake_network::{Front, Names, Reply, ask, fetcher, ok, raw, settings};

const SHORT: Duration = Duration::from_millis(300);
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

fn up_to(max_bytes: u64) -> FetchRequest {
    FetchRequest { max_bytes, ..ask() }
}

#[tokio::test]
async fn a_body_ends_at_its_bound_whether_its_length_is_told_or_not() {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let front = Front::start(&[
        ("/told", ok("0123456789")),
        ("/untold", raw("HTTP/1.1 200 OK\r\n\r\n0123456789")),
        ("/endless", Reply::Endless(bytes(CHUNKED), bytes(&chunk))),
        (
            "/flood",
            Reply::Endless(bytes("HTTP/1.1 200 OK\r\n\r\n"), vec![0; 4096]),
        ),
    ])
    .await;
    let fetcher = fetcher(&Names::of(&[]));
    for path in ["/told", "/untold"] {
        let mut answer = fetcher.get(&front.at(path), up_to(10)).await.unwrap();
        assert_eq!(answer.whole().await.unwrap(), "0123456789", "{path}");
    }
    let most = 9;
    let refused = fetcher
        .get(&front.at("/told"), up_to(most))
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        FetchError::TooLarge { most },
        "before a byte of it"
    );
    let mut answer = fetcher
        .get(&front.at("/untold"), up_to(most))
        .await
        .unwrap();
    assert_eq!(answer.whole().await, Err(FetchError::TooLarge { most }));
    assert_eq!(
        answer.piece().await,
        Err(FetchError::TooLarge { most }),
        "said again"
    );
    // A part was asked for, the whole comes: its beginning may be read.
    let ask = FetchRequest {
        range: ByteRange::new(0, 4),
        ..up_to(most)
    };
    let mut answer = fetcher.get(&front.at("/told"), ask).await.unwrap();
    assert_eq!(answer.whole().await, Err(FetchError::TooLarge { most }));
    for path in ["/endless", "/flood"] {
        let most = 100_000;
        let mut answer = fetcher.get(&front.at(path), up_to(most)).await.unwrap();
        assert_eq!(
            answer.whole().await,
            Err(FetchError::TooLarge { most }),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_length_that_is_not_kept_is_told() {
    let front = Front::start(&[
        (
            "/less",
            raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n0123456789"),
        ),
        (
            "/more",
            raw("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n0123456789"),
        ),
        (
            "/two",
            raw("HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\n01234"),
        ),
        (
            "/cut",
            raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nab"),
        ),
        ("/none", raw("")),
        ("/half", raw("HTTP/1.1 200 OK\r\ncontent-")),
        ("/garbage", raw("\u{1}\u{2}SSH-2.0-OpenSSH\r\n\r\n")),
        (
            "/nowhere",
            raw("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n"),
        ),
    ])
    .await;
    let fetcher = fetcher(&Names::of(&[]));
    for path in ["/less", "/cut"] {
        let mut answer = fetcher.get(&front.at(path), ask()).await.unwrap();
        assert_eq!(answer.whole().await, Err(FetchError::BrokenOff), "{path}");
    }
    let mut answer = fetcher.get(&front.at("/more"), ask()).await.unwrap();
    assert_eq!(answer.whole().await.unwrap(), "0123", "the rest is dropped");
    for (path, why) in [
        ("/two", FetchError::BadAnswer),
        ("/none", FetchError::BrokenOff),
        ("/half", FetchError::BrokenOff),
        ("/garbage", FetchError::BadAnswer),
        ("/nowhere", FetchError::BadAnswer),
    ] {
        let refused = fetcher.get(&front.at(path), ask()).await.unwrap_err();
        assert_eq!(refused, why, "{path}");
    }
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let lines: String = (0..200).map(|line| format!("x-{line}: a\r\n")).collect();
    let few: String = (0..90).map(|line| format!("x-{line}: a\r\n")).collect();
    let long = "a".repeat(1 << 20);
    let front = Front::start(&[
        (
            "/few",
            raw(&format!(
                "HTTP/1.1 200 OK\r\n{few}content-length: 0\r\n\r\n"
            )),
        ),
        (
            "/many",
            raw(&format!(
                "HTTP/1.1 200 OK\r\n{lines}content-length: 0\r\n\r\n"
            )),
        ),
        (
            "/long",
            raw(&format!("HTTP/1.1 200 OK\r\nx-a: {long}\r\n\r\n")),
        ),
        (
            "/endless",
            Reply::Endless(
                b"HTTP/1.1 200 OK\r\n".to_vec(),
                b"x-a: aaaaaaaa\r\n".to_vec(),
            ),
        ),
    ])
    .await;
    let fetcher = fetcher(&Names::of(&[]));
    let few = fetcher.get(&front.at("/few"), ask()).await.unwrap();
    assert_eq!(few.headers.len(), 91);
    for path in ["/many", "/long", "/endless"] {
        let refused = fetcher.get(&front.at(path), ask()).await.unwrap_err();
        assert_eq!(refused, FetchError::HeadersTooLarge, "{path}");
    }
}

#[tokio::test]
async fn a_slow_server_is_abandoned() {
    let front = Front::start(&[
        ("/silent", Reply::Hang(Vec::new())),
        (
            "/early",
            Reply::Endless(Vec::new(), b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec()),
        ),
        (
            "/stops",
            Reply::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc".to_vec()),
        ),
        (
            "/drips",
            Reply::Drip(
                b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
                Duration::from_millis(20),
            ),
        ),
    ])
    .await;
    let hasty = FetchRequest {
        within: SHORT,
        ..ask()
    };
    let patient = fetcher(&Names::of(&[]));
    for path in ["/silent", "/early"] {
        let before = Instant::now();
        let refused = patient.get(&front.at(path), hasty).await.unwrap_err();
        assert_eq!(refused, FetchError::Slow, "{path}");
        assert!(before.elapsed() < LONG / 2, "{path}");
    }
    // The first byte has a time of its own.
    let mut quick = settings(&["127.0.0.2/32"]);
    quick.first_byte = SHORT;
    let quick = SafeFetcher::new(quick).unwrap();
    let refused = quick.get(&front.at("/silent"), ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::Slow);
    // The head is there in time, on a busy machine too; the body is not.
    let hasty = FetchRequest {
        within: Duration::from_secs(2),
        ..ask()
    };
    for path in ["/stops", "/drips"] {
        let mut answer = patient.get(&front.at(path), hasty).await.unwrap();
        assert_eq!(answer.whole().await, Err(FetchError::Slow), "{path}");
    }
}

#[tokio::test]
async fn fetches_at_one_time_are_counted_until_their_answer_is_dropped() {
    let front = Front::start(&[("/", ok("file"))]).await;
    let mut one = settings(&["127.0.0.2/32"]);
    one.max_at_once = 1;
    let one = SafeFetcher::new(one).unwrap();
    let held = one.get(&front.at("/"), ask()).await.unwrap();
    let hasty = FetchRequest {
        within: SHORT,
        ..ask()
    };
    let refused = one.get(&front.at("/"), hasty).await.unwrap_err();
    assert_eq!(refused, FetchError::Busy);
    assert_eq!(front.heads().len(), 1);
    drop(held);
    assert!(one.get(&front.at("/"), ask()).await.is_ok());
}

#[tokio::test]
async fn a_long_answer_to_a_post_is_read_up_to_the_bound() {
    let front = Front::start(&[("/told", ok("0123456789"))]).await;
    let fetcher = fetcher(&Names::of(&[]));
    let headers = http::HeaderMap::new();
    let url = front.at("/told");
    let sent = fetcher.post(&url, &headers, "{}".into(), up_to(9)).await;
    let mut answer = sent.unwrap();
    assert_eq!(answer.status, 200);
    let most = FetchError::TooLarge { most: 9 };
    assert_eq!(answer.whole().await, Err(most));
}

#[tokio::test]
async fn a_fetcher_apart_has_places_and_a_time_of_its_own() {
    let front = Front::start(&[("/silent", Reply::Hang(Vec::new())), ("/", ok("file"))]).await;
    let mut one = settings(&["127.0.0.2/32"]);
    one.max_at_once = 1;
    let fetcher = SafeFetcher::new(one).unwrap();
    let apart = fetcher.apart(1, SHORT);
    let silent = front.at("/silent");
    let (held, got) = tokio::join!(apart.get(&silent, ask()), async {
        tokio::time::sleep(SHORT / 10).await;
        fetcher.get(&front.at("/"), ask()).await
    });
    assert_eq!(held.unwrap_err(), FetchError::Slow);
    assert_eq!(got.unwrap().status, 200);
}

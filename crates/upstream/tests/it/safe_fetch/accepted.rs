//! What is fetched, whole and in parts.

use tokio::net::TcpListener;
use trunkline_upstream::safe_fetch::{ByteRange, FetchError, FetchRequest, Served};

use crate::safe_fetch::fake_network::{Front, Names, PUBLIC, ask, fetcher, ok, raw};

fn part(start: u64, length: u64) -> FetchRequest {
    FetchRequest {
        range: ByteRange::new(start, length),
        ..ask()
    }
}

#[tokio::test]
async fn a_file_comes_as_it_is_by_address_and_by_name() {
    let packed = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nzzzz";
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let front = Front::start(&[
        ("/", ok("file")),
        ("/%C3%BC?q=a%20b", ok("escaped")),
        ("/packed", raw(packed)),
        ("/chunked", raw(chunked)),
    ])
    .await;
    let names = Names::of(&[
        ("files.example", &[&[PUBLIC]]),
        ("xn--bcher-kva.example", &[&[PUBLIC]]),
    ]);
    let fetcher = fetcher(&names);
    for (url, body) in [
        (front.at("/"), "file"),
        (front.at("/#part"), "file"),
        (front.at("/ü?q=a b"), "escaped"),
        (front.at("/packed"), "zzzz"),
        (front.at("/chunked"), "abcde"),
        (front.named("http", "files.example", "/"), "file"),
        (front.named("HTTP", "FILES.example.", "/"), "file"),
        (front.named("http", "Bücher.example", "/"), "file"),
    ] {
        let mut answer = fetcher.get(&url, ask()).await.unwrap();
        assert_eq!(answer.status, 200, "{url}");
        assert_eq!(answer.whole().await.unwrap(), body, "{url}");
        assert_eq!(answer.whole().await.unwrap(), "", "it has ended");
    }
    let mut lost = fetcher.get(&front.at("/lost"), ask()).await.unwrap();
    assert_eq!(
        (lost.status.as_u16(), lost.whole().await.unwrap().len()),
        (404, 0)
    );
}

#[tokio::test]
async fn a_range_is_told_from_the_whole_and_from_an_unrequested_range() {
    let scripted = |range: &str, body: &str| {
        let length = body.len();
        raw(&format!(
            "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {range}\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    };
    let more = "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 2-4/10\r\ntransfer-encoding: chunked\r\n\r\n\
                3\r\ncde\r\n3\r\nfgh\r\n0\r\n\r\n";
    let front = Front::start(&[
        ("/part", scripted("2-4/10", "cde")),
        ("/short", scripted("2-3/*", "cd")),
        ("/other", scripted("0-2/10", "abc")),
        ("/longer", scripted("2-9/10", "cdefghij")),
        (
            "/untold",
            raw("HTTP/1.1 206 Partial Content\r\ncontent-length: 3\r\n\r\ncde"),
        ),
        ("/more", raw(more)),
        ("/ignored", ok("abcdefghij")),
        (
            "/beyond",
            raw("HTTP/1.1 416 No\r\ncontent-range: bytes */10\r\ncontent-length: 0\r\n\r\n"),
        ),
    ])
    .await;
    let fetcher = fetcher(&Names::of(&[]));

    let mut answer = fetcher.get(&front.at("/part"), part(2, 3)).await.unwrap();
    let range = ByteRange::new(2, 3).unwrap();
    let total = Some(10);
    assert_eq!(answer.served, Served::Part { range, total });
    assert_eq!(answer.whole().await.unwrap(), "cde");
    assert!(front.heads()[0].contains("\r\nrange: bytes=2-4\r\n"));

    let mut answer = fetcher.get(&front.at("/short"), part(2, 3)).await.unwrap();
    let range = ByteRange::new(2, 2).unwrap();
    assert_eq!(answer.served, Served::Part { range, total: None });
    assert_eq!(answer.whole().await.unwrap(), "cd");

    // The server knows no parts: the reader takes what it wants of the whole.
    let few = FetchRequest {
        max_bytes: 10,
        ..part(2, 3)
    };
    let mut answer = fetcher.get(&front.at("/ignored"), few).await.unwrap();
    assert_eq!(answer.served, Served::Whole { length: Some(10) });
    assert_eq!(answer.whole().await.unwrap(), "abcdefghij");

    let beyond = fetcher
        .get(&front.at("/beyond"), part(20, 3))
        .await
        .unwrap();
    assert_eq!(beyond.status, 416);

    for wrong in ["/other", "/longer", "/untold"] {
        let refused = fetcher.get(&front.at(wrong), part(2, 3)).await.unwrap_err();
        assert_eq!(refused, FetchError::BadAnswer, "{wrong}");
    }
    let refused = fetcher.get(&front.at("/part"), ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::BadAnswer, "no range was requested");
    let mut answer = fetcher.get(&front.at("/more"), part(2, 3)).await.unwrap();
    assert_eq!(answer.whole().await.unwrap_err(), FetchError::BadAnswer);
}

#[tokio::test]
async fn the_next_address_of_a_name_is_tried_if_the_first_refuses() {
    // Of two addresses that are let in, only one has a listener on this port.
    let front = Front::start(&[("/", ok("file"))]).await;
    let names = Names::of(&[("files.example", &[&["127.0.0.3", PUBLIC]])]);
    let settings = crate::safe_fetch::fake_network::settings(&["127.0.0.2/31"]);
    let both = trunkline_upstream::safe_fetch::SafeFetcher::with_resolver(settings, names).unwrap();
    let url = front.named("http", "files.example", "/");
    let body = both.get(&url, ask()).await.unwrap().whole().await.unwrap();
    assert_eq!(body, "file");

    let gone = TcpListener::bind((PUBLIC, 0)).await.unwrap();
    let url = format!("http://{}/", gone.local_addr().unwrap());
    drop(gone);
    let refused = both.get(&url, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::Unreachable);
}

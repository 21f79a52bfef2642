//! Redirects that are followed, and those that are not.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use trunkline_upstream::safe_fetch::{FetchError, SafeFetcher};

use crate::certificates::Certificate;
use crate::safe_fetch::fake_network::{
    Front, Names, PUBLIC, ask, fetcher, ok, raw, redirect, settings,
};

#[tokio::test]
async fn five_redirects_are_followed_and_the_sixth_is_not() {
    let front = Front::start(&[
        ("/6", redirect(301, "/5")),
        ("/5", redirect(302, "4")),
        ("/4", redirect(303, "/3?a=b#c")),
        ("/3?a=b", redirect(307, "/2")),
        ("/2", redirect(308, "/1")),
        ("/1", redirect(302, "/0")),
        ("/0", ok("there")),
        ("/round", redirect(302, "/round")),
    ])
    .await;
    let fetcher = fetcher(&Names::of(&[]));
    let mut answer = fetcher.get(&front.at("/5"), ask()).await.unwrap();
    assert_eq!(answer.whole().await.unwrap(), "there");
    assert_eq!(front.heads().len(), 6);
    for endless in ["/6", "/round"] {
        let refused = fetcher.get(&front.at(endless), ask()).await.unwrap_err();
        assert_eq!(refused, FetchError::TooManyRedirects, "{endless}");
    }
    assert_eq!(front.heads().len(), 18);
}

#[tokio::test]
async fn redirects_carry_no_headers_over_and_requests_name_our_user_agent() {
    let cookie =
        "HTTP/1.1 302 Found\r\nset-cookie: a=b\r\nlocation: /0\r\ncontent-length: 0\r\n\r\n";
    let front = Front::start(&[("/1", raw(cookie)), ("/0", ok("there"))]).await;
    let fetcher = fetcher(&Names::of(&[]));
    fetcher.get(&front.at("/1"), ask()).await.unwrap();
    let heads = front.heads();
    assert_eq!(heads.len(), 2);
    for head in heads {
        for never in [
            "cookie",
            "referer",
            "authorization",
            "gzip",
            "forwarded",
            "\r\nte:",
        ] {
            assert!(!head.contains(never), "{head}");
        }
        assert!(
            head.contains("\r\nuser-agent: trunkline-fetch/1\r\n"),
            "{head}"
        );
        assert!(head.contains("\r\naccept-encoding: identity\r\n"), "{head}");
        assert!(
            head.contains(&format!("\r\nhost: {}\r\n", front.address)),
            "{head}"
        );
    }
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_refused_and_one_to_https_is_followed() {
    let certificate = Certificate::of("files.example");
    let plain = Front::start(&[("/", ok("plain"))]).await;
    let down = redirect(302, &plain.named("http", "files.example", "/"));
    let routes = [("/down", down), ("/", ok("secure"))];
    let secure = Front::serve(&routes, Some(certificate.server(&["http/1.1"]))).await;
    let up = redirect(302, &secure.named("https", "files.example", "/"));
    let before = Front::start(&[("/up", up)]).await;
    let names = Names::of(&[
        ("files.example", &[&[PUBLIC]]),
        ("other.example", &[&[PUBLIC]]),
    ]);
    let mut trusting = settings(&["127.0.0.2/32"]);
    trusting.roots = certificate.roots();
    let resolver = Arc::clone(&names);
    let trusting = SafeFetcher::with_resolver(trusting, resolver).unwrap();

    let url = secure.named("https", "files.example", "/down");
    let refused = trusting.get(&url, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::Downgrade);
    assert!(plain.heads().is_empty());
    let mut answer = trusting.get(&before.at("/up"), ask()).await.unwrap();
    assert_eq!(answer.whole().await.unwrap(), "secure");

    // The certificate is for one name, and trusted by one fetcher.
    let heads = secure.heads().len();
    let wrong = secure.named("https", "other.example", "/");
    let refused = trusting.get(&wrong, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::Untrusted);
    let url = secure.named("https", "files.example", "/");
    let refused = fetcher(&names).get(&url, ask()).await.unwrap_err();
    assert_eq!(refused, FetchError::Untrusted);
    assert_eq!(secure.heads().len(), heads);
}

#[tokio::test]
async fn a_body_that_is_sent_is_sent_once_and_follows_no_redirect() {
    let front = Front::start(&[("/hook", ok("thanks")), ("/moved", redirect(307, "/hook"))]).await;
    let fetcher = fetcher(&Names::of(&[]));
    let mut headers = http::HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    let sent = fetcher
        .post(&front.at("/hook"), &headers, "{}".into(), ask())
        .await;
    assert_eq!(sent.unwrap().whole().await.unwrap(), "thanks");
    let sent = fetcher
        .post(&front.at("/moved"), &headers, "{}".into(), ask())
        .await;
    assert_eq!(sent.unwrap().status, 307);
    let heads = front.heads();
    assert_eq!(heads.len(), 2);
    assert!(
        heads[0].starts_with("post /hook http/1.1\r\n"),
        "{}",
        heads[0]
    );
    assert!(heads[0].contains("\r\ncontent-type: application/json\r\n"));
    assert!(heads[0].contains("\r\ncontent-length: 2\r\n"));
    let large = vec![0; (256 << 10) + 1];
    let sent = fetcher
        .post(&front.at("/hook"), &headers, large.into(), ask())
        .await;
    assert_eq!(sent.unwrap_err(), FetchError::PostTooLarge);
    assert_eq!(front.heads().len(), 2);
}

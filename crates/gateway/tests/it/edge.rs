//! The edge: which header is trusted for an address, what browsers are allowed, and one account's fair
//! share of the capacity for bodies.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use trunkline_edge::listener::EdgeSettings;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;
use trunkline_store::{Network, PolicyFields};

use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, ask};

async fn behind(proxies: &[&str]) -> TestGateway {
    let trusted_proxies = proxies.iter().map(|text| Network::parse(text).unwrap());
    TestGateway::build(TestOptions {
        edge: EdgeSettings {
            trusted_proxies: trusted_proxies.collect(),
            ..EdgeSettings::default()
        },
        ..TestOptions::default()
    })
    .await
}

async fn key_of(harness: &mut TestGateway, networks: &[&str]) {
    let addresses = networks.iter().map(|text| (*text).to_owned()).collect();
    harness.key = harness
        .make_key(PolicyFields {
            addresses: Some(addresses),
            ..PolicyFields::default()
        })
        .await;
}

// covers: D-1-44, D-1-45
#[tokio::test]
async fn an_allow_list_uses_the_address_from_a_trusted_proxy_only() {
    let mut harness = behind(&["127.0.0.0/8"]).await;
    key_of(&mut harness, &["203.0.113.0/24", "2001:db8::/32"]).await;
    let rows: [(&[(&'static str, &str)], u16); 8] = [
        (&[], 403),
        (&[("x-forwarded-for", "203.0.113.9")], 200),
        (&[("x-forwarded-for", "2001:db8::7")], 200),
        (&[("x-forwarded-for", "203.0.113.9, 127.0.0.3")], 200),
        (&[("x-forwarded-for", "203.0.113.9, 198.51.100.1")], 403),
        (&[("x-forwarded-for", "garbage")], 403),
        (&[("forwarded", "for=203.0.113.9")], 403),
        (&[("x-real-ip", "203.0.113.9")], 403),
    ];
    for (headers, status) in rows {
        let got = harness.chat_with(&ask("Hi"), headers).await;
        assert_eq!(got.status.as_u16(), status, "{headers:?}: {}", got.text());
    }
    // The same header from a peer that is not trusted.
    let mut harness = behind(&["10.0.0.0/8"]).await;
    key_of(&mut harness, &["203.0.113.0/24"]).await;
    for headers in [
        [("x-forwarded-for", "203.0.113.9")],
        [("x-forwarded-for", "203.0.113.9, 10.0.0.1")],
        [("forwarded", "for=203.0.113.9")],
    ] {
        let got = harness.chat_with(&ask("Hi"), &headers).await;
        assert_eq!(got.code(), "ip_not_allowed", "{headers:?}");
        assert!(got.text().contains("127.0.0.1"), "its own address is told");
    }
    // A caller cannot pass for the proxy by writing nonsense in front.
    let mut harness = behind(&["127.0.0.0/8"]).await;
    key_of(&mut harness, &["127.0.0.0/8"]).await;
    let forged = [("x-forwarded-for", "garbage, 198.51.100.1")];
    let got = harness.chat_with(&ask("Hi"), &forged).await;
    assert_eq!(got.code(), "ip_not_allowed");
}

#[tokio::test]
async fn browsers_may_ask_from_anywhere_with_a_key_and_read_our_headers() {
    let harness = TestGateway::new().await;
    let origin = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization, x-stainless-os",
        ),
        ("authorization", ""),
    ];
    for path in ["/v1/chat/completions", "/v1/models", "/v1/nothing"] {
        let sent = harness
            .send_with(Method::OPTIONS, path, Bytes::new(), &origin)
            .await;
        let got = GatewayResponse::read(sent).await;
        assert_eq!(got.status, 204, "a preflight needs no key");
        assert!(got.body.is_empty());
        assert_eq!(got.header("access-control-allow-origin").unwrap(), "*");
        assert_eq!(got.header("access-control-allow-methods").unwrap(), "*");
        let allowed = got.header("access-control-allow-headers").unwrap();
        let allowed: Vec<&str> = allowed.split(", ").collect();
        assert!(allowed.contains(&"authorization") && allowed.contains(&"*"));
        assert_eq!(got.header("access-control-max-age").unwrap(), "86400");
        assert_eq!(got.header("access-control-allow-credentials"), None);
    }
    let page = ("origin", "https://app.example");
    let good = harness.chat_with(&ask("Hi"), &[page]).await;
    let refused = harness
        .chat_with(&ask("Hi"), &[page, ("authorization", "Bearer no")])
        .await;
    for got in [good, refused] {
        assert_eq!(got.header("access-control-allow-origin").unwrap(), "*");
        let exposed = got.header("access-control-expose-headers").unwrap();
        for name in ["x-request-id", "trunkline-cost-usd", "retry-after"] {
            assert!(exposed.contains(name), "{exposed}");
        }
    }
}

#[tokio::test]
async fn a_program_without_an_origin_gets_no_cross_origin_headers() {
    let harness = TestGateway::new().await;
    let good = harness.chat(&ask("Hi")).await;
    let refused = harness
        .chat_with(&ask("Hi"), &[("authorization", "Bearer no")])
        .await;
    for got in [good, refused] {
        let mut names = got.headers.keys().map(http::HeaderName::as_str);
        assert_eq!(names.find(|name| name.starts_with("access-control-")), None);
    }
}

/// A request whose body is promised and does not come.
async fn promise(harness: &TestGateway, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n{{",
        harness.key
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn buffered(harness: &TestGateway) -> u64 {
    let page = harness.metrics().await;
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix("trunkline_buffered_bytes "));
    line.unwrap().parse().unwrap()
}

async fn until_buffered(harness: &TestGateway, bytes: u64) {
    for _ in 0..500 {
        if buffered(harness).await == bytes {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!(
        "{} bytes are buffered, not {bytes}",
        buffered(harness).await
    );
}

#[tokio::test]
async fn one_account_cannot_use_up_the_body_budget_by_content_length() {
    let settings = Settings {
        accept: AcceptSettings {
            max_body_bytes: 100_000,
            max_buffered_bytes: 1_000_000,
            account_share: 4,
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    let mut promises = Vec::new();
    for _ in 0..2 {
        promises.push(promise(&harness, 100_000).await);
    }
    until_buffered(&harness, 200_000).await;
    // The share is 250,000: what stays below it passes, what would go beyond it does not.
    let small = harness.chat(&ask("Hi")).await;
    assert_eq!(small.status, 200, "{}", small.text());
    let mut third = promise(&harness, 100_000).await;
    let mut reply = vec![0; 4_096];
    let length = third.read(&mut reply).await.unwrap();
    let reply = String::from_utf8_lossy(&reply[..length]).into_owned();
    assert!(
        reply.starts_with("HTTP/1.1 503") && reply.contains("overloaded"),
        "{reply}"
    );
    assert!(
        reply.contains("this account has too many concurrent calls"),
        "{reply}"
    );
    until_buffered(&harness, 200_000).await;
    // Others still have capacity.
    let other = harness.make_account_key().await;
    let bearer = format!("Bearer {other}");
    let got = harness
        .chat_with(&ask("Hi"), &[("authorization", &bearer)])
        .await;
    assert_ne!(got.status, 503, "{}", got.text());
    // A client that disconnects releases what was promised.
    drop(promises);
    until_buffered(&harness, 0).await;
    assert_eq!(harness.chat(&ask("Hi")).await.status, 200);
}

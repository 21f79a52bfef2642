//! What holds for every path: ids, headers, bounds, words for what is not there.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use http::{Method, Request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use trunkline_console::{Console, ConsoleSettings};
use trunkline_db::{PoolSettings, Role, connect_lazily};
use trunkline_types::Secret;

use crate::client::{DASH_URL, TestConsole, ask, parts, record, request};

const PATHS: [&str; 6] = [
    "/api/social/catalog",
    "/api/workflows",
    "/api/workflows/clip",
    "/openapi.json",
    "/schemas/workflow.json",
    "/healthz",
];

#[tokio::test]
async fn every_answer_has_an_id_of_its_own_and_careful_headers() {
    let test_console = TestConsole::new().await;
    test_console.keep(&record("clip")).await;
    let mut seen = BTreeSet::new();
    for (path, status) in PATHS.map(|path| (path, 200)).into_iter().chain([
        ("/none", 404),
        ("/api/workflows/none", 404),
        ("/api/workflows?limit=0", 400),
    ]) {
        let got = test_console.get(path).await;
        assert_eq!(got.status.as_u16(), status, "{path}");
        let id = got.header("x-request-id").to_owned();
        assert_eq!(got.header("request-id"), id);
        assert!(seen.insert(id), "{path}");
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
            ("cross-origin-resource-policy", "cross-origin"),
        ] {
            assert_eq!(got.header(name), value, "{path}");
        }
        assert!(
            got.header("content-security-policy")
                .contains("default-src 'none'")
        );
        assert!(
            got.header("access-control-expose-headers")
                .contains("x-request-id")
        );
    }
}

#[tokio::test]
async fn a_caller_with_the_current_etag_gets_304() {
    let test_console = TestConsole::new().await;
    test_console.keep(&record("clip")).await;
    for path in PATHS.iter().filter(|path| **path != "/healthz") {
        let tag = test_console.get(path).await.header("etag").to_owned();
        let mut repeated = request(Method::GET, path);
        repeated
            .headers_mut()
            .insert("if-none-match", tag.parse().unwrap());
        let repeated = test_console.ask(repeated).await;
        assert_eq!(
            (repeated.status.as_u16(), repeated.body.len()),
            (304, 0),
            "{path}"
        );
        assert_eq!(repeated.header("etag"), tag);
    }
    let tag = test_console
        .get("/api/workflows")
        .await
        .header("etag")
        .to_owned();
    test_console.keep(&record("other")).await;
    let mut changed = request(Method::GET, "/api/workflows");
    changed
        .headers_mut()
        .insert("if-none-match", tag.parse().unwrap());
    assert_eq!(test_console.ask(changed).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones_and_a_wrong_path_what_exists() {
    let test_console = TestConsole::new().await;
    test_console.keep(&record("clip")).await;
    for path in PATHS {
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"] {
            let got = test_console
                .ask(request(method.parse().unwrap(), path))
                .await;
            let error = got.error(405, "method_not_allowed");
            assert_eq!(got.header("allow"), "GET,HEAD", "{method} {path}: {error}");
        }
        let head = test_console.ask(request(Method::HEAD, path)).await;
        assert_eq!((head.status.as_u16(), head.body.len()), (200, 0), "{path}");
    }
    for path in [
        "/prices",
        "/api",
        "/api/",
        "/api/prices",
        "/api/workflows/",
        "/api/workflows/a/b",
        "/metrics",
    ] {
        let error = test_console.get(path).await.error(404, "not_found");
        let message = error["message"].as_str().unwrap();
        for known in [
            "GET /api/workflows,",
            "GET /api/workflows/{slug}",
            "GET /healthz",
        ] {
            assert!(message.contains(known), "{path}: {message}");
        }
    }
    let doubled = test_console
        .get("/api/api/workflows")
        .await
        .error(404, "not_found");
    assert!(
        doubled["message"].as_str().unwrap().contains("twice"),
        "{doubled}"
    );
}

#[tokio::test]
async fn a_browser_that_asks_first_is_told_that_it_may_read() {
    let test_console = TestConsole::new().await;
    let got = test_console
        .ask(request(Method::OPTIONS, "/api/workflows"))
        .await;
    assert_eq!((got.status.as_u16(), got.body.len()), (204, 0));
    assert_eq!(got.header("access-control-allow-methods"), "GET, HEAD");
    assert!(
        got.header("access-control-allow-headers")
            .contains("authorization")
    );
    assert_eq!(got.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn long_queries_and_large_bodies_are_refused() {
    let test_console = TestConsole::new().await;
    let long = |bytes: usize| format!("/healthz?{}", "x".repeat(bytes));
    assert_eq!(test_console.get(&long(8_192)).await.status.as_u16(), 200);
    test_console
        .get(&long(8_193))
        .await
        .error(400, "invalid_request");
    let with = |bytes: usize| {
        Request::get("/healthz")
            .body(Body::from(vec![0; bytes]))
            .unwrap()
    };
    assert_eq!(test_console.ask(with(65_536)).await.status.as_u16(), 200);
    test_console
        .ask(with(65_537))
        .await
        .error(413, "request_too_large");
}

#[tokio::test]
async fn a_database_that_is_away_is_our_fault_and_worth_another_try() {
    // No server listens on port 1.
    let url = Secret::new("postgres://nobody@127.0.0.1:1/none".to_owned());
    let settings = PoolSettings {
        acquire_timeout: Duration::from_millis(200),
        ..PoolSettings::named("away")
    };
    let away = |role| connect_lazily(&url, role, settings.clone()).unwrap();
    let console = Console::new(parts(
        away(Role::Data),
        away(Role::Console),
        &crate::fake_catalog::FakeCatalog::new(),
        ConsoleSettings::at(DASH_URL, "http://127.0.0.1:8080/v1"),
    ));
    for path in ["/api/workflows", "/api/workflows/clip"] {
        let got = ask(&console, request(Method::GET, path)).await;
        let error = got.error(503, "temporarily_unavailable");
        assert_eq!(
            (error["type"].as_str(), error["retryable"].as_bool()),
            (Some("server_error"), Some(true))
        );
        assert_eq!(got.header("retry-after"), "1");
        let words = error["message"].as_str().unwrap();
        assert!(!words.contains("127.0.0.1"), "{error}");
    }
    let live = ask(&console, request(Method::GET, "/healthz")).await;
    assert_eq!(live.json()["status"], "live");
}

#[tokio::test]
async fn the_listener_answers_bounds_heads_and_stops_when_told() {
    let test_console = TestConsole::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let serving =
        tokio::task::JoinSet::from_iter([test_console.console.clone().serve(listener, stopped)]);
    let say = async |text: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // Who is refused early may find that the server reads no further.
        drop(stream.write_all(text.as_bytes()).await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        String::from_utf8_lossy(&answer).into_owned()
    };
    let close = "host: x\r\nconnection: close\r\n";
    let live = say(&format!("GET /healthz HTTP/1.1\r\n{close}\r\n")).await;
    assert!(live.starts_with("HTTP/1.1 200"), "{live}");
    assert!(live.ends_with("{\"status\":\"live\"}"), "{live}");
    let head = say(&format!("HEAD /none HTTP/1.1\r\n{close}\r\n")).await;
    assert!(
        head.starts_with("HTTP/1.1 404") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    let long = format!(
        "GET /healthz HTTP/1.1\r\n{close}x: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let refused = say(&long).await;
    assert!(!refused.starts_with("HTTP/1.1 2"), "{refused}");

    stop.send_replace(true);
    let ended = tokio::time::timeout(Duration::from_secs(10), serving.join_all()).await;
    assert!(ended.is_ok(), "it stops");
    assert!(TcpStream::connect(address).await.is_err());
}

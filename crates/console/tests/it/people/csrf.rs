//! Posts of other sites, in every form that a browser or a form can give them, and bodies that are not
//! what they should be.

use axum::body::Body;
use http::{Method, Request};
use serde_json::json;

use super::{Browser, PASSWORD};
use crate::client::{DASH_URL, TestConsole, request};

const OURS: (&str, &str) = ("x-trunkline-console", "1");
const JSON: (&str, &str) = ("content-type", "application/json");

fn post(path: &str, headers: &[(&str, &str)], body: String) -> Request<Body> {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body)).unwrap()
}

/// Every path that changes something, as the document tells it.
async fn writing(test_console: &TestConsole) -> Vec<(Method, String)> {
    let document = test_console.get("/openapi.json").await.json();
    let paths = document["paths"].as_object().unwrap();
    let mut all = Vec::new();
    for (path, item) in paths {
        for method in item.as_object().unwrap().keys() {
            if method != "get" {
                let method = method.to_uppercase().parse().unwrap();
                all.push((method, path.replace("{id}", "1")));
            }
        }
    }
    assert!(all.len() >= 14, "{all:?}");
    all
}

#[tokio::test]
async fn posts_of_other_sites_are_refused_on_every_path_in_every_form() {
    let test_console = TestConsole::new().await;
    let browser = test_console.operator().await;
    let cookie = browser.cookie().unwrap();
    let before = browser.get("/api/members").await.json();
    let origin = ("origin", DASH_URL);
    let forms: [&[(&str, &str)]; 10] = [
        &[JSON],
        &[JSON, OURS],
        &[JSON, origin],
        &[JSON, OURS, ("origin", "https://evil.example")],
        &[JSON, OURS, ("origin", "null")],
        &[JSON, OURS, ("sec-fetch-site", "cross-site")],
        &[JSON, OURS, origin, ("sec-fetch-site", "cross-site")],
        &[
            ("content-type", "application/x-www-form-urlencoded"),
            origin,
        ],
        &[
            ("content-type", "text/plain"),
            ("origin", "https://evil.example"),
        ],
        &[("content-type", "multipart/form-data; boundary=x")],
    ];
    for (method, path) in writing(&test_console).await {
        for headers in forms {
            let headers = [headers, &[("cookie", cookie.as_str())]].concat();
            let mut request = post(&path, &headers, json!({ "name": "Eve" }).to_string());
            *request.method_mut() = method.clone();
            let got = test_console.ask(request).await;
            got.error(403, "cross_site");
            assert!(got.headers.get("access-control-allow-origin").is_none());
            assert!(got.headers.get("set-cookie").is_none());
        }
    }
    assert_eq!(browser.get("/api/members").await.json(), before);
    assert_eq!(browser.session().await["signed_in"], true);
}

#[tokio::test]
async fn no_other_site_may_ask_first_or_read() {
    let test_console = TestConsole::new().await;
    let browser = test_console.operator().await;
    for path in ["/api/session", "/api/members", "/api/none"] {
        let mut preflight = request(Method::OPTIONS, path);
        let headers = preflight.headers_mut();
        headers.insert("origin", "https://evil.example".parse().unwrap());
        headers.insert("access-control-request-method", "POST".parse().unwrap());
        let got = test_console.ask(preflight).await;
        for name in got.headers.keys() {
            assert!(
                !name.as_str().starts_with("access-control-allow"),
                "{path} {name}"
            );
        }
        let read = browser.get(path).await;
        assert!(
            read.headers.get("access-control-allow-origin").is_none(),
            "{path}"
        );
        assert_eq!(read.header("cache-control"), "no-store", "{path}");
        assert_eq!(read.header("cross-origin-resource-policy"), "same-origin");
    }
    let public = test_console.get("/api/pricing").await;
    assert_eq!(public.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn our_own_pages_are_let_in_by_either_sign() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    let body = || json!({ "email": "ada@example.com", "password": PASSWORD }).to_string();
    for headers in [
        [("origin", DASH_URL), OURS, JSON].as_slice(),
        &[("sec-fetch-site", "same-origin"), OURS, JSON],
        &[
            ("origin", "http://10.1.2.3:8081"),
            ("host", "10.1.2.3:8081"),
            OURS,
            JSON,
        ],
        &[
            ("origin", DASH_URL),
            OURS,
            ("content-type", "application/json; charset=utf-8"),
        ],
    ] {
        let got = test_console
            .ask(post("/api/session", headers, body()))
            .await;
        assert_eq!(got.status.as_u16(), 200, "{headers:?}: {got:?}");
    }
}

#[tokio::test]
async fn bodies_are_json_whole_and_small() {
    let test_console = TestConsole::new().await;
    let ours = [("origin", DASH_URL), OURS];
    let try_with = async |kind: (&str, &str), body: String| {
        let headers = [&ours[..], &[kind]].concat();
        test_console.ask(post("/api/session", &headers, body)).await
    };
    for (body, reply) in [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "wrong kind"),
        ("{\"email\": 7, \"password\": \"psst\"}", "wrong kind"),
        ("{\"email\": \"a@b\"}", "missing field `password`"),
        (
            "{\"email\": \"a@b\", \"password\": \"psst\", \"extra\": 1}",
            "unknown field `extra`",
        ),
        (
            "{\"email\": \"a@b\", \"password\": {\"psst\": 1}}",
            "wrong kind",
        ),
    ] {
        let got = try_with(JSON, body.to_owned()).await;
        let error = got.error(400, "invalid_request");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(reply), "{body}: {message}");
        assert!(!message.contains("psst"), "{message}");
    }
    let form = try_with(
        ("content-type", "application/x-www-form-urlencoded"),
        "email=a".to_owned(),
    );
    form.await.error(400, "invalid_request");
    let padded = |bytes: usize| {
        let start = "{\"email\": \"a@b\", \"password\": \"x\"";
        format!("{start}{}}}", " ".repeat(bytes - start.len() - 1))
    };
    let fits = try_with(JSON, padded(65_536)).await;
    fits.error(401, "sign_in_failed");
    try_with(JSON, padded(65_537))
        .await
        .error(413, "request_too_large");
    // One whose length is not told is measured while it is read.
    let headers = [&ours[..], &[JSON]].concat();
    let chunks = (0..80).map(|_| Ok::<_, std::io::Error>(bytes::Bytes::from(vec![b' '; 1_000])));
    let mut request = post("/api/session", &headers, String::new());
    *request.body_mut() = Body::from_stream(futures_util::stream::iter(chunks));
    test_console
        .ask(request)
        .await
        .error(413, "request_too_large");
}

#[tokio::test]
async fn a_method_that_a_path_has_not_is_told_so_without_a_guard() {
    let test_console = TestConsole::new().await;
    let browser = Browser::new(&test_console);
    let got = browser.send(Method::PUT, "/api/session", None).await;
    got.error(405, "method_not_allowed");
    assert_eq!(got.header("allow"), "GET,HEAD,POST,DELETE");
}

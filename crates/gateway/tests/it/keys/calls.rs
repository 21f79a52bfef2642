//! Requests with a key, and what they are answered.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::test_gateway::{GatewayResponse, TestGateway, ask};

/// A request of a method and path with this key, and perhaps a body.
pub(crate) async fn call(
    harness: &TestGateway,
    key: &str,
    (method, path): (Method, &str),
    body: Option<Value>,
) -> GatewayResponse {
    call_at(harness, (harness.address, key), (method, path), body).await
}

pub(crate) async fn call_at(
    harness: &TestGateway,
    at: (SocketAddr, &str),
    (method, path): (Method, &str),
    body: Option<Value>,
) -> GatewayResponse {
    let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    GatewayResponse::read(harness.send_as(at, method, path, bytes, &[]).await).await
}

/// What a short call is answered: its status and its error code.
pub(crate) async fn chat(harness: &TestGateway, key: &str) -> (u16, String) {
    let to = (Method::POST, "/v1/chat/completions");
    is(&call(harness, key, to, Some(ask("Hello [[tokens:2]]"))).await)
}

/// The status, and the code of an error.
pub(crate) fn is(got: &GatewayResponse) -> (u16, String) {
    let code = if got.status.is_success() {
        String::new()
    } else {
        got.code()
    };
    (got.status.as_u16(), code)
}

pub(crate) fn fine() -> (u16, String) {
    (200, String::new())
}

pub(crate) fn no(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// A key below another one: its secret and its number.
pub(crate) async fn below(harness: &TestGateway, key: &str, mut case: Value) -> (String, i64) {
    case["name"] = json!("below");
    let got = call(harness, key, (Method::POST, "/v1/keys"), Some(case)).await;
    assert_eq!(got.status, 201, "{}", got.text());
    let made = got.json();
    let secret = made["key"].as_str().unwrap().to_owned();
    (secret, made["id"].as_i64().unwrap())
}

/// The number of a key, as it shows itself.
pub(crate) async fn own_id(harness: &TestGateway, key: &str) -> i64 {
    let got = call(harness, key, (Method::GET, "/v1/key"), None).await;
    got.json()["id"].as_i64().unwrap()
}

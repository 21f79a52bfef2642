//! G-10: what is refunded as undelivered cannot arrive, over HTTP/2 with a closed window as well.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::json;
use trunkline_edge::settings::AcceptSettings;
use trunkline_gateway::Settings;

use super::http2_client::{ClosedWindow, received};
use crate::generation::form::{Form, content_type, wav};
use crate::social::harness::path;
use crate::test_gateway::TestGateway;

fn impatient() -> Settings {
    Settings {
        accept: AcceptSettings {
            reader_wait: Duration::from_secs(3),
            ..AcceptSettings::default()
        },
        ..Settings::default()
    }
}

struct Call {
    method: &'static str,
    path: String,
    content_type: String,
    body: Bytes,
}

/// The call's charge is refunded while the window is closed, and nothing comes when it opens.
async fn is_refunded_for_good(harness: &TestGateway, call: Call) {
    let before = harness.posted_at_rest().await;
    let mut client = ClosedWindow::connect(harness.address).await;
    let request = Request::builder()
        .method(call.method)
        .uri(format!("http://{}{}", harness.address, call.path))
        .header("authorization", format!("Bearer {}", harness.key))
        .header("content-type", call.content_type)
        .body(())
        .unwrap();
    let response = client.head(request, call.body).await;
    assert_eq!(response.status(), 200, "{}", call.path);
    let charged = harness.wallets().await[0];
    assert!(charged < before, "{}: the charge comes first", call.path);
    assert_eq!(harness.posted_at_rest().await, before, "{}", call.path);
    client.open();
    let (bytes, is_whole) = received(response.into_body()).await;
    assert!(bytes <= 1 && !is_whole, "{}: {bytes} bytes", call.path);
    assert_eq!(harness.posted_at_rest().await, before, "{}", call.path);
}

#[tokio::test]
async fn a_client_with_a_closed_window_never_gets_the_social_data_that_was_refunded() {
    let harness = TestGateway::social_with(impatient(), 10_000_000_000, 0).await;
    for pair in ["kuaishou/search", "kuaishou/search/pages"] {
        let call = Call {
            method: "GET",
            path: path(pair, "keyword=hello"),
            content_type: "text/plain".to_owned(),
            body: Bytes::new(),
        };
        is_refunded_for_good(&harness, call).await;
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_client_with_a_closed_window_never_gets_the_media_that_was_refunded() {
    let harness = TestGateway::generation_with(impatient()).await;
    let image = json!({ "model": "sea-brush", "prompt": "A cat" });
    let form =
        Form::default()
            .text("model", "glm-ears")
            .file("file", "a.wav", "audio/wav", &wav(8_000));
    for call in [
        Call {
            method: "POST",
            path: "/v1/images/generations".to_owned(),
            content_type: "application/json".to_owned(),
            body: Bytes::from(image.to_string()),
        },
        Call {
            method: "POST",
            path: "/v1/audio/transcriptions".to_owned(),
            content_type: content_type(),
            body: form.bytes(),
        },
    ] {
        is_refunded_for_good(&harness, call).await;
    }
    harness.audit().await;
}

//! Pictures from pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::generation::form::Form;
use crate::generation::harness::PICTURE;
use crate::test_gateway::TestGateway;

/// A picture of our own making, by way of the vendor's simulator.
pub(crate) async fn picture(harness: &TestGateway) -> Vec<u8> {
    let more = json!({ "response_format": "b64_json", "size": "256x256" });
    let got = harness.draw("brush", "a source", more).await;
    let text = got.json()["data"][0]["b64_json"]
        .as_str()
        .unwrap()
        .to_owned();
    STANDARD.decode(text).unwrap()
}

// covers: G-4.3-10, D-7-MON-11
// covers: G-4-12, G-5-03
#[tokio::test]
async fn an_edit_takes_one_or_several_files_and_a_mask() {
    let harness = TestGateway::generation().await;
    let cat = picture(&harness).await;
    let form = || {
        Form::default()
            .text("model", "fine-brush")
            .text("prompt", "a hat on it")
    };
    let one = form().file("image", "cat.png", "image/png", &cat);
    let got = one.send(&harness, "/v1/images/edits").await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let call = harness.simulator.image_calls().pop().unwrap();
    assert!(
        call.is_edit && call.sources == 1 && !call.has_mask,
        "{call:?}"
    );
    let several = form()
        .file("image[]", "a.png", "image/png", &cat)
        .file("image[]", "b.png", "image/png", &cat)
        .file("mask", "m.png", "image/png", &cat)
        .text("n", "2");
    let got = several.send(&harness, "/v1/images/edits").await;
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let call = harness.simulator.image_calls().pop().unwrap();
    assert!(
        call.sources == 2 && call.has_mask && call.made == 2,
        "{call:?}"
    );
    let spent = harness.spent().await;
    assert_eq!(spent, PICTURE + 3 * 10_000_000, "low and small, by default");
    harness.audit().await;
}

// covers: G-4.3-11
// covers: G-4-13
#[tokio::test]
async fn an_edit_takes_an_address_or_a_data_uri_as_json() {
    let harness = TestGateway::generation().await;
    let cat = picture(&harness).await;
    let data = format!("data:image/png;base64,{}", STANDARD.encode(&cat));
    let link = "https://pictures.example.com/cat.png";
    for (model, image) in [
        ("fine-brush", json!(data)),
        ("wen-brush", json!(link)),
        ("wen-brush", json!(data)),
        ("sea-brush", json!([link, data])),
        ("sea-brush", json!(link)),
    ] {
        let body = json!({ "model": model, "prompt": "a hat on it", "image": image });
        let got = harness.post("/v1/images/edits", &body).await;
        assert_eq!(got.status.as_u16(), 200, "{model}: {}", got.text());
        let call = harness.simulator.image_calls().pop().unwrap();
        let count = image.as_array().map_or(1, Vec::len);
        assert_eq!(usize::try_from(call.sources).unwrap(), count, "{model}");
    }
    harness.audit().await;
}

// covers: G-4.3-12
#[tokio::test]
async fn an_edit_without_a_picture_is_refused() {
    let harness = TestGateway::generation().await;
    let body = json!({ "model": "fine-brush", "prompt": "x" });
    let got = harness.post("/v1/images/edits", &body).await;
    assert_eq!(
        (got.status.as_u16(), got.json()["error"]["param"].clone()),
        (400, json!("image"))
    );
    let form = Form::default()
        .text("model", "fine-brush")
        .text("prompt", "x");
    let got = form.send(&harness, "/v1/images/edits").await;
    assert_eq!(
        (got.status.as_u16(), got.json()["error"]["param"].clone()),
        (400, json!("image"))
    );
    assert_eq!(harness.spent().await, 0);
}

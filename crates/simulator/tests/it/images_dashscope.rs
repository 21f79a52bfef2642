//! Alibaba's pictures in one call over a real socket.

use serde_json::{Value, json};

use crate::client::{ask, post, started};
use crate::pictures::{fetched, last};

const PATH: &str = "/api/v1/services/aigc/multimodal-generation/generation";
const IMAGE: &str = "https://media.example/a.png";

fn request_body(model: &str, images: usize, parameters: &Value) -> Value {
    let mut content = vec![json!({"image": IMAGE}); images];
    content.push(json!({"text": "a fox"}));
    json!({"model": model, "parameters": parameters,
        "input": {"messages": [{"role": "user", "content": content}]}})
}

#[tokio::test]
async fn a_picture_comes_as_a_link_inside_a_choice() {
    let simulator = started().await;
    let parameters = json!({"size": "1328*1328", "n": 1, "negative_prompt": "rain",
        "prompt_extend": false, "watermark": true, "seed": 7});
    let reported = post(
        &simulator,
        PATH,
        &request_body("qwen-image-plus", 0, &parameters),
    )
    .await
    .json();
    let choice = &reported["output"]["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    let link = &choice["message"]["content"][0]["image"];
    assert_eq!(fetched(&simulator, link).await, ("png", 1328, 1328));
    assert_eq!(
        reported["usage"],
        json!({"image_count": 1, "width": 1328, "height": 1328})
    );
    assert_eq!(reported["request_id"].as_str().unwrap().len(), 36);
    let call = last(&simulator);
    assert_eq!(
        (call.vendor, call.made, call.by_link),
        ("dashscope", 1, true)
    );
    assert!(call.has_watermark && !call.is_edit);
}

#[tokio::test]
async fn each_line_of_models_has_its_own_numbers_and_sizes() {
    let simulator = started().await;
    for (model, images, parameters, made, width, height) in [
        ("qwen-image", 0, json!({}), 1, 1664, 928),
        ("qwen-image-2.0-pro", 0, json!({"n": 6}), 6, 2048, 2048),
        ("qwen-image-2.0", 3, json!({"size": "512*512"}), 1, 512, 512),
        (
            "qwen-image-edit",
            1,
            json!({"size": "512*512"}),
            1,
            1024,
            1024,
        ),
        (
            "qwen-image-edit-plus",
            3,
            json!({"n": 2, "size": "1536*1024"}),
            2,
            1536,
            1024,
        ),
        (
            "wan2.7-image-pro",
            0,
            json!({"size": "4096*4096", "n": 1}),
            1,
            4096,
            4096,
        ),
        ("wan2.6-t2i", 0, json!({}), 4, 1280, 1280),
        ("z-image-turbo", 0, json!({}), 1, 1024, 1536),
    ] {
        let got = post(&simulator, PATH, &request_body(model, images, &parameters)).await;
        assert_eq!(got.status, 200, "{model}: {}", got.json());
        let usage = json!({"image_count": made, "width": width, "height": height});
        assert_eq!(got.json()["usage"], usage, "{model}");
        let call = last(&simulator);
        assert_eq!(
            (call.made, call.sources),
            (made, u32::try_from(images).unwrap())
        );
        assert_eq!(call.is_edit, images > 0);
        let choices = got.json()["output"]["choices"].as_array().unwrap().len();
        let expected = if model.starts_with("wan") { made } else { 1 };
        assert_eq!(choices, usize::try_from(expected).unwrap(), "{model}");
    }
}

#[tokio::test]
async fn refusals_are_flat() {
    let simulator = started().await;
    let none = json!({});
    for (body, status, code) in [
        (request_body("qwen-painter", 0, &none), 404, "ModelNotFound"),
        (
            request_body("qwen-image", 0, &json!({"n": 2})),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image", 0, &json!({"n": "1"})),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image", 0, &json!({"size": "1024*1024"})),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image", 1, &none),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image-edit", 0, &none),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image-edit", 4, &none),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image-2.0", 0, &json!({"size": "2049*2048"})),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image-2.0", 0, &json!({"size": "1024x1024"})),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image", 0, &json!({"seed": -1})),
            400,
            "InvalidParameter",
        ),
        (
            request_body("qwen-image", 0, &json!({"watermark": "no"})),
            400,
            "InvalidParameter",
        ),
        (
            json!({"model": "qwen-image", "input": {"prompt": "a fox"}}),
            400,
            "InvalidParameter",
        ),
        (
            json!({"model": "qwen-image-edit", "input": {"messages": [{"role": "user",
                "content": [{"image": "data:image/png;base64,aGVsbG8="}, {"text": "a"}]}]}}),
            400,
            "InvalidURL",
        ),
    ] {
        let got = post(&simulator, PATH, &body).await;
        let reported = got.json();
        assert_eq!(
            (got.status, &reported["code"]),
            (status, &json!(code)),
            "{body}"
        );
        assert!(reported["message"].is_string() && reported["request_id"].is_string());
    }
    let head = "content-type: application/json\r\n";
    let body = request_body("qwen-image", 0, &none).to_string();
    let got = ask(&simulator, "POST", PATH, head, body.as_bytes()).await;
    assert_eq!(
        (got.status, &got.json()["code"]),
        (401, &json!("InvalidApiKey"))
    );
    let head = "authorization: Bearer a\r\nx-dashscope-async: enable\r\n";
    let got = ask(&simulator, "POST", PATH, head, body.as_bytes()).await;
    assert_eq!(
        (got.status, &got.json()["code"]),
        (403, &json!("AccessDenied"))
    );
    assert!(simulator.image_calls().is_empty());
}

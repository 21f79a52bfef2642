//! Ark's pictures over a real socket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{ask, post, started};
use crate::pictures::{decoded, fetched, hash, last, merged, seen, source};

const PATH: &str = "/api/v3/images/generations";
const NEWEST: &str = "doubao-seedream-5-0-260128";
const OLDEST: &str = "doubao-seedream-4-0-250828";

fn request_body(more: &Value) -> Value {
    merged(json!({"model": NEWEST, "prompt": "a fox"}), more)
}

#[tokio::test]
async fn a_picture_is_marked_and_comes_as_a_link_unless_it_is_said_otherwise() {
    let simulator = started().await;
    let reported = post(&simulator, PATH, &request_body(&json!({"n": 3})))
        .await
        .json();
    assert_eq!(reported["data"].as_array().unwrap().len(), 1);
    assert_eq!(reported["data"][0]["size"], "2048x2048");
    assert_eq!(
        fetched(&simulator, &reported["data"][0]["url"]).await,
        ("jpeg", 2048, 2048)
    );
    let usage = json!({"generated_images": 1, "input_images": 0, "output_tokens": 16_384,
        "total_tokens": 16_384});
    assert_eq!(reported["usage"], usage);
    assert!(last(&simulator).has_watermark);
    let more = json!({"watermark": false, "response_format": "b64_json", "output_format": "png",
        "size": "2560x1440", "image": ["https://media.example/a.png", "https://media.example/b.png"]});
    let reported = post(&simulator, PATH, &request_body(&more)).await.json();
    assert_eq!(
        seen(&decoded(&reported["data"][0]["b64_json"])),
        ("png", 2560, 1440)
    );
    assert_eq!(reported["usage"]["input_images"], 2);
    let call = last(&simulator);
    assert!(!call.has_watermark && !call.by_link && call.is_edit);
    assert_eq!((call.vendor, call.sources), ("ark", 2));
}

#[tokio::test]
async fn a_picture_that_comes_as_bytes_is_kept_by_its_hash() {
    let simulator = started().await;
    let file = source(&simulator, "fox-64x48.jpg").await;
    let uri = format!("data:image/jpeg;base64,{}", STANDARD.encode(&file));
    let more = json!({"image": ["https://media.example/a.png", uri], "size": "2K"});
    assert_eq!(
        post(&simulator, PATH, &request_body(&more)).await.status,
        200
    );
    let call = last(&simulator);
    assert_eq!((call.sources, call.files), (2, vec![hash(&file)]));
    assert_eq!(call.fields["size"], "2K");
    assert_eq!(call.fields.get("watermark"), None);
    let refused = request_body(&json!({"prompt": "[[id:odd]] a fox", "size": "9K"}));
    assert_eq!(post(&simulator, PATH, &refused).await.status, 400);
    let served = simulator.requests().pop().unwrap();
    assert_eq!(served.marker.as_deref(), Some("odd"));
}

#[tokio::test]
async fn of_a_series_one_may_fail_while_the_others_are_made() {
    let simulator = started().await;
    let series = |most: u32, prompt: &str| {
        request_body(
            &json!({"prompt": prompt, "sequential_image_generation": "auto",
            "sequential_image_generation_options": {"max_images": most}}),
        )
    };
    let reported = post(&simulator, PATH, &series(4, "foxes")).await.json();
    assert_eq!(reported["usage"]["generated_images"], 4);
    let reported = post(&simulator, PATH, &series(4, "foxes [[image:count:2]]"))
        .await
        .json();
    assert_eq!(reported["data"].as_array().unwrap().len(), 2);
    let reported = post(&simulator, PATH, &series(3, "foxes [[image:fail_some:1]]"))
        .await
        .json();
    assert_eq!(reported["data"].as_array().unwrap().len(), 3);
    let error = &reported["data"][0]["error"];
    assert_eq!(error["code"], "OutputImageSensitiveContentDetected");
    assert!(error["message"].is_string() && reported["data"][1]["url"].is_string());
    assert_eq!(reported["usage"]["generated_images"], 2);
    assert_eq!(reported["usage"]["output_tokens"], 2 * 16_384);
    let call = last(&simulator);
    assert_eq!((call.requested, call.made, call.failed), (3, 2, 1));
}

#[tokio::test]
async fn refusals_have_a_code_a_parameter_and_a_kind() {
    let simulator = started().await;
    let old = |more: Value| merged(json!({"model": OLDEST, "prompt": "a fox"}), &more);
    let series = json!({"sequential_image_generation": "auto",
        "sequential_image_generation_options": {"max_images": 15}, "image": "https://a.example/1"});
    let many = vec!["https://a.example/1"; 15];
    for (body, param) in [
        (request_body(&json!({"size": "1K"})), "size"),
        (request_body(&json!({"size": "4K"})), "size"),
        (request_body(&json!({"size": "1280x720"})), "size"),
        (request_body(&json!({"size": "16384x1000"})), "size"),
        (request_body(&json!({"image": "a.png"})), "image"),
        (request_body(&json!({"image": []})), "image"),
        (request_body(&json!({"image": many})), "image"),
        (request_body(&json!({"watermark": "no"})), "watermark"),
        (request_body(&json!({"seed": -2})), "seed"),
        (
            request_body(&json!({"response_format": "base64"})),
            "response_format",
        ),
        (
            request_body(&json!({"sequential_image_generation": "on"})),
            "sequential_image_generation",
        ),
        (
            request_body(&series),
            "sequential_image_generation_options.max_images",
        ),
        (request_body(&json!({"stream": true})), "stream"),
        (request_body(&json!({"prompt": "[[fault:no]]"})), "prompt"),
        (old(json!({"output_format": "png"})), "output_format"),
    ] {
        let got = post(&simulator, PATH, &body).await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status, &error["param"]),
            (400, &json!(param)),
            "{error}"
        );
        assert_eq!(
            (&error["code"], &error["type"]),
            (&json!("InvalidParameter"), &json!("BadRequest"))
        );
    }
    for size in ["1K", "2K", "4K", "1280x720"] {
        assert_eq!(
            post(&simulator, PATH, &old(json!({"size": size})))
                .await
                .status,
            200,
            "{size}"
        );
    }
    let missing = post(&simulator, PATH, &request_body(&json!({"prompt": null})))
        .await
        .json();
    assert_eq!(missing["error"]["code"], "MissingParameter");
    let unknown = post(
        &simulator,
        PATH,
        &request_body(&json!({"model": "seedream"})),
    )
    .await;
    assert_eq!(unknown.status, 404);
    assert_eq!(
        unknown.json()["error"]["code"],
        "InvalidEndpointOrModel.NotFound"
    );
    let stranger = ask(&simulator, "POST", PATH, "", b"{}").await;
    assert_eq!(stranger.status, 401);
    assert_eq!(stranger.json()["error"]["code"], "AuthenticationError");
}

//! OpenAI's pictures over a real socket.

use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::client::{Response, ask, post, started};
use crate::pictures::{decoded, fetched, hash, last, merged, seen, source};

const MAKE: &str = "/v1/images/generations";
const EDIT: &str = "/v1/images/edits";

fn gpt(more: &Value) -> Value {
    merged(json!({"model": "gpt-image-2", "prompt": "a fox"}), more)
}

/// One part of a form: name, file name with its kind, bytes.
type Part<'a> = (&'a str, Option<(&'a str, &'a str)>, &'a [u8]);

async fn edited(simulator: &Simulator, parts: &[Part<'_>]) -> Response {
    let mut body = Vec::new();
    for (name, file, bytes) in parts {
        body.extend(format!("--mark\r\nContent-Disposition: form-data; name=\"{name}\"").bytes());
        if let Some((file, kind)) = file {
            body.extend(format!("; filename=\"{file}\"\r\nContent-Type: {kind}").bytes());
        }
        body.extend(b"\r\n\r\n");
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--mark--\r\n");
    let head = "authorization: Bearer sk-test-1234\r\n\
                content-type: multipart/form-data; boundary=mark\r\n";
    ask(simulator, "POST", EDIT, head, &body).await
}

#[tokio::test]
async fn a_gpt_model_makes_pictures_inside_its_answer_and_counts_tokens() {
    let simulator = started().await;
    let request_body = gpt(&json!({"n": 2, "size": "1536x864", "quality": "high"}));
    let reported = post(&simulator, MAKE, &request_body).await.json();
    let files: Vec<Vec<u8>> = reported["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| decoded(&entry["b64_json"]))
        .collect();
    assert_eq!(files.len(), 2);
    assert_ne!(files[0], files[1]);
    for file in &files {
        assert_eq!(seen(file), ("png", 1536, 864));
    }
    // 4160 for a square of 1024, by pixels.
    let each = 5_265;
    assert_eq!(reported["usage"]["output_tokens"], each * 2);
    assert_eq!(
        reported["usage"]["input_tokens_details"],
        json!({"text_tokens": 2, "image_tokens": 0})
    );
    assert_eq!(reported["usage"]["total_tokens"], each * 2 + 2);
    assert_eq!(
        (&reported["quality"], &reported["size"]),
        (&json!("high"), &json!("1536x864"))
    );
    let call = last(&simulator);
    assert_eq!(
        (call.vendor, call.requested, call.made, call.failed),
        ("openai", 2, 2, 0)
    );
    assert_eq!((call.width, call.height, call.format), (1536, 864, "png"));
    assert!(!call.by_link && !call.is_edit && call.quality.as_deref() == Some("high"));
    let served = simulator.requests().pop().unwrap();
    assert_eq!(
        (served.number, served.model.as_str()),
        (call.number, "gpt-image-2")
    );
    assert_eq!(
        (served.prompt_tokens, served.completion_tokens),
        (2, each * 2)
    );
    assert_eq!(served.told_usage, Some((2, each * 2)));
    assert!(served.finished);
}

#[tokio::test]
async fn what_is_not_said_is_the_models_own() {
    let simulator = started().await;
    let reported = post(&simulator, MAKE, &gpt(&json!({}))).await.json();
    assert_eq!(
        (&reported["quality"], &reported["size"]),
        (&json!("medium"), &json!("1024x1024"))
    );
    assert_eq!(
        (&reported["background"], &reported["output_format"]),
        (&json!("opaque"), &json!("png"))
    );
    assert_eq!(reported["usage"]["output_tokens"], 1_056);
    let request_body =
        gpt(&json!({"output_format": "jpeg", "output_compression": 50, "size": "auto"}));
    let reported = post(&simulator, MAKE, &request_body).await.json();
    let file = decoded(&reported["data"][0]["b64_json"]);
    assert_eq!(seen(&file), ("jpeg", 1024, 1024));
    let clear = gpt(&json!({"background": "transparent"}));
    let reported = post(&simulator, MAKE, &clear).await.json();
    let file = decoded(&reported["data"][0]["b64_json"]);
    assert!(file.windows(4).any(|four| four == b"tRNS"));
    assert_eq!(reported["background"], "transparent");
}

#[tokio::test]
async fn a_dalle_model_hands_out_links_unless_base64_is_wanted() {
    let simulator = started().await;
    let request_body =
        json!({"model": "dall-e-3", "prompt": "a fox", "size": "1792x1024", "quality": "hd"});
    let reported = post(&simulator, MAKE, &request_body).await.json();
    assert_eq!(reported.get("usage"), None);
    assert_eq!(reported["data"][0]["revised_prompt"], "a fox (revised)");
    assert_eq!(
        fetched(&simulator, &reported["data"][0]["url"]).await,
        ("png", 1792, 1024)
    );
    assert!(last(&simulator).by_link);
    let request_body = json!({"model": "dall-e-2", "prompt": "a fox", "n": 3, "size": "256x256",
        "response_format": "b64_json"});
    let reported = post(&simulator, MAKE, &request_body).await.json();
    assert_eq!(reported["data"].as_array().unwrap().len(), 3);
    assert_eq!(
        seen(&decoded(&reported["data"][2]["b64_json"])),
        ("png", 256, 256)
    );
}

#[tokio::test]
async fn a_picture_is_changed_by_files_by_addresses_and_within_a_mask() {
    let simulator = started().await;
    let image = source(&simulator, "fox-64x48.png").await;
    let photo = source(&simulator, "fox-640x480.jpg").await;
    let png = Some(("a.png", "image/png"));
    let jpeg = Some(("b.jpg", "image/jpeg"));
    let text = |name, value: &'static str| (name, None, value.as_bytes());
    let one = [
        text("model", "gpt-image-1"),
        text("prompt", "a hat"),
        ("image", png, &image),
        ("mask", png, &image),
        text("n", "2"),
    ];
    let reported = edited(&simulator, &one).await.json();
    assert_eq!(reported["data"].as_array().unwrap().len(), 2);
    assert_eq!(
        reported["usage"]["input_tokens_details"]["image_tokens"],
        170
    );
    let call = last(&simulator);
    assert!(call.is_edit && call.has_mask);
    assert_eq!((call.sources, call.made), (1, 2));
    assert_eq!(call.files, [hash(&image), hash(&image)]);
    assert_eq!(
        call.fields,
        json!({"model": "gpt-image-1", "prompt": "a hat", "n": 2})
    );
    let several = [
        ("image[]", png, image.as_slice()),
        ("image[]", jpeg, &photo),
        text("model", "gpt-image-1.5"),
        text("prompt", "a hat"),
        text("input_fidelity", "high"),
    ];
    assert_eq!(edited(&simulator, &several).await.status, 200);
    assert_eq!(last(&simulator).sources, 2);
    assert_eq!(last(&simulator).files, [hash(&image), hash(&photo)]);
    for more in [
        json!({"images": [{"image_url": "https://media.example/a.png"}, {"file_id": "file-1"}]}),
        json!({"image": "https://media.example/a.png"}),
        json!({"image": ["https://media.example/a.png"], "mask": {"file_id": "file-1"}}),
    ] {
        let got = post(&simulator, EDIT, &gpt(&more)).await;
        assert_eq!(got.status, 200, "{more}: {:?}", got.json());
        assert!(last(&simulator).is_edit);
    }
}

#[tokio::test]
async fn bad_files_are_refused_by_kind_by_bytes_and_by_size() {
    let simulator = started().await;
    let image = source(&simulator, "fox-64x48.png").await;
    let other = source(&simulator, "fox-48x64.png").await;
    let png = Some(("a.png", "image/png"));
    let model = ("model", None, &b"gpt-image-1"[..]);
    let prompt = ("prompt", None, &b"a hat"[..]);
    let octets = Some(("a.png", "application/octet-stream"));
    let cases: [(&[Part<'_>], &str, &str); 6] = [
        (&[model, prompt], "image", "missing_required_parameter"),
        (
            &[model, prompt, ("image", octets, &image)],
            "image",
            "unsupported_file_mimetype",
        ),
        (
            &[model, prompt, ("image", png, b"hello")],
            "image",
            "invalid_image_file",
        ),
        (
            &[model, prompt, ("image", png, &image), ("mask", png, &other)],
            "mask",
            "invalid_mask_image_format",
        ),
        (
            &[model, prompt, ("image", None, b"https://a.example")],
            "image",
            "invalid_type",
        ),
        (
            &[
                model,
                ("prompt", None, b"a"),
                ("image", png, &image),
                ("n", None, b"many"),
            ],
            "n",
            "invalid_type",
        ),
    ];
    for (parts, param, code) in cases {
        let got = edited(&simulator, parts).await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status, &error["param"]),
            (400, &json!(param)),
            "{error}"
        );
        assert_eq!(error["code"], code, "{error}");
    }
    let many = vec![("image[]", png, image.as_slice()); 17];
    let parts: Vec<Part<'_>> = [model, prompt].into_iter().chain(many).collect();
    let error = edited(&simulator, &parts).await.json();
    assert_eq!(error["error"]["code"], "array_above_max_length");
    assert_eq!(edited(&simulator, &parts[..18]).await.status, 200);
    assert_eq!(simulator.image_calls().len(), 1);
}

#[tokio::test]
async fn a_request_is_refused_as_the_vendor_refuses_it() {
    let simulator = started().await;
    let dalle = |more: Value| merged(json!({"model": "dall-e-3", "prompt": "a fox"}), &more);
    let first = |more: Value| merged(json!({"model": "gpt-image-1", "prompt": "a fox"}), &more);
    for (request_body, param, code) in [
        (
            gpt(&json!({"response_format": "url"})),
            "response_format",
            "unknown_parameter",
        ),
        (
            gpt(&json!({"style": "vivid"})),
            "style",
            "unknown_parameter",
        ),
        (
            gpt(&json!({"image": "https://a.example"})),
            "image",
            "unknown_parameter",
        ),
        (
            dalle(json!({"moderation": "low"})),
            "moderation",
            "unknown_parameter",
        ),
        (
            gpt(&json!({"prompt": null})),
            "prompt",
            "missing_required_parameter",
        ),
        (gpt(&json!({"prompt": ""})), "prompt", "empty_string"),
        (
            gpt(&json!({"prompt": "x".repeat(32_001)})),
            "prompt",
            "string_above_max_length",
        ),
        (
            dalle(json!({"prompt": "x".repeat(4_001)})),
            "prompt",
            "string_above_max_length",
        ),
        (gpt(&json!({"n": 0})), "n", "integer_below_min_value"),
        (gpt(&json!({"n": 11})), "n", "integer_above_max_value"),
        (gpt(&json!({"n": "2"})), "n", "invalid_type"),
        (gpt(&json!({"model": "gpt-9"})), "model", "invalid_value"),
        (gpt(&json!({"size": "1000x1000"})), "size", "invalid_value"),
        (first(json!({"size": "1536x864"})), "size", "invalid_value"),
        (dalle(json!({"size": "512x512"})), "size", "invalid_value"),
        (gpt(&json!({"quality": "hd"})), "quality", "invalid_value"),
        (gpt(&json!({"quality": "max"})), "quality", "invalid_value"),
        (
            dalle(json!({"quality": "high"})),
            "quality",
            "invalid_value",
        ),
        (
            gpt(&json!({"output_compression": 50})),
            "output_compression",
            "invalid_png_output_compression",
        ),
        (
            gpt(&json!({"output_format": "webp"})),
            "output_format",
            "simulator_limit",
        ),
        (gpt(&json!({"stream": true})), "stream", "simulator_limit"),
        (
            gpt(&json!({"prompt": "[[image:no]]"})),
            "messages",
            "simulator_directive",
        ),
    ] {
        let got = post(&simulator, MAKE, &request_body).await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status, &error["param"]),
            (400, &json!(param)),
            "{error}"
        );
        assert_eq!(error["code"], code, "{error}");
    }
    let got = post(&simulator, MAKE, &dalle(json!({"n": 2}))).await.json();
    assert_eq!(got["error"]["param"], "n");
    for (model, length) in [
        ("gpt-image-2", 32_000),
        ("dall-e-3", 4_000),
        ("dall-e-2", 1_000),
    ] {
        let request_body = json!({"model": model, "prompt": "x".repeat(length)});
        assert_eq!(
            post(&simulator, MAKE, &request_body).await.status,
            200,
            "{model}"
        );
    }
    let max =
        gpt(&json!({"model": "gpt-image-2.5-flare", "quality": "max", "n": 10, "size": "512x512"}));
    assert_eq!(post(&simulator, MAKE, &max).await.status, 200);
    let got = ask(
        &simulator,
        "POST",
        MAKE,
        "content-type: application/json\r\n",
        b"{}",
    )
    .await;
    assert_eq!(
        (got.status, &got.json()["error"]["type"]),
        (401, &json!("invalid_request_error"))
    );
    let got = ask(&simulator, "GET", MAKE, "authorization: Bearer a\r\n", b"").await;
    assert_eq!(got.status, 405);
}

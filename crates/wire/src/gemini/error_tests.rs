//! Errors in Google's shape.

use super::*;

fn sample() -> ErrorBody {
    ErrorBody {
        status: 429,
        code: "rate_limit_exceeded".to_owned(),
        family: "rate_limit_error",
        message: "slow down".to_owned(),
        param: Some("contents".to_owned()),
        request_id: "r-1".to_owned(),
        retryable: true,
        doc_url: "https://example.com/e".to_owned(),
        retry_after: Some(12),
        extras: [
            ("reason".to_owned(), json!("busy")),
            ("required_usd".to_owned(), json!(1.5)),
        ]
        .into_iter()
        .collect(),
    }
}

// covers: D-3-04
#[test]
fn an_error_has_googles_shape_and_our_words_in_its_details() {
    let body = error_body(&sample());
    let error = &body["error"];
    assert_eq!(error["code"], 429);
    assert_eq!(error["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(error["message"], "slow down");
    assert_eq!(error["required_usd"], 1.5);
    let info = &error["details"][0];
    assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    assert_eq!(info["reason"], "rate_limit_exceeded");
    assert_eq!(info["domain"], "trunkline");
    let metadata = info["metadata"].as_object().unwrap();
    assert!(
        metadata.values().all(Value::is_string),
        "Google's metadata are texts"
    );
    assert_eq!(metadata["request_id"], "r-1");
    assert_eq!(metadata["charged"], "false");
    assert_eq!(metadata["retryable"], "true");
    assert_eq!(metadata["param"], "contents");
    assert_eq!(metadata["required_usd"], "1.5");
    assert_eq!(error["details"][1]["retryDelay"], "12s");
    let plain = ErrorBody {
        retry_after: None,
        ..sample()
    };
    assert_eq!(
        error_body(&plain)["error"]["details"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn every_status_has_googles_word() {
    for (status, word) in [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (402, "FAILED_PRECONDITION"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (413, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ] {
        let body = error_body(&ErrorBody { status, ..sample() });
        assert_eq!(body["error"]["status"], word, "{status}");
    }
}

#[test]
fn an_error_in_a_stream_is_one_frame_that_begins_with_the_error() {
    let frame = String::from_utf8(error_frame(&sample())).unwrap();
    // Google's client for Python looks at the first letters.
    assert!(frame.starts_with("data: {\"error\":"), "{frame}");
    assert!(frame.ends_with("\n\n") && frame.lines().count() == 2);
}

#[test]
fn the_time_to_wait_is_read_out_of_the_error() {
    let retry_after = |delay: &str| {
        let info = json!({ "@type": RETRY, "retryDelay": delay });
        json!({ "error": { "code": 429, "details": [{ "@type": "other" }, info] } })
    };
    let read = |body: &Value| retry_delay(body.to_string().as_bytes());
    for (delay, seconds) in [
        ("7s", Some(7)),
        ("7.0s", Some(7)),
        ("0.25s", Some(1)),
        ("31.8s", Some(32)),
        ("soon", None),
        ("-1s", None),
    ] {
        assert_eq!(read(&retry_after(delay)), seconds, "{delay}");
        assert_eq!(
            read(&json!([retry_after(delay)])),
            seconds,
            "{delay} in a list"
        );
    }
    assert_eq!(read(&json!({ "error": { "code": 429 } })), None);
    assert_eq!(retry_delay(b"<html>"), None);
}

//! Faults in this vendor's clothes: what is sent, what is missing, and what the record says.

use serde_json::{Value, json};
use trunkline_simulator::Fault;

use crate::anthropic::{HEAD, asking, events, message, streaming};
use crate::client::{Response, always, ask, served, started};

fn named(got: &Response, expected: &str) -> Vec<Value> {
    let all = events(got).into_iter();
    let found = all.filter(|(name, _)| name == expected);
    found.map(|(_, data)| data).collect()
}

#[tokio::test]
async fn an_answer_of_every_status_has_its_type_and_the_requests_id() {
    let simulator = started().await;
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ] {
        let got = message(&simulator, &asking(&format!("[[fault:status:{status}]]"))).await;
        assert_eq!(got.status, status);
        let body = got.json();
        assert_eq!(
            (&body["type"], &body["error"]["type"]),
            (&json!("error"), &json!(kind))
        );
        assert_eq!(body["request_id"], got.header("request-id").unwrap());
    }
}

#[tokio::test]
async fn a_limit_says_when_to_come_back() {
    let simulator = started().await;
    simulator.plan(always(Fault::RateLimited {
        retry_after_secs: 7,
    }));
    let got = message(&simulator, &asking("hello")).await;
    assert_eq!((got.status, got.header("retry-after")), (429, Some("7")));
    let left = "anthropic-ratelimit-requests-remaining";
    assert_eq!(got.header(left), Some("0"));
    assert!(
        got.header("anthropic-ratelimit-input-tokens-reset")
            .unwrap()
            .ends_with('Z')
    );
    // A count meets no rule: it is no completion.
    let body = json!({"model": "sim-a", "messages": [{"role": "user", "content": "a"}]});
    let path = "/v1/messages/count_tokens";
    let got = ask(&simulator, "POST", path, HEAD, body.to_string().as_bytes()).await;
    assert_eq!(got.status, 200);
}

#[tokio::test]
async fn a_stream_breaks_where_the_fault_says() {
    for (fault, is_whole, is_closed, count, tokens) in [
        ("close_mid_stream:0", false, true, 0, 0),
        ("close_mid_stream:1", false, true, 1, 0),
        ("close_mid_stream:5", false, true, 5, 2),
        ("hang_mid_stream:5", false, false, 5, 2),
        // All nine of content and the end of the message, and no stop.
        ("no_done", true, true, 10, 5),
        ("truncated_json", true, true, 8, 4),
    ] {
        let simulator = started().await;
        let prompt = format!("[[fault:{fault}]] [[tokens:5]]");
        let got = message(&simulator, &streaming(&prompt)).await;
        assert_eq!(
            (got.is_whole, got.is_closed),
            (is_whole, is_closed),
            "{fault}"
        );
        assert_eq!(events(&got).len(), count, "{fault}: {}", got.text());
        assert!(named(&got, "message_stop").is_empty(), "{fault}");
        let record = served(&simulator, |served| {
            served.completion_tokens == tokens && (!is_closed || served.fault.is_some())
        })
        .await;
        assert!(!record.finished, "{fault}");
    }
}

#[tokio::test]
async fn an_error_can_come_after_a_good_status() {
    let simulator = started().await;
    let got = message(&simulator, &streaming("[[fault:error_frame_mid_stream:4]]")).await;
    assert_eq!(got.status, 200);
    let all = events(&got);
    let (name, data) = all.last().unwrap();
    assert_eq!((all.len(), name.as_str()), (5, "error"));
    let error = json!({"type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(*data, error);
    for prompt in [
        "[[fault:error_inside200]]",
        "[[fault:error_frame_mid_stream]]",
    ] {
        let got = message(&simulator, &asking(prompt)).await;
        assert_eq!((got.status, got.json()), (200, error.clone()), "{prompt}");
    }
    let got = message(&simulator, &asking("[[fault:base_resp:1002]]")).await;
    assert_eq!(got.json()["base_resp"]["status_code"], 1002);
    assert!(simulator.requests().iter().all(|served| !served.finished));
}

#[tokio::test]
async fn usage_can_be_missing_halved_or_a_lie() {
    let simulator = started().await;
    let usage = async |fault: &str| {
        let got = message(
            &simulator,
            &streaming(&format!("[[fault:{fault}]] [[tokens:3]]")),
        )
        .await;
        let start = named(&got, "message_start")[0]["message"]["usage"].clone();
        (start, named(&got, "message_delta")[0]["usage"].clone())
    };
    let (start, end) = usage("no_usage").await;
    assert_eq!((start, end), (Value::Null, Value::Null));
    let (start, end) = usage("split_usage").await;
    assert!(start["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(end, json!({"output_tokens": 3}));
    let (start, end) = usage("lying_usage:10").await;
    assert_eq!(start["input_tokens"].as_u64().unwrap() % 10, 0);
    assert_eq!(end["output_tokens"], 30);
    let truth = simulator.requests();
    let reported: Vec<_> = truth.iter().map(|served| served.told_usage).collect();
    let prompts: Vec<u64> = truth.iter().map(|served| served.prompt_tokens).collect();
    assert_eq!(
        reported,
        [None, Some((prompts[1], 3)), Some((prompts[2] * 10, 30))]
    );
    let whole = message(&simulator, &asking("[[fault:no_usage]]"))
        .await
        .json();
    assert_eq!(whole.get("usage"), None);
}

#[tokio::test]
async fn a_reason_can_be_missing_and_bytes_can_be_odd() {
    let simulator = started().await;
    let got = message(&simulator, &streaming("[[fault:no_finish_reason]]")).await;
    let end = named(&got, "message_delta");
    assert_eq!(end[0]["delta"]["stop_reason"], Value::Null);
    let got = message(
        &simulator,
        &streaming("[[fault:split_bytes:3]] [[tokens:2]]"),
    )
    .await;
    assert!(got.pieces.iter().all(|piece| piece.len() <= 3));
    assert!(got.text().contains("s\u{ef}m2 "));
    let got = message(&simulator, &streaming("[[fault:cr_lf]] [[tokens:2]]")).await;
    assert!(
        got.text()
            .starts_with(": keep-alive\r\n\r\nevent: message_start\r\ndata: ")
    );
    assert_eq!(named(&got, "content_block_delta").len(), 2);
    let got = message(
        &simulator,
        &streaming("[[fault:garbage_frame:3]] [[tokens:2]]"),
    )
    .await;
    assert!(std::str::from_utf8(&got.body).is_err());
    assert_eq!(named(&got, "message_stop").len(), 1);
    let got = message(&simulator, &streaming("[[fault:wrong_content_length]]")).await;
    assert_eq!(got.header("content-length"), Some("1073741824"));
}

#[tokio::test]
async fn floods_have_the_size_that_was_asked_and_are_counted() {
    for (fault, is_stream) in [
        ("gigantic_body:40000", true),
        ("gigantic_frame:40000", true),
        ("gigantic_body:40000", false),
    ] {
        let simulator = started().await;
        let mut body = streaming(&format!("[[fault:{fault}]]"));
        body["stream"] = json!(is_stream);
        let got = message(&simulator, &body).await;
        assert!(got.is_whole);
        assert_eq!(got.text().matches("sim ").count(), 10_000, "{fault}");
        let deltas = named(&got, "content_block_delta").len();
        let expected = match (is_stream, fault) {
            (false, _) => 0,
            (true, "gigantic_body:40000") => 10,
            (true, _) => 1,
        };
        assert_eq!(deltas, expected);
        let record = served(&simulator, |served| served.finished).await;
        assert_eq!(record.completion_tokens, 10_000);
    }
}

#[tokio::test]
async fn a_slow_first_byte_is_late_and_then_all_is_well() {
    let simulator = started().await;
    let before = std::time::Instant::now();
    let got = message(&simulator, &streaming("[[fault:slow_first_byte:300]]")).await;
    assert!(before.elapsed() >= std::time::Duration::from_millis(300));
    assert_eq!(named(&got, "message_stop").len(), 1);
    // The other vendor is slow in the same way.
    let before = std::time::Instant::now();
    let body = crate::client::asking("[[fault:slow_first_byte:300]]");
    let got = crate::client::chat(&simulator, &body).await;
    assert!(before.elapsed() >= std::time::Duration::from_millis(300));
    assert_eq!(got.status, 200);
}

#[tokio::test]
async fn a_fault_before_the_head_leaves_no_byte() {
    let simulator = started().await;
    let got = message(&simulator, &asking("[[fault:close_before_headers]]")).await;
    assert_eq!((got.status, got.is_closed), (0, true));
}

//! The faults in this vendor's clothes: the bytes a client sees, and the record beside them.

use serde_json::{Value, json};
use trunkline_simulator::{Fault, RequestRecord};

use crate::client::{Response, always, ask, served, started};
use crate::gemini::{KEY, call, saying, text_of};

const WHOLE: &str = "generateContent";
const EVENTS: &str = "streamGenerateContent?alt=sse";
const ARRAY: &str = "streamGenerateContent";

/// One answer of four words under a fault, and its record.
async fn under(fault: Fault, verb: &str) -> (Response, RequestRecord) {
    let simulator = started().await;
    simulator.plan(always(fault));
    let got = call(&simulator, "sim-small", verb, &saying("[[tokens:4]]")).await;
    let is_done = |served: &RequestRecord| served.status != 0 || got.status == 0;
    let record = served(&simulator, is_done).await;
    assert_eq!(record.fault, Some(fault));
    (got, record)
}

#[tokio::test]
async fn a_limit_tells_in_its_details_when_to_come_back() {
    let fault = Fault::RateLimited {
        retry_after_secs: 7,
    };
    let (got, record) = under(fault, WHOLE).await;
    let error = &got.json()["error"];
    assert_eq!(
        (got.status, &error["status"]),
        (429, &json!("RESOURCE_EXHAUSTED"))
    );
    let kinds = error["details"].as_array().unwrap();
    assert_eq!(
        kinds[2]["@type"],
        "type.googleapis.com/google.rpc.RetryInfo"
    );
    assert_eq!(kinds[2]["retryDelay"], "7s");
    assert_eq!(got.header("retry-after"), None);
    assert_eq!(
        (record.status, record.prompt_tokens, record.finished),
        (429, 0, true)
    );
    // Where a list was asked for, the error comes in one.
    let (got, _) = under(fault, ARRAY).await;
    assert_eq!(got.json()[0]["error"]["code"], 429);
    let (got, _) = under(fault, EVENTS).await;
    assert_eq!(got.json()["error"]["code"], 429);
}

#[tokio::test]
async fn any_failing_status_has_the_vendors_word() {
    let simulator = started().await;
    for (status, word) in [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ] {
        let body = saying(&format!("[[fault:status:{status}]]"));
        let got = call(&simulator, "sim-small", WHOLE, &body).await;
        let error = &got.json()["error"];
        assert_eq!((got.status, &error["status"]), (status, &json!(word)));
        assert_eq!(error["code"], status);
        let details = error["details"].as_array();
        let is_retry = |one: &Value| one.get("retryDelay").is_some();
        assert!(!details.is_some_and(|all| all.iter().any(is_retry)));
    }
}

#[tokio::test]
async fn a_connection_closes_or_hangs_without_a_byte() {
    let (got, record) = under(Fault::CloseBeforeHeaders, EVENTS).await;
    assert_eq!((got.status, got.is_closed), (0, true));
    assert_eq!((record.finished, record.client_left), (false, false));
    let (got, record) = under(Fault::HangBeforeHeaders, WHOLE).await;
    assert_eq!((got.status, got.is_closed, record.status), (0, false, 0));
}

#[tokio::test]
async fn the_first_byte_comes_late() {
    for verb in [WHOLE, EVENTS] {
        let before = std::time::Instant::now();
        let (got, record) = under(Fault::SlowFirstByte { millis: 300 }, verb).await;
        assert!(before.elapsed().as_millis() >= 300);
        assert_eq!((got.status, record.finished), (200, true));
    }
}

#[tokio::test]
async fn a_stream_is_cut_or_hangs_after_its_chunks_and_has_told_what_it_counted() {
    for verb in [EVENTS, ARRAY] {
        let (got, record) = under(Fault::CloseMidStream { after_frames: 2 }, verb).await;
        assert_eq!((got.is_closed, got.is_whole), (true, false));
        assert!(got.text().contains("sim2 ") && !got.text().contains("sim3 "));
        assert_eq!((record.completion_tokens, record.finished), (2, false));
        assert_eq!(record.told_usage, Some((record.prompt_tokens, 2)));
        let (got, record) = under(Fault::HangMidStream { after_frames: 1 }, verb).await;
        assert_eq!((got.is_closed, got.is_whole), (false, false));
        assert_eq!(record.completion_tokens, 1);
    }
    let (got, record) = under(Fault::CloseMidStream { after_frames: 2 }, WHOLE).await;
    assert_eq!(
        (got.is_closed, got.is_whole, got.body.is_empty()),
        (true, false, false)
    );
    assert_eq!((record.completion_tokens, record.told_usage), (0, None));
}

#[tokio::test]
async fn an_error_in_a_stream_comes_in_a_list() {
    let fault = Fault::ErrorFrameMidStream { after_frames: 2 };
    let (got, record) = under(fault, EVENTS).await;
    let chunks = got.chunks();
    assert!(got.is_whole);
    assert_eq!(
        (chunks.len(), text_of(&chunks[..2]).as_str()),
        (3, "sim1 sim2 ")
    );
    assert_eq!(chunks[2][0]["error"]["status"], "UNAVAILABLE");
    assert_eq!((record.completion_tokens, record.finished), (2, false));
    let (got, record) = under(fault, ARRAY).await;
    assert_eq!(got.json()[2]["error"]["status"], "UNAVAILABLE");
    assert!(!record.finished);
    let (got, _) = under(fault, WHOLE).await;
    assert_eq!(
        (got.status, &got.json()["error"]["code"]),
        (200, &json!(503))
    );
}

#[tokio::test]
async fn an_error_hides_under_a_good_status() {
    for fault in [Fault::ErrorInside200, Fault::BaseResp(2013)] {
        let (got, record) = under(fault, EVENTS).await;
        assert_eq!(
            (got.status, &got.json()[0]["error"]["code"]),
            (200, &json!(503))
        );
        assert_eq!((record.finished, record.told_usage), (false, None));
        let (got, _) = under(fault, WHOLE).await;
        assert_eq!(
            (got.status, &got.json()["error"]["code"]),
            (200, &json!(503))
        );
    }
}

#[tokio::test]
async fn garbage_stands_between_good_chunks_and_documents_end_in_their_middle() {
    let (got, record) = under(Fault::GarbageFrame { after_frames: 2 }, EVENTS).await;
    assert!(got.is_whole && std::str::from_utf8(&got.body).is_err());
    assert_eq!(text_of(&got.chunks()), "sim1 sim2 sim3 sim4 ");
    assert_eq!((record.completion_tokens, record.finished), (4, true));
    for verb in [WHOLE, ARRAY] {
        let (got, _) = under(Fault::GarbageFrame { after_frames: 2 }, verb).await;
        assert!(got.is_whole && serde_json::from_slice::<Value>(&got.body).is_err());
        let (got, record) = under(Fault::TruncatedJson, verb).await;
        assert!(got.is_whole && serde_json::from_slice::<Value>(&got.body).is_err());
        assert!(!record.finished);
    }
    let (got, record) = under(Fault::TruncatedJson, EVENTS).await;
    assert!(got.is_whole);
    assert_eq!(text_of(&got.chunks()), "sim1 sim2 sim3 ");
    assert_eq!((record.completion_tokens, record.finished), (3, false));
}

#[tokio::test]
async fn usage_is_missing_split_or_a_lie() {
    for verb in [EVENTS, WHOLE] {
        let (got, record) = under(Fault::NoUsage, verb).await;
        assert!(!got.text().contains("usageMetadata"));
        assert_eq!((record.told_usage, record.completion_tokens), (None, 4));
        let (got, record) = under(Fault::LyingUsage { factor: 10 }, verb).await;
        assert!(
            got.text()
                .replace(' ', "")
                .contains("\"candidatesTokenCount\":40")
        );
        assert_eq!((record.prompt_tokens, record.completion_tokens), (6, 4));
        assert_eq!(record.told_usage, Some((60, 40)));
    }
    let (got, record) = under(Fault::SplitUsage, EVENTS).await;
    let chunks = got.chunks();
    assert_eq!(chunks[0]["usageMetadata"]["promptTokenCount"], 6);
    assert!(chunks[0]["usageMetadata"].get("totalTokenCount").is_none());
    assert!(chunks[4]["usageMetadata"].get("promptTokenCount").is_none());
    assert_eq!(chunks[4]["usageMetadata"]["candidatesTokenCount"], 4);
    assert_eq!(record.told_usage, Some((6, 4)));
}

#[tokio::test]
async fn ends_go_missing() {
    let (got, record) = under(Fault::NoFinishReason, EVENTS).await;
    assert!(got.is_whole && !got.text().contains("finishReason"));
    assert_eq!((record.completion_tokens, record.finished), (4, true));
    let (got, _) = under(Fault::NoFinishReason, WHOLE).await;
    assert!(got.json()["candidates"][0].get("finishReason").is_none());
    let (got, record) = under(Fault::NoDone, ARRAY).await;
    assert!(got.is_whole && serde_json::from_slice::<Value>(&got.body).is_err());
    assert!(!record.finished);
    // Events have no end mark that could be left out.
    let (got, record) = under(Fault::NoDone, EVENTS).await;
    assert_eq!((got.chunks().len(), record.finished), (5, true));
}

#[tokio::test]
async fn bytes_drip_split_and_lie_about_their_length() {
    for verb in [EVENTS, ARRAY, WHOLE] {
        let before = std::time::Instant::now();
        let (got, record) = under(Fault::SlowDrip { millis: 20 }, verb).await;
        assert!(before.elapsed().as_millis() >= 80);
        assert!(got.is_whole && record.finished);
        let (got, record) = under(Fault::WrongContentLength, verb).await;
        assert_eq!((got.is_closed, got.is_whole), (true, false));
        assert_eq!((record.completion_tokens, record.finished), (4, false));
        let (got, record) = under(Fault::SplitBytes { chunk: 1 }, verb).await;
        assert!(got.text().contains("s\u{ef}m4 "));
        assert!(record.finished);
    }
    let (got, _) = under(Fault::SplitBytes { chunk: 1 }, EVENTS).await;
    assert!(got.pieces.iter().all(|piece| piece.len() == 1));
    let (got, record) = under(Fault::CrLf, EVENTS).await;
    assert!(got.text().starts_with(": keep-alive\r\n\r\ndata: {"));
    assert_eq!((text_of(&got.chunks()).len(), record.finished), (20, true));
}

#[tokio::test]
async fn floods_are_correct_answers_of_their_size() {
    for fault in [
        Fault::GiganticBody { bytes: 1_000_000 },
        Fault::GiganticFrame { bytes: 1_000_000 },
    ] {
        for verb in [EVENTS, ARRAY, WHOLE] {
            let (got, record) = under(fault, verb).await;
            let chunks = match verb {
                EVENTS => got.chunks(),
                ARRAY => got.json().as_array().unwrap().clone(),
                _ => vec![got.json()],
            };
            assert_eq!(text_of(&chunks).len(), 1_000_000, "{fault:?} {verb}");
            let last = chunks.last().unwrap();
            assert_eq!(last["usageMetadata"]["candidatesTokenCount"], 250_000);
            assert_eq!((record.completion_tokens, record.finished), (250_000, true));
        }
    }
}

#[tokio::test]
async fn a_long_answer_has_more_words_in_each_chunk_and_loses_none() {
    let simulator = started().await;
    let body = saying("[[tokens:9000]]");
    let got = call(&simulator, "sim-small", EVENTS, &body).await;
    let chunks = got.chunks();
    assert!(chunks.len() <= 4097, "{}", chunks.len());
    assert_eq!(text_of(&chunks).split_whitespace().count(), 9000);
}

#[tokio::test]
async fn a_bad_request_does_not_spend_a_rule() {
    let simulator = started().await;
    let mut rule = always(Fault::Status(503));
    rule.times = Some(1);
    simulator.plan(rule);
    let mut statuses = Vec::new();
    for body in [json!({}), saying("hello"), saying("hello")] {
        statuses.push(call(&simulator, "sim-small", WHOLE, &body).await.status);
    }
    assert_eq!(statuses, [400, 503, 200]);
    let path = "/v1beta/models/sim-small:generateContent";
    let got = ask(&simulator, "POST", path, KEY, b"{").await;
    assert_eq!(got.json()["error"]["status"], "INVALID_ARGUMENT");
}

//! Faults inside an answer: the bytes a client sees, and the record beside them.

use serde_json::Value;
use trunkline_simulator::{Fault, RequestRecord};

use crate::client::{Response, always, asking, chat, served, started, streaming};

/// One answer under a fault, streamed or whole, and its record.
async fn under(fault: Fault, body: &Value) -> (Response, RequestRecord) {
    let simulator = started().await;
    simulator.plan(always(fault));
    let got = chat(&simulator, body).await;
    let record = served(&simulator, |served| served.status != 0).await;
    assert_eq!(record.fault, Some(fault));
    (got, record)
}

fn four_streamed() -> Value {
    streaming("[[tokens:4]]")
}

fn four_whole() -> Value {
    asking("[[tokens:4]]")
}

#[tokio::test]
async fn a_stream_hangs_after_its_frames() {
    let fault = Fault::HangMidStream { after_frames: 3 };
    let (got, record) = under(fault, &four_streamed()).await;
    assert_eq!((got.is_closed, got.is_whole), (false, false));
    assert_eq!(
        (got.frames().len(), got.content().as_str()),
        (3, "sim1 sim2 ")
    );
    assert_eq!((record.completion_tokens, record.finished), (2, false));
    let (got, record) = under(fault, &four_whole()).await;
    assert_eq!((got.is_closed, got.is_whole), (false, false));
    assert!(!got.body.is_empty());
    assert_eq!((record.completion_tokens, record.told_usage), (0, None));
}

#[tokio::test]
async fn a_stream_is_cut_after_its_frames() {
    let fault = Fault::CloseMidStream { after_frames: 2 };
    let (got, record) = under(fault, &four_streamed()).await;
    assert_eq!((got.is_closed, got.is_whole), (true, false));
    assert_eq!(got.content(), "sim1 ");
    assert_eq!((record.completion_tokens, record.client_left), (1, false));
    let (got, record) = under(fault, &four_whole()).await;
    assert_eq!((got.is_closed, got.is_whole), (true, false));
    assert_eq!((record.finished, record.client_left), (false, false));
}

#[tokio::test]
async fn a_garbage_frame_stands_between_good_ones() {
    let fault = Fault::GarbageFrame { after_frames: 2 };
    let (got, record) = under(fault, &four_streamed()).await;
    assert!(got.is_whole && std::str::from_utf8(&got.body).is_err());
    assert!(serde_json::from_str::<Value>(&got.frames()[2]).is_err());
    assert_eq!(got.content(), "sim1 sim2 sim3 sim4 ");
    assert_eq!((record.completion_tokens, record.finished), (4, true));
    let (got, record) = under(fault, &four_whole()).await;
    assert!(got.is_whole && std::str::from_utf8(&got.body).is_err());
    assert!(!record.finished);
}

#[tokio::test]
async fn truncated_json_ends_as_if_it_were_complete() {
    let (got, record) = under(Fault::TruncatedJson, &four_streamed()).await;
    assert!(got.is_whole);
    assert_eq!(got.content(), "sim1 sim2 sim3 ");
    assert!(serde_json::from_str::<Value>(got.frames().last().unwrap()).is_err());
    assert_eq!((record.completion_tokens, record.finished), (3, false));
    let (got, record) = under(Fault::TruncatedJson, &four_whole()).await;
    assert!(got.is_whole && serde_json::from_slice::<Value>(&got.body).is_err());
    assert_eq!((record.completion_tokens, record.finished), (0, false));
}

#[tokio::test]
async fn an_error_frame_ends_a_stream() {
    let fault = Fault::ErrorFrameMidStream { after_frames: 2 };
    let (got, record) = under(fault, &four_streamed()).await;
    assert!(got.is_whole);
    assert_eq!(got.chunks()[2]["error"]["type"], "server_error");
    assert_eq!((got.frames().len(), got.content().as_str()), (3, "sim1 "));
    assert_eq!((record.completion_tokens, record.finished), (1, false));
    let (got, _) = under(fault, &four_whole()).await;
    assert_eq!(
        (got.status, &got.json()["error"]["type"]),
        (200, &"server_error".into())
    );
}

#[tokio::test]
async fn a_slow_drip_comes_in_pieces_with_pauses() {
    let fault = Fault::SlowDrip { millis: 20 };
    for body in [four_streamed(), four_whole()] {
        let before = std::time::Instant::now();
        let (got, record) = under(fault, &body).await;
        assert!(got.is_whole);
        assert!(before.elapsed().as_millis() >= 140);
        assert_eq!((record.completion_tokens, record.finished), (4, true));
    }
}

#[tokio::test]
async fn a_wrong_content_length_promises_more_than_comes() {
    for body in [four_streamed(), four_whole()] {
        let (got, record) = under(Fault::WrongContentLength, &body).await;
        let promised: usize = got.header("content-length").unwrap().parse().unwrap();
        assert!(promised > got.body.len() && !got.body.is_empty());
        assert_eq!((got.is_closed, got.is_whole), (true, false));
        assert_eq!((record.completion_tokens, record.finished), (4, false));
        assert!(!record.client_left);
    }
}

#[tokio::test]
async fn a_gigantic_body_is_a_correct_answer_of_its_size() {
    let fault = Fault::GiganticBody { bytes: 1_000_000 };
    let (got, record) = under(fault, &four_whole()).await;
    let answer = got.json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(content.len(), 1_000_000);
    assert_eq!(content.split_whitespace().count(), 250_000);
    assert_eq!(answer["usage"]["completion_tokens"], 250_000);
    assert_eq!((record.completion_tokens, record.finished), (250_000, true));
    let (got, record) = under(fault, &four_streamed()).await;
    assert_eq!(got.content().len(), 1_000_000);
    assert_eq!(got.frames().last().unwrap(), "[DONE]");
    assert!(got.frames().len() > 200);
    assert_eq!((record.completion_tokens, record.finished), (250_000, true));
}

#[tokio::test]
async fn a_gigantic_frame_is_one_line() {
    let fault = Fault::GiganticFrame { bytes: 1_000_000 };
    let (got, record) = under(fault, &four_streamed()).await;
    assert_eq!(got.content().len(), 1_000_000);
    // Opening, the frame, finish, usage, done.
    assert_eq!(got.frames().len(), 5);
    assert_eq!((record.completion_tokens, record.finished), (250_000, true));
}

#[tokio::test]
async fn usage_lies_are_told_and_the_truth_is_kept() {
    let fault = Fault::LyingUsage { factor: 10 };
    let (got, record) = under(fault, &four_whole()).await;
    assert_eq!(got.json()["usage"]["completion_tokens"], 40);
    assert_eq!((record.prompt_tokens, record.completion_tokens), (6, 4));
    assert_eq!(record.told_usage, Some((60, 40)));
    let (got, record) = under(fault, &four_streamed()).await;
    assert_eq!(got.chunks().last().unwrap()["usage"]["prompt_tokens"], 60);
    assert_eq!(record.told_usage, Some((60, 40)));
}

#[tokio::test]
async fn usage_is_not_told_although_asked_for() {
    let (got, record) = under(Fault::NoUsage, &four_streamed()).await;
    assert!(got.chunks().iter().all(|chunk| chunk["usage"].is_null()));
    assert_eq!((record.told_usage, record.finished), (None, true));
    let (got, record) = under(Fault::NoUsage, &four_whole()).await;
    assert!(!got.json().as_object().unwrap().contains_key("usage"));
    assert_eq!((record.told_usage, record.completion_tokens), (None, 4));
}

#[tokio::test]
async fn usage_comes_in_two_halves() {
    let (got, record) = under(Fault::SplitUsage, &four_streamed()).await;
    let chunks = got.chunks();
    let [.., first, second] = chunks.as_slice() else {
        panic!("two frames of usage")
    };
    assert_eq!(first["usage"]["prompt_tokens"], 6);
    assert!(first["usage"].get("completion_tokens").is_none());
    assert_eq!(second["usage"]["completion_tokens"], 4);
    assert!(second["usage"].get("prompt_tokens").is_none());
    assert_eq!(record.told_usage, Some((6, 4)));
}

#[tokio::test]
async fn a_stream_ends_without_done() {
    let (got, record) = under(Fault::NoDone, &four_streamed()).await;
    assert!(got.is_whole && !got.text().contains("[DONE]"));
    assert_eq!((record.completion_tokens, record.finished), (4, false));
    assert!(!record.client_left);
}

#[tokio::test]
async fn no_reason_is_given_for_the_end() {
    let (got, record) = under(Fault::NoFinishReason, &four_streamed()).await;
    let chunks = got.chunks();
    let reasons = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["finish_reason"]);
    assert!(reasons.into_iter().all(Value::is_null));
    assert!(record.finished);
    let (got, _) = under(Fault::NoFinishReason, &four_whole()).await;
    assert!(got.json()["choices"][0]["finish_reason"].is_null());
}

#[tokio::test]
async fn bytes_are_cut_inside_lines_and_characters() {
    let fault = Fault::SplitBytes { chunk: 1 };
    let (got, record) = under(fault, &four_streamed()).await;
    assert!(got.pieces.iter().all(|piece| piece.len() == 1));
    let is_inside = |piece: &Vec<u8>| std::str::from_utf8(piece).is_err();
    assert!(got.pieces.iter().any(is_inside));
    assert_eq!(got.content(), "s\u{ef}m1 s\u{ef}m2 s\u{ef}m3 s\u{ef}m4 ");
    assert_eq!((record.completion_tokens, record.finished), (4, true));
}

#[tokio::test]
async fn lines_end_with_crlf_and_comments_stand_between() {
    let (got, record) = under(Fault::CrLf, &four_streamed()).await;
    let text = got.text();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.starts_with(": keep-alive\r\n\r\ndata: {"));
    assert!(text.ends_with("\r\n\r\ndata: [DONE]\r\n\r\n"));
    assert_eq!(got.content(), "sim1 sim2 sim3 sim4 ");
    assert!(record.finished);
}

#[tokio::test]
async fn a_flood_counts_the_reasoning_before_it() {
    let fault = Fault::GiganticBody { bytes: 40_000 };
    for mut body in [streaming("[[reasoning:3]]"), asking("[[reasoning:3]]")] {
        for model in ["sim-small", "sim-reason"] {
            body["model"] = model.into();
            let (_, record) = under(fault, &body).await;
            assert_eq!(record.completion_tokens, 10_003, "{body}");
            assert_eq!(record.told_usage, Some((record.prompt_tokens, 10_003)));
        }
    }
}

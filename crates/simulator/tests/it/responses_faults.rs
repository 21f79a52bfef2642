//! Faults of the Responses API, each seen on the wire and in the record.

use serde_json::{Value, json};
use trunkline_simulator::Fault;

use crate::client::{always, send_to, served, started};
use crate::responses::{PATH, asking, names, respond, streaming, text};

#[tokio::test]
async fn a_fault_before_the_answer_comes_instead_of_it() {
    let simulator = started().await;
    for body in [asking("hello"), streaming("hello")] {
        simulator.clear_plans();
        simulator.plan(always(Fault::RateLimited {
            retry_after_secs: 7,
        }));
        let got = respond(&simulator, &body).await;
        assert_eq!((got.status, got.header("retry-after")), (429, Some("7")));
        simulator.clear_plans();
        simulator.plan(always(Fault::Status(503)));
        assert_eq!(respond(&simulator, &body).await.status, 503);
        simulator.clear_plans();
        simulator.plan(always(Fault::CloseBeforeHeaders));
        let got = respond(&simulator, &body).await;
        assert_eq!((got.status, got.is_closed), (0, true));
        simulator.clear_plans();
        simulator.plan(always(Fault::ErrorInside200));
        let got = respond(&simulator, &body).await;
        assert_eq!(got.status, 200);
        assert_eq!(got.json()["error"]["type"], "server_error");
        simulator.clear_plans();
        simulator.plan(always(Fault::BaseResp(2013)));
        let got = respond(&simulator, &body).await;
        assert_eq!(got.json()["base_resp"]["status_code"], 2013);
    }
}

#[tokio::test]
async fn a_stream_stops_after_so_many_events() {
    let simulator = started().await;
    for (fault, events, is_closed) in [
        (Fault::CloseMidStream { after_frames: 6 }, 6, true),
        (Fault::HangMidStream { after_frames: 6 }, 6, false),
        (Fault::ErrorFrameMidStream { after_frames: 6 }, 7, true),
    ] {
        simulator.clear_plans();
        simulator.clear_requests();
        simulator.plan(always(fault));
        let got = respond(&simulator, &streaming("[[tokens:9]]")).await;
        assert_eq!(names(&got).len(), events, "{fault:?}");
        assert_eq!(got.is_closed, is_closed, "{fault:?}");
        assert_eq!(text(&got), "sim1 sim2 ", "{fault:?}");
        let record = served(&simulator, |served| served.completion_tokens == 2).await;
        assert!(!record.finished, "{fault:?}");
        assert_eq!(record.told_usage, None, "{fault:?}");
        if events == 7 {
            let (name, data) = got.events().pop().unwrap();
            assert_eq!(name, "error");
            assert_eq!(data["sequence_number"], 6);
            assert!(data["message"].is_string());
        }
    }
}

#[tokio::test]
async fn what_a_fault_changes_about_the_telling_is_changed_and_nothing_else() {
    let simulator = started().await;
    let prompt = "[[tokens:3]]";
    let with = |fault: &str| format!("{prompt} [[fault:{fault}]]");
    let last = |body: &Value| body["response"].clone();

    let got = respond(&simulator, &streaming(&with("no_usage"))).await;
    let (_, data) = got.events().pop().unwrap();
    assert_eq!(last(&data)["usage"], Value::Null);
    assert_eq!(last(&data)["status"], "completed");

    let got = respond(&simulator, &streaming(&with("no_finish_reason"))).await;
    let (_, data) = got.events().pop().unwrap();
    assert_eq!(last(&data)["status"], Value::Null);
    assert_eq!(last(&data)["usage"]["output_tokens"], 3);

    let got = respond(&simulator, &asking(&with("lying_usage:10"))).await;
    assert_eq!(got.json()["usage"]["output_tokens"], 30);
    let record = simulator.requests().pop().unwrap();
    assert_eq!(record.completion_tokens, 3);
    assert_eq!(record.told_usage.unwrap().1, 30);

    let got = respond(&simulator, &streaming(&with("no_done"))).await;
    assert_eq!(names(&got).last().unwrap(), "response.output_item.done");
    assert_eq!(
        (text(&got).as_str(), got.is_whole),
        ("sim1 sim2 sim3 ", true)
    );

    let got = respond(&simulator, &streaming(&with("garbage_frame:6"))).await;
    assert_eq!(names(&got).last().unwrap(), "response.completed");
    assert!(std::str::from_utf8(&got.body).is_err());

    let got = respond(&simulator, &streaming(&with("truncated_json"))).await;
    let (_, data) = got.events().pop().unwrap();
    assert_eq!((data, got.is_whole), (Value::Null, true));
    assert_eq!(text(&got), "sim1 sim2 ");

    let got = respond(&simulator, &streaming(&with("cr_lf"))).await;
    assert!(
        got.text()
            .contains(": keep-alive\r\n\r\nevent: response.created\r\ndata: ")
    );
    assert_eq!(text(&got), "sim1 sim2 sim3 ");

    let got = respond(&simulator, &streaming(&with("split_bytes:1"))).await;
    assert!(got.pieces.iter().all(|piece| piece.len() == 1));
    assert_eq!(text(&got), "sïm1 sïm2 sïm3 ");

    let got = respond(&simulator, &streaming(&with("wrong_content_length"))).await;
    assert!(!got.is_whole && got.is_closed);
}

#[tokio::test]
async fn a_whole_response_is_struck_in_its_middle() {
    let simulator = started().await;
    for (fault, is_whole, is_closed) in [
        ("close_mid_stream", false, true),
        ("hang_mid_stream", false, false),
        ("truncated_json", true, true),
        ("garbage_frame", true, true),
        ("wrong_content_length", false, true),
    ] {
        let got = respond(&simulator, &asking(&format!("[[fault:{fault}]]"))).await;
        assert_eq!(
            (got.is_whole, got.is_closed),
            (is_whole, is_closed),
            "{fault}"
        );
        let is_json = serde_json::from_slice::<Value>(&got.body).is_ok();
        assert_eq!(is_json, fault == "wrong_content_length", "{fault}");
    }
}

#[tokio::test]
async fn a_flood_is_a_correct_answer() {
    let simulator = started().await;
    let bytes = 100_000;
    let words = bytes / 4;
    for fault in ["gigantic_body", "gigantic_frame"] {
        simulator.clear_requests();
        let prompt = format!("[[fault:{fault}:{bytes}]]");
        let got = respond(&simulator, &streaming(&prompt)).await;
        assert!(got.is_whole);
        assert_eq!(text(&got).len(), bytes);
        let events = got.events();
        for (number, (_, data)) in events.iter().enumerate() {
            assert_eq!(data["sequence_number"], number, "{fault}");
        }
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "response.completed");
        let content = &data["response"]["output"][0]["content"][0]["text"];
        assert_eq!(content.as_str().unwrap().len(), bytes);
        let deltas = names(&got)
            .iter()
            .filter(|name| *name == "response.output_text.delta")
            .count();
        assert_eq!(deltas, if fault == "gigantic_frame" { 1 } else { 25 });
        let record = served(&simulator, |served| served.finished).await;
        assert_eq!(record.completion_tokens, u64::try_from(words).unwrap());
        simulator.clear_requests();
        let whole = respond(&simulator, &asking(&prompt)).await;
        assert_eq!(whole.header("content-length"), None);
        assert_eq!(whole.json()["usage"]["output_tokens"], words);
        let record = served(&simulator, |served| served.finished).await;
        assert_eq!(record.completion_tokens, u64::try_from(words).unwrap());
    }
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_and_only_what_it_got_is_counted() {
    let simulator = started().await;
    let body = streaming("[[tokens:500]] [[pace:20]]");
    let stream = send_to(&simulator, PATH, &body).await;
    served(&simulator, |served| served.completion_tokens > 2).await;
    drop(stream);
    let record = served(&simulator, |served| served.client_left).await;
    assert!(record.completion_tokens < 500 && !record.finished);
}

#[tokio::test]
async fn a_response_that_fails_has_an_error_and_no_usage() {
    let simulator = started().await;
    let prompt = "[[fail:rate_limit_exceeded]] [[tokens:4]]";
    let got = respond(&simulator, &streaming(prompt)).await;
    let (name, data) = got.events().pop().unwrap();
    assert_eq!(name, "response.failed");
    assert_eq!(data["response"]["error"]["code"], "rate_limit_exceeded");
    assert_eq!(data["response"]["usage"], Value::Null);
    assert_eq!(text(&got), "sim1 sim2 sim3 sim4 ");
    let whole = respond(&simulator, &asking(prompt)).await.json();
    assert_eq!(whole["status"], "failed");
    assert_eq!(whole["output"], json!([]));
}

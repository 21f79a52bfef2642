//! Every paid operation takes the same steps in the same order.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_edge::step::Step;

use crate::generation::form::{Form, wav};
use crate::log::Log;
use crate::response::GatewayResponse;
use crate::test_gateway::{TestGateway, ask, ask_streaming};
use crate::videos::{generation, make, quick};

/// Both parts of the pipeline.
fn whole() -> Vec<&'static str> {
    let steps = Step::ACCEPT.into_iter().chain(Step::EXECUTE);
    steps.map(Step::name).collect()
}

/// The steps of one request, once it is over.
async fn steps(log: &Log, request: &str) -> Vec<String> {
    for _ in 0..200 {
        let text = log.text();
        let lines = text
            .lines()
            .filter(|line| line.contains("trunkline::steps"));
        let mut lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found = lines.find(|line| line["fields"]["request.id"] == request);
        if let Some(line) = found {
            let steps = line["fields"]["steps"].as_str().unwrap();
            return steps.split(' ').map(str::to_owned).collect();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no steps of {request}");
}

async fn check(log: &Log, got: &GatewayResponse, expected: &[&str]) {
    assert_eq!(got.status.as_u16(), 200, "{}", got.text());
    let request = got.headers["x-request-id"].to_str().unwrap();
    assert_eq!(steps(log, request).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_takes_every_step_of_the_pipeline() {
    let log = Log::capture();
    let harness = TestGateway::new().await;
    for body in [ask("hello"), ask_streaming("hello")] {
        let got = harness.chat(&body).await;
        check(&log, &got, &whole()).await;
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_speech_and_transcripts_take_every_step_of_the_pipeline() {
    let log = Log::capture();
    let harness = TestGateway::generation().await;
    let got = harness.draw("brush", "a cat", json!({})).await;
    check(&log, &got, &whole()).await;
    let got = harness.say("voice", "Hello.", json!({})).await;
    check(&log, &got, &whole()).await;
    let form = Form::default().text("model", "ears");
    let form = form.file("file", "talk.wav", "audio/wav", &wav(16_000));
    let got = form.send(&harness, "/v1/audio/transcriptions").await;
    check(&log, &got, &whole()).await;
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn social_data_takes_every_step_and_each_page_is_an_execution() {
    let log = Log::capture();
    let harness = TestGateway::of_social().await;
    let got = harness.look("wechat_channels/search", "keyword=tea").await;
    check(&log, &got, &whole()).await;
    let got = harness
        .look("kuaishou/search/pages", "keyword=a&max_pages=2")
        .await;
    let pages: Vec<Value> = got
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = pages
        .iter()
        .filter_map(|page| page["request_id"].as_str())
        .collect();
    assert_eq!(ids.len(), 2, "{}", got.text());
    // A page is admitted, and executed from there: its request was accepted and priced once.
    let page: Vec<&str> = whole()
        .into_iter()
        .skip_while(|step| *step != "max_cost")
        .collect();
    let page: Vec<&str> = page.into_iter().filter(|step| *step != "detach").collect();
    for id in ids {
        assert_eq!(steps(&log, id).await, page);
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_video_takes_every_step_until_its_vendor_took_it() {
    let log = Log::capture();
    let harness = generation(quick()).await;
    let body = json!({ "model": "wan2.7-t2v", "prompt": "a cat" });
    let got = make(&harness, &body).await;
    // What is relayed and metered is the verdict, which a worker settles.
    let expected = whole().into_iter();
    let expected: Vec<&str> = expected
        .filter(|step| !["relay", "meter"].contains(step))
        .collect();
    check(&log, &got, &expected).await;
    harness.audit().await;
}

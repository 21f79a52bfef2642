//! Traces as a collector receives them: names, parents, attributes, and what a bad collector costs.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use trunkline_simulator::{Fault, Simulator};

use crate::collector::{Collector, SILENT, number, text, texts, value};
use crate::test_gateway::{TestGateway, TestOptions, ask, ask_streaming};
use crate::upstreams::always;

async fn traced(per_thousand: u64) -> (TestGateway, Collector) {
    let collector = Collector::start().await;
    let harness = TestGateway::build(TestOptions {
        traces: Some((collector.url.clone(), per_thousand)),
        ..TestOptions::default()
    })
    .await;
    (harness, collector)
}

/// A number of the admin listener.
async fn metric(harness: &TestGateway, name: &str) -> u64 {
    let page = harness.metrics().await;
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("{name} is not in {page}"));
    line.trim().parse().unwrap()
}

#[tokio::test]
async fn a_whole_call_is_one_server_span_with_one_client_span_below_it() {
    let (harness, collector) = traced(1_000).await;
    let mut body = ask("Hello [[tokens:5]]");
    body["model"] = "public-name".into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    let spans = collector.of_call(&got.id()).await;
    let [call, attempt] = spans.as_slice() else {
        panic!("{spans:#?}");
    };
    assert_eq!(call.name, "chat public-name");
    assert_eq!(call.kind, i32::from(SpanKind::Server));
    assert!(call.parent_span_id.is_empty() && call.status.is_none());
    assert_eq!(text(call, "gen_ai.operation.name").unwrap(), "chat");
    assert_eq!(text(call, "gen_ai.provider.name").unwrap(), "simulator");
    assert_eq!(text(call, "gen_ai.request.model").unwrap(), "public-name");
    assert_eq!(text(call, "gen_ai.response.model").unwrap(), "sim-fast");
    assert_eq!(texts(call, "gen_ai.response.finish_reasons"), ["stop"]);
    let usage = &got.json()["usage"];
    assert_eq!(
        number(call, "gen_ai.usage.input_tokens"),
        usage["prompt_tokens"].as_i64()
    );
    assert_eq!(number(call, "gen_ai.usage.output_tokens"), Some(5));
    assert_eq!(number(call, "trunkline.cost.nanos"), Some(charged));
    assert_eq!(text(call, "trunkline.outcome").unwrap(), "complete");
    assert_eq!(number(call, "http.response.status_code"), Some(200));
    assert_eq!(value(call, "error.type"), None);
    assert_eq!(value(call, "trunkline.ttft_ms"), None, "it came whole");
    assert_eq!(attempt.name, "chat sim-fast");
    assert_eq!(attempt.kind, i32::from(SpanKind::Client));
    assert_eq!(attempt.trace_id, call.trace_id);
    assert_eq!(text(attempt, "trunkline.channel.name").unwrap(), "renamed");
    assert_eq!(text(attempt, "gen_ai.request.model").unwrap(), "sim-fast");
    assert_eq!(number(attempt, "trunkline.attempt.number"), Some(1));
    assert_eq!(number(attempt, "http.response.status_code"), Some(200));
    assert_eq!(value(attempt, "error.type"), None);
    assert!(call.start_time_unix_nano <= attempt.start_time_unix_nano);
    assert!(attempt.start_time_unix_nano < attempt.end_time_unix_nano);
    assert!(attempt.end_time_unix_nano <= call.end_time_unix_nano);
}

#[tokio::test]
async fn a_streamed_call_tells_when_it_began_and_covers_all_of_its_answer() {
    let (harness, collector) = traced(1_000).await;
    harness
        .simulator
        .plan(always(Fault::SlowDrip { millis: 30 }));
    let began = Instant::now();
    let got = harness.chat(&ask_streaming("Tell me [[tokens:12]]")).await;
    let took = began.elapsed();
    assert!(got.text().ends_with("data: [DONE]\n\n"));
    let (_, charged, _, _) = harness.usage(&got.id()).await;
    let spans = collector.of_call(&got.id()).await;
    let [call, attempt] = spans.as_slice() else {
        panic!("{spans:#?}");
    };
    assert_eq!(text(call, "trunkline.outcome").unwrap(), "complete");
    assert_eq!(number(call, "trunkline.cost.nanos"), Some(charged));
    assert_eq!(number(call, "gen_ai.usage.output_tokens"), Some(12));
    assert_eq!(texts(call, "gen_ai.response.finish_reasons"), ["stop"]);
    assert_eq!(text(call, "gen_ai.response.model").unwrap(), "sim-fast");
    let first = number(call, "trunkline.ttft_ms").unwrap();
    let lasted = |span: &opentelemetry_proto::tonic::trace::v1::Span| {
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1_000_000
    };
    assert!(u128::from(lasted(call)) <= took.as_millis());
    assert!(lasted(attempt) > 250, "{} ms", lasted(attempt));
    assert!(first >= 0 && u64::try_from(first).unwrap() < lasted(attempt));
}

#[tokio::test]
async fn a_failover_shows_both_attempts_in_their_order() {
    let (harness, collector) = traced(1_000).await;
    let broken = Simulator::start(Default::default()).await.unwrap();
    broken.plan(always(Fault::Status(503)));
    let models = [("sim-fast", "sim-fast")];
    harness
        .channel("broken", &broken.base_url(), 0, &models)
        .await;
    harness
        .channel("nobody", "http://127.0.0.1:9/v1", 1, &models)
        .await;
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(got.status, 200);
    let spans = collector.of_call(&got.id()).await;
    let [call, first, second, third] = spans.as_slice() else {
        panic!("{spans:#?}");
    };
    assert_eq!(number(call, "trunkline.attempts_count"), Some(3));
    assert_eq!(value(call, "error.type"), None, "it went well in the end");
    let rows = [
        (first, "broken", 1, Some(503), Some("failed")),
        (second, "nobody", 2, None, Some("not_sent")),
        (third, "first", 3, Some(200), None),
    ];
    let mut ids = vec![call.span_id.clone()];
    for (span, channel, attempt, status, error) in rows {
        assert_eq!(text(span, "trunkline.channel.name").unwrap(), channel);
        assert_eq!(number(span, "trunkline.attempt.number"), Some(attempt));
        assert_eq!(number(span, "http.response.status_code"), status);
        assert_eq!(text(span, "error.type").as_deref(), error);
        assert_eq!(span.status.is_some(), error.is_some());
        assert!(!ids.contains(&span.span_id), "every span has its own id");
        ids.push(span.span_id.clone());
    }
    assert!(first.end_time_unix_nano <= second.start_time_unix_nano);
    broken.stop().await;
}

#[tokio::test]
async fn refusals_and_failures_are_told_by_words_of_a_closed_list() {
    let (harness, collector) = traced(1_000).await;
    let stranger = harness
        .chat_with(&ask("Hi"), &[("authorization", "Bearer nonsense")])
        .await;
    let mut unknown = ask("Hi");
    unknown["model"] = "made-up-by-a-caller".into();
    let unknown = harness.chat(&unknown).await;
    let mut hot = ask("Hi");
    hot["temperature"] = 9.into();
    let hot = harness.chat(&hot).await;
    harness
        .simulator
        .plan(always(Fault::CloseMidStream { after_frames: 2 }));
    let broken = harness.chat(&ask_streaming("Hi [[tokens:9]]")).await;
    assert_eq!(broken.status, 200);
    let rows = [
        (&stranger, "invalid_api_key", Some(401), None, 0, false),
        (&unknown, "model_not_found", Some(404), None, 0, false),
        (
            &hot,
            "upstream_refused",
            Some(400),
            Some("refused"),
            1,
            false,
        ),
        (
            &broken,
            "upstream_error",
            Some(200),
            Some("upstream_failed"),
            1,
            true,
        ),
    ];
    for (got, error, status, outcome, attempts, is_ours) in rows {
        let spans = collector.of_call(&got.id()).await;
        let call = &spans[0];
        assert_eq!(text(call, "error.type").unwrap(), error);
        assert_eq!(number(call, "http.response.status_code"), status);
        assert_eq!(text(call, "trunkline.outcome").as_deref(), outcome);
        assert_eq!(spans.len() - 1, attempts);
        assert_eq!(
            call.status.is_some(),
            is_ours,
            "a caller's mistake is not our error"
        );
        assert_eq!(value(call, "trunkline.cost.nanos"), None);
    }
    let spans = collector.of_call(&unknown.id()).await;
    assert_eq!(
        spans[0].name, "chat",
        "a name of the caller's is none of ours"
    );
    let spans = collector.of_call(&broken.id()).await;
    assert_eq!(text(&spans[1], "error.type").unwrap(), "broke_off");
}

#[tokio::test]
async fn the_caller_s_trace_goes_on_and_never_reaches_an_upstream() {
    let (harness, collector) = traced(1_000).await;
    let theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let got = harness
        .chat_with(&ask("Hi"), &[("traceparent", theirs)])
        .await;
    let spans = collector.of_call(&got.id()).await;
    assert_eq!(spans[0].trace_id[..2], [0x0a, 0xf7]);
    assert_eq!(spans[0].parent_span_id[..2], [0xb7, 0xad]);
    assert_eq!(spans[1].trace_id, spans[0].trace_id);
    let seen = format!("{:?}", harness.simulator.requests());
    assert!(!seen.contains("0af7651916cd43dd8448eb211c80319c"));
    let wrong = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
    let got = harness
        .chat_with(&ask("Hi"), &[("traceparent", wrong)])
        .await;
    let spans = collector.of_call(&got.id()).await;
    assert!(spans[0].parent_span_id.is_empty());
    let trace: String = spans[0]
        .trace_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let id = got.id();
    let digits: String = id.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    assert!(digits.ends_with(&trace), "{id} names its trace {trace}");
}

#[tokio::test]
async fn a_ratio_of_calls_is_traced_and_none_if_it_is_zero() {
    let (harness, collector) = traced(500).await;
    for _ in 0..100 {
        harness
            .chat_with(&ask("Hi"), &[("authorization", "Bearer no")])
            .await;
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let spans = collector.spans().len();
    assert!((20..=80).contains(&spans), "{spans} of 100");
    let (harness, collector) = traced(0).await;
    assert_eq!(harness.chat(&ask("Hi")).await.status, 200);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(collector.bodies().is_empty());
}

#[tokio::test]
async fn an_absent_or_silent_collector_delays_no_call_and_drops_are_counted() {
    let (harness, collector) = traced(1_000).await;
    collector.status.store(SILENT, Ordering::SeqCst);
    let began = Instant::now();
    assert_eq!(harness.chat(&ask("Hi")).await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(2));
    // More than the queue and one batch hold.
    let stranger = [("authorization", "Bearer no")];
    for _ in 0..2_800 {
        harness.chat_with(&ask("Hi"), &stranger).await;
    }
    let dropped = metric(
        &harness,
        "trunkline_spans_dropped_total{reason=\"queue_full\"}",
    )
    .await;
    assert!((100..=800).contains(&dropped), "{dropped}");
    assert_eq!(harness.chat(&ask("Hi")).await.status, 200);
    assert_eq!(metric(&harness, "trunkline_spans_exported_total ").await, 0);
    // It comes back, and so do traces.
    collector.status.store(200, Ordering::SeqCst);
    while metric(&harness, "trunkline_spans_exported_total ").await < 2_000 {
        assert!(began.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let away = TestGateway::build(TestOptions {
        traces: Some(("http://127.0.0.1:9/v1/traces".to_owned(), 1_000)),
        ..TestOptions::default()
    })
    .await;
    let began = Instant::now();
    assert_eq!(away.chat(&ask("Hi")).await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(2));
    while metric(&away, "trunkline_spans_dropped_total{reason=\"not_taken\"}").await != 2 {
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn what_waits_when_the_node_stops_is_handed_over_within_a_bound() {
    let (harness, collector) = traced(1_000).await;
    let got = harness.chat(&ask("Hi")).await;
    harness.posted_at_rest().await;
    harness.stop_traces.send_replace(true);
    let began = Instant::now();
    let spans = collector.of_call(&got.id()).await;
    assert_eq!(spans.len(), 2);
    assert!(
        began.elapsed() < Duration::from_millis(900),
        "not by the usual wait"
    );
    let (harness, collector) = traced(1_000).await;
    collector.status.store(SILENT, Ordering::SeqCst);
    harness.chat(&ask("Hi")).await;
    harness.posted_at_rest().await;
    harness.stop_traces.send_replace(true);
    let began = Instant::now();
    while metric(
        &harness,
        "trunkline_spans_dropped_total{reason=\"not_taken\"}",
    )
    .await
        != 2
    {
        assert!(began.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

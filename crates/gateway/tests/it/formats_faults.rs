//! The faults of upstreams in every format and between all of them: what breaks costs nothing and is told
//! in the caller's own shape, what is only strange is charged once.

use std::time::Duration;

use trunkline_gateway::Settings;

use crate::client_decode::{DecodedAnswer, Sse, wrong};
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{
    CoolDowns, FormatPair, error_inside, harness, in_each, is_ending, is_terminal, row_of, same,
    unit,
};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

fn hasty(rests: &CoolDowns) -> TestOptions {
    let short = Duration::from_millis(900);
    TestOptions {
        settings: Settings {
            whole_wait: short,
            stream_idle: short,
            ..Settings::default()
        },
        clock: rests.clock(),
        ..TestOptions::default()
    }
}

async fn struck(harness: &TestGateway, pair: FormatPair, fault: &str) -> GatewayResponse {
    let prompt = format!("Tell me more [[tokens:20]] [[fault:{fault}]]");
    let body = pair.body(CallParams {
        prompt: &prompt,
        ..CallParams::default()
    });
    pair.call_model(harness, &pair.model(), &body, &[]).await
}

fn whole() -> Vec<FormatPair> {
    FormatPair::all()
        .into_iter()
        .filter(|it| !it.stream)
        .collect()
}

/// No answer, or none that was whole: a status of its own, and nothing charged.
async fn refused(
    harness: &TestGateway,
    pair: FormatPair,
    fault: &str,
    expected: (u16, &str, &str),
) -> Result<(), String> {
    let before = harness.posted_at_rest().await;
    let got = struck(harness, pair, fault).await;
    let (status, code, outcome) = expected;
    let reported = |what: String| format!("{fault}: {what}: {}", got.text());
    same("status", got.status.as_u16(), status).map_err(reported)?;
    let error = wrong(pair.caller, &got.json());
    same("code", error.code.as_str(), code).map_err(reported)?;
    same("charged", error.charged.unwrap_or(false), false).map_err(reported)?;
    same("request_id", error.request_id, got.header("request-id")).map_err(reported)?;
    let row = row_of(harness, &got).await;
    same("outcome", row.outcome.as_str(), outcome).map_err(reported)?;
    same("left", harness.posted_at_rest().await, before).map_err(reported)
}

/// An answer that began and did not end as one: the format's own error, no end, nothing charged.
async fn broken(
    harness: &TestGateway,
    pair: FormatPair,
    fault: &str,
    (code, outcome): (&str, &str),
) -> Result<(), String> {
    let before = harness.posted_at_rest().await;
    let got = struck(harness, pair, fault).await;
    let reported = |what: String| format!("{fault}: {what}: {}", got.text());
    same("status", got.status.as_u16(), 200).map_err(reported)?;
    let error = error_inside(&got).ok_or_else(|| reported("no error inside".to_owned()))?;
    let error = wrong(pair.caller, &error);
    same("code", error.code.as_str(), code).map_err(reported)?;
    same("charged", error.charged.unwrap_or(false), false).map_err(reported)?;
    same("request_id", error.request_id, got.header("request-id")).map_err(reported)?;
    let frames = Sse::all(&got.text());
    let ends = frames.iter().filter(|it| is_ending(pair.caller, it));
    same("endings", ends.count(), 0).map_err(reported)?;
    let row = row_of(harness, &got).await;
    same("outcome", row.outcome.as_str(), outcome).map_err(reported)?;
    same("left", harness.posted_at_rest().await, before).map_err(reported)
}

const FAILED: (u16, &str, &str) = (502, "upstream_error", "upstream_failed");
const SILENT: (u16, &str, &str) = (504, "upstream_timeout", "upstream_timeout");

#[tokio::test]
async fn an_upstream_that_is_cut_before_its_answer_is_502_in_every_pair() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        rests.rest();
        refused(harness, pair, "close_before_headers", FAILED).await?;
        rests.rest();
        refused(harness, pair, "error_inside200", FAILED).await
    })
    .await;
}

#[tokio::test]
async fn a_whole_answer_that_is_not_whole_is_502_in_every_pair() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    in_each(&harness, whole(), async |harness, pair| {
        for fault in [
            "close_mid_stream",
            "truncated_json",
            "garbage_frame",
            "wrong_content_length",
        ] {
            rests.rest();
            refused(harness, pair, fault, FAILED).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_upstream_hanging_in_a_buffered_answer_is_504_in_every_pair() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    in_each(&harness, whole(), async |harness, pair| {
        for fault in ["hang_before_headers", "hang_mid_stream"] {
            rests.rest();
            refused(harness, pair, fault, SILENT).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_never_begins_is_504_in_every_format() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    let own = |pair: &FormatPair| pair.caller == pair.upstream;
    let pairs = FormatPair::streamed().into_iter().filter(own).collect();
    in_each(&harness, pairs, async |harness, pair| {
        rests.rest();
        refused(harness, pair, "hang_before_headers", SILENT).await
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_the_formats_error_and_costs_nothing() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    let failed = ("upstream_error", "upstream_failed");
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        for fault in [
            "close_mid_stream:9",
            "garbage_frame:9",
            "error_frame_mid_stream:9",
            "truncated_json",
        ] {
            rests.rest();
            broken(harness, pair, fault, failed).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_hangs_ends_with_the_formats_timeout_and_is_free() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    let silent = ("upstream_timeout", "upstream_timeout");
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        rests.rest();
        broken(harness, pair, "hang_mid_stream:9", silent).await
    })
    .await;
}

#[tokio::test]
async fn streams_that_are_only_strange_are_charged_once_and_exactly() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        for fault in [
            "split_usage",
            "split_bytes:3",
            "cr_lf",
            "slow_drip:2",
            "slow_first_byte:200",
        ] {
            let reported = |what: String| format!("{fault}: {what}");
            let before = harness.posted_at_rest().await;
            let prompt = format!("Tell me more [[tokens:12]] [[fault:{fault}]]");
            let params = CallParams {
                prompt: &prompt,
                ..CallParams::default()
            };
            let (got, received) = pair.ask(harness, params).await.map_err(reported)?;
            same("words", received.text.split_whitespace().count(), 12).map_err(reported)?;
            let (row, _) = pair
                .billed(harness, (&got, &received))
                .await
                .map_err(reported)?;
            let left = harness.posted_at_rest().await;
            same("left", left, before - crate::format_pairs::charged(&row)).map_err(reported)?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_end_mark_that_is_missing_is_the_end_where_the_reason_was_told() {
    let rests = CoolDowns::new();
    let harness = harness(hasty(&rests)).await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        rests.rest();
        if pair.upstream == ClientFormat::Responses {
            // Its last event is the reason itself.
            let failed = ("upstream_error", "upstream_failed");
            return broken(harness, pair, "no_done", failed).await;
        }
        let got = struck(harness, pair, "no_done").await;
        let frames = Sse::all(&got.text());
        let last = frames.last().unwrap();
        same("terminal", is_terminal(pair.caller, last), true)
            .map_err(|what| format!("{what}: {}", got.text()))?;
        let row = row_of(harness, &got).await;
        same("outcome", row.outcome.as_str(), "complete")?;
        same("output", unit(&row, "output"), 20)
    })
    .await;
}

#[tokio::test]
async fn usage_missing_upstream_is_estimated_and_marked_in_every_pair() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let got = struck(harness, pair, "no_usage").await;
        let reported = |what: String| format!("{what}: {}", got.text());
        same("status", got.status.as_u16(), 200).map_err(reported)?;
        let received = DecodedAnswer::of(pair.caller, &got, pair.stream);
        same("words", received.text.split_whitespace().count(), 20).map_err(reported)?;
        let row = row_of(harness, &got).await;
        same("outcome", row.outcome.as_str(), "complete").map_err(reported)?;
        same("estimated", row.estimated, true).map_err(reported)?;
        let output = unit(&row, "output");
        same("output", (10..=60).contains(&output), true)
            .map_err(|what| format!("{what}: {output}"))?;
        same("input", unit(&row, "input") > 0, true)?;
        if pair.stream {
            // What is paid for is shown.
            same("shown output", received.tokens.output, output).map_err(reported)?;
        } else {
            let warnings = got.header("trunkline-warnings").unwrap_or_default();
            same("warned", warnings.contains("usage_estimated"), true).map_err(reported)?;
        }
        Ok(())
    })
    .await;
}

//! The faults of upstreams in every format and between all of them: what breaks costs nothing and is told
//! in the caller's own shape, what is only strange is charged once.

use std::time::Duration;

use trunkline_gateway::Settings;

use crate::format_pairs::{
    FormatPair, CoolDowns, error_inside, house, in_each, is_ending, is_terminal, row_of, same, unit,
};
use crate::client_decode::{DecodedAnswer, Sse, wrong};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};
use crate::client_encode::{ClientFormat, CallParams};

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

async fn struck(house: &TestGateway, couple: FormatPair, fault: &str) -> GatewayResponse {
    let prompt = format!("Tell me more [[tokens:20]] [[fault:{fault}]]");
    let body = couple.body(CallParams {
        prompt: &prompt,
        ..CallParams::default()
    });
    couple.call_model(house, &couple.model(), &body, &[]).await
}

fn whole() -> Vec<FormatPair> {
    FormatPair::all().into_iter().filter(|it| !it.stream).collect()
}

/// No answer, or none that was whole: a status of its own, and nothing charged.
async fn refused(
    house: &TestGateway,
    couple: FormatPair,
    fault: &str,
    expected: (u16, &str, &str),
) -> Result<(), String> {
    let before = house.posted_at_rest().await;
    let got = struck(house, couple, fault).await;
    let (status, code, outcome) = expected;
    let told = |what: String| format!("{fault}: {what}: {}", got.text());
    same("status", got.status.as_u16(), status).map_err(told)?;
    let error = wrong(couple.caller, &got.json());
    same("code", error.code.as_str(), code).map_err(told)?;
    same("charged", error.charged.unwrap_or(false), false).map_err(told)?;
    same("request_id", error.request_id, got.header("request-id")).map_err(told)?;
    let row = row_of(house, &got).await;
    same("outcome", row.outcome.as_str(), outcome).map_err(told)?;
    same("left", house.posted_at_rest().await, before).map_err(told)
}

/// An answer that began and did not end as one: the format's own error, no end, nothing charged.
async fn broken(
    house: &TestGateway,
    couple: FormatPair,
    fault: &str,
    (code, outcome): (&str, &str),
) -> Result<(), String> {
    let before = house.posted_at_rest().await;
    let got = struck(house, couple, fault).await;
    let told = |what: String| format!("{fault}: {what}: {}", got.text());
    same("status", got.status.as_u16(), 200).map_err(told)?;
    let error = error_inside(&got).ok_or_else(|| told("no error inside".to_owned()))?;
    let error = wrong(couple.caller, &error);
    same("code", error.code.as_str(), code).map_err(told)?;
    same("charged", error.charged.unwrap_or(false), false).map_err(told)?;
    same("request_id", error.request_id, got.header("request-id")).map_err(told)?;
    let frames = Sse::all(&got.text());
    let ends = frames.iter().filter(|it| is_ending(couple.caller, it));
    same("endings", ends.count(), 0).map_err(told)?;
    let row = row_of(house, &got).await;
    same("outcome", row.outcome.as_str(), outcome).map_err(told)?;
    same("left", house.posted_at_rest().await, before).map_err(told)
}

const FAILED: (u16, &str, &str) = (502, "upstream_error", "upstream_failed");
const SILENT: (u16, &str, &str) = (504, "upstream_timeout", "upstream_timeout");

#[tokio::test]
async fn an_upstream_that_is_cut_before_its_answer_is_502_in_every_pair() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    in_each(&house, FormatPair::all(), async |house, couple| {
        rests.rest();
        refused(house, couple, "close_before_headers", FAILED).await?;
        rests.rest();
        refused(house, couple, "error_inside200", FAILED).await
    })
    .await;
}

#[tokio::test]
async fn a_whole_answer_that_is_not_whole_is_502_in_every_pair() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    in_each(&house, whole(), async |house, couple| {
        for fault in [
            "close_mid_stream",
            "truncated_json",
            "garbage_frame",
            "wrong_content_length",
        ] {
            rests.rest();
            refused(house, couple, fault, FAILED).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_upstream_hanging_in_a_buffered_answer_is_504_in_every_pair() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    in_each(&house, whole(), async |house, couple| {
        for fault in ["hang_before_headers", "hang_mid_stream"] {
            rests.rest();
            refused(house, couple, fault, SILENT).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_never_begins_is_504_in_every_format() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    let own = |couple: &FormatPair| couple.caller == couple.upstream;
    let couples = FormatPair::streamed().into_iter().filter(own).collect();
    in_each(&house, couples, async |house, couple| {
        rests.rest();
        refused(house, couple, "hang_before_headers", SILENT).await
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_the_formats_error_and_costs_nothing() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    let failed = ("upstream_error", "upstream_failed");
    in_each(&house, FormatPair::streamed(), async |house, couple| {
        for fault in [
            "close_mid_stream:9",
            "garbage_frame:9",
            "error_frame_mid_stream:9",
            "truncated_json",
        ] {
            rests.rest();
            broken(house, couple, fault, failed).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_hangs_ends_with_the_formats_timeout_and_is_free() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    let silent = ("upstream_timeout", "upstream_timeout");
    in_each(&house, FormatPair::streamed(), async |house, couple| {
        rests.rest();
        broken(house, couple, "hang_mid_stream:9", silent).await
    })
    .await;
}

#[tokio::test]
async fn streams_that_are_only_strange_are_charged_once_and_exactly() {
    let house = house(TestOptions::default()).await;
    in_each(&house, FormatPair::streamed(), async |house, couple| {
        for fault in [
            "split_usage",
            "split_bytes:3",
            "cr_lf",
            "slow_drip:2",
            "slow_first_byte:200",
        ] {
            let told = |what: String| format!("{fault}: {what}");
            let before = house.posted_at_rest().await;
            let prompt = format!("Tell me more [[tokens:12]] [[fault:{fault}]]");
            let wanted = CallParams {
                prompt: &prompt,
                ..CallParams::default()
            };
            let (got, heard) = couple.ask(house, wanted).await.map_err(told)?;
            same("words", heard.text.split_whitespace().count(), 12).map_err(told)?;
            let (row, _) = couple.billed(house, (&got, &heard)).await.map_err(told)?;
            let left = house.posted_at_rest().await;
            same("left", left, before - crate::format_pairs::charged(&row)).map_err(told)?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_end_mark_that_is_missing_is_the_end_where_the_reason_was_told() {
    let rests = CoolDowns::new();
    let house = house(hasty(&rests)).await;
    in_each(&house, FormatPair::streamed(), async |house, couple| {
        rests.rest();
        if couple.upstream == ClientFormat::Responses {
            // Its last event is the reason itself.
            let failed = ("upstream_error", "upstream_failed");
            return broken(house, couple, "no_done", failed).await;
        }
        let got = struck(house, couple, "no_done").await;
        let frames = Sse::all(&got.text());
        let last = frames.last().unwrap();
        same("terminal", is_terminal(couple.caller, last), true)
            .map_err(|what| format!("{what}: {}", got.text()))?;
        let row = row_of(house, &got).await;
        same("outcome", row.outcome.as_str(), "complete")?;
        same("output", unit(&row, "output"), 20)
    })
    .await;
}

#[tokio::test]
async fn usage_missing_upstream_is_estimated_and_marked_in_every_pair() {
    let house = house(TestOptions::default()).await;
    in_each(&house, FormatPair::all(), async |house, couple| {
        let got = struck(house, couple, "no_usage").await;
        let told = |what: String| format!("{what}: {}", got.text());
        same("status", got.status.as_u16(), 200).map_err(told)?;
        let heard = DecodedAnswer::of(couple.caller, &got, couple.stream);
        same("words", heard.text.split_whitespace().count(), 20).map_err(told)?;
        let row = row_of(house, &got).await;
        same("outcome", row.outcome.as_str(), "complete").map_err(told)?;
        same("estimated", row.estimated, true).map_err(told)?;
        let output = unit(&row, "output");
        same("output", (10..=60).contains(&output), true)
            .map_err(|what| format!("{what}: {output}"))?;
        same("input", unit(&row, "input") > 0, true)?;
        if couple.stream {
            // What is paid for is shown.
            same("shown output", heard.tokens.output, output).map_err(told)?;
        } else {
            let warnings = got.header("trunkline-warnings").unwrap_or_default();
            same("warned", warnings.contains("usage_estimated"), true).map_err(told)?;
        }
        Ok(())
    })
    .await;
}

//! Money during a stream, in every format and between all of them: clients that disconnect, wallets that
//! run empty, a ledger that cannot be reached, and that no end is sent before its charge is durable.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use tokio::time::timeout;
use trunkline_gateway::Settings;
use trunkline_ledger::usage;
use trunkline_store::PolicyFields;
use trunkline_testkit::all_at_once;
use trunkline_types::RequestId;
use trunkline_upstream::UpstreamResponse;

use crate::client_decode::{DecodedAnswer, Sse, wrong};
use crate::client_encode::{CallParams, ClientFormat, Why};
use crate::format_pairs::{
    FormatPair, charged, cost_of, error_inside, harness, in_each, is_ending, is_terminal, nanos,
    price, row_of, same, unit,
};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions, account};

/// Long enough that all streams have begun before the first one ends.
const LONG: &str = "Go on [[tokens:40]] [[pace:100]]";
/// A whole answer that comes after all calls have been asked for.
const LATE: &str = "Go on [[tokens:40]] [[fault:slow_first_byte:2500]]";
/// Longer than the last of them takes.
const STREAMED: Duration = Duration::from_secs(6);

async fn begin(harness: &TestGateway, pair: FormatPair, prompt: &str) -> UpstreamResponse {
    let body = pair.body(CallParams {
        prompt,
        ..CallParams::default()
    });
    let path = pair.caller.path(&pair.model(), pair.stream);
    let bytes = Bytes::from(body.to_string());
    harness.send(Method::POST, &path, bytes).await
}

/// What has come of an answer until nothing comes any more.
async fn so_far(answer: &mut UpstreamResponse, text: &mut String) {
    let pause = Duration::from_millis(200);
    while let Ok(piece) = timeout(pause, answer.piece()).await {
        let Some(piece) = piece.unwrap() else {
            return;
        };
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
}

/// Waits until the upstream has so many calls: money is held for each of them.
async fn until_asked(harness: &TestGateway, calls: usize) {
    while harness.simulator.requests().len() < calls {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_caller_of_any_format_reads_the_cost_in_the_usage_of_a_whole_answer_as_in_that_of_a_stream()
 {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        let params = CallParams {
            prompt: "Hello [[tokens:5]]",
            ..CallParams::default()
        };
        let mut costs = Vec::new();
        for stream in [false, true] {
            let pair = FormatPair { stream, ..pair };
            let (got, received) = pair.ask(harness, params).await?;
            pair.billed(harness, (&got, &received)).await?;
            costs.push((received.cost, received.cost_details));
        }
        same("cost, whole and streamed", &costs[0], &costs[1])
    })
    .await;
}

#[tokio::test]
async fn a_disconnected_reader_pays_for_received_output_in_every_pair() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        let before = harness.posted_at_rest().await;
        let prompt = "Go on [[tokens:5000]] [[pace:5]]";
        let mut answer = begin(harness, pair, prompt).await;
        let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
        let mut seen = 0;
        while seen < 4_000 {
            seen += answer.piece().await.unwrap().unwrap().len();
        }
        drop(answer);
        let left = harness.posted_at_rest().await;
        let request: RequestId = id.parse().unwrap();
        let row = usage::find(&harness.data, harness.account, request).await;
        let row = row.unwrap().expect("the call is over");
        same("outcome", row.outcome.as_str(), "client_gone")?;
        let output = unit(&row, "output");
        same("some output", (1..5_000).contains(&output), true)?;
        let input = unit(&row, "input") + unit(&row, "cache_read");
        same("input", input > 0, true)?;
        same("charge", charged(&row), price(&row))?;
        same("left", left, before - charged(&row))?;
        for _ in 0..300 {
            if harness.simulator.requests().last().unwrap().client_left {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let truth = harness.simulator.requests().pop().unwrap();
        same("stopped", truth.client_left, true)?;
        same("made", truth.completion_tokens < 5_000, true)
    })
    .await;
}

// covers: D-2-51, D-2-52, D-2-53
#[tokio::test]
async fn money_that_runs_out_ends_a_stream_in_the_callers_form_for_its_length() {
    let settings = Settings {
        tranche_tokens: 40,
        ..Settings::default()
    };
    let harness = harness(TestOptions {
        settings,
        ..TestOptions::default()
    })
    .await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        const WALLET: i64 = 4_000_000;
        let poor = account(&harness.console, WALLET, 0).await;
        let key = harness.key_of(poor, PolicyFields::default()).await;
        let body = pair.body(CallParams {
            prompt: "Go on [[tokens:5000]] [[pace:1]]",
            most: Some(5_000),
            ..CallParams::default()
        });
        let path = pair.caller.path(&pair.model(), true);
        let to = (harness.address, key.as_str());
        let bytes = Bytes::from(body.to_string());
        let got =
            GatewayResponse::read(harness.send_as(to, Method::POST, &path, bytes, &[]).await).await;
        let reported = |what: String| format!("{what}: {}", got.text());
        same("status", got.status.as_u16(), 200).map_err(reported)?;
        same("error", error_inside(&got), None)?;
        let received = DecodedAnswer::of(pair.caller, &got, true);
        same("why", received.why.as_str(), pair.caller.why(Why::Length)).map_err(reported)?;
        let frames = Sse::all(&got.text());
        let last = frames.last().unwrap();
        same("terminal", is_terminal(pair.caller, last), true).map_err(reported)?;
        let request: RequestId = got.id().parse().unwrap();
        let row = usage::find(&harness.data, poor, request).await.unwrap();
        let row = row.expect("the call is over");
        same("outcome", row.outcome.as_str(), "balance_exhausted")?;
        let warned = row.warnings.iter().any(|code| code == "balance_exhausted");
        same("warned", warned, true)?;
        let paid = charged(&row);
        same("paid", paid > 0 && paid <= WALLET, true)?;
        let cost = received.cost.ok_or("no cost in the usage")?;
        same("shown cost", nanos(&format!("{cost:.9}")), paid)?;
        for _ in 0..300 {
            if harness.simulator.requests().last().unwrap().client_left {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err("the upstream was not stopped".to_owned())
    })
    .await;
}

fn whole() -> Vec<FormatPair> {
    FormatPair::all()
        .into_iter()
        .filter(|it| !it.stream)
        .collect()
}

// covers: D-2-59
#[tokio::test]
async fn no_end_of_an_answer_leaves_before_its_charge_is_durable() {
    let harness = harness(TestOptions {
        breakable: true,
        ..TestOptions::default()
    })
    .await;
    let wire = harness.wire.as_ref().unwrap();
    let mut streams = Vec::new();
    for pair in FormatPair::streamed() {
        let answer = begin(&harness, pair, LONG).await;
        assert_eq!(answer.status, 200, "{pair}");
        streams.push((pair, answer, String::new()));
    }
    // Whole answers are on their way when the database falls silent, and none has come.
    let arrived = AtomicUsize::new(0);
    let wholes = whole().into_iter().map(async |pair| {
        let got = GatewayResponse::read(begin(&harness, pair, LATE).await).await;
        arrived.fetch_add(1, Ordering::Relaxed);
        (pair, got)
    });
    let mut wholes = Box::pin(all_at_once(wholes.collect()));
    tokio::select! {
        _ = &mut wholes => panic!("they come later"),
        () = until_asked(&harness, 32) => {}
    }
    wire.black_hole();
    let early = timeout(STREAMED, &mut wholes).await;
    assert!(early.is_err() && arrived.load(Ordering::Relaxed) == 0);
    let served = harness.simulator.requests();
    assert_eq!(served.len(), 32);
    assert!(served.iter().all(|it| it.completion_tokens == 40));
    for (pair, answer, text) in &mut streams {
        so_far(answer, text).await;
        let whole = text.rsplit_once("\n\n").unwrap().0;
        let frames = Sse::all(whole);
        assert!(frames.len() > 10, "{pair}: the words themselves are there");
        let ends = frames.iter().filter(|it| is_ending(pair.caller, it));
        assert_eq!(ends.count(), 0, "{pair}: {text}");
        assert!(!frames.iter().any(|it| cost_of(it).is_some()), "{pair}");
    }
    wire.pass();
    let mut all = wholes.await;
    for (pair, answer, text) in streams {
        let mut got = GatewayResponse::read(answer).await;
        got.body = Bytes::from(format!("{text}{}", got.text()));
        let frames = Sse::all(&got.text());
        let last = frames.last().unwrap();
        assert!(is_terminal(pair.caller, last), "{pair}: {}", got.text());
        all.push((pair, got));
    }
    let mut paid = 0;
    for (pair, got) in all {
        assert_eq!(got.status, 200, "{pair}: {}", got.text());
        let received = DecodedAnswer::of(pair.caller, &got, pair.stream);
        assert_eq!(received.text.split_whitespace().count(), 40, "{pair}");
        let row = row_of(&harness, &got).await;
        assert_eq!(row.outcome, "complete", "{pair}");
        assert_eq!(charged(&row), price(&row), "{pair}");
        paid += charged(&row);
    }
    assert_eq!(
        harness.posted_at_rest().await,
        crate::format_pairs::ALL - paid
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_ledger_outage_ends_an_answer_with_the_formats_error_uncharged() {
    let harness = harness(TestOptions {
        breakable: true,
        ..TestOptions::default()
    })
    .await;
    let wire = harness.wire.as_ref().unwrap();
    let mut streams = Vec::new();
    for pair in FormatPair::streamed() {
        let answer = begin(&harness, pair, LONG).await;
        assert_eq!(answer.status, 200, "{pair}");
        streams.push((pair, answer));
    }
    let wholes = whole().into_iter().map(async |pair| {
        (
            pair,
            GatewayResponse::read(begin(&harness, pair, LATE).await).await,
        )
    });
    let mut wholes = Box::pin(all_at_once(wholes.collect()));
    tokio::select! {
        _ = &mut wholes => panic!("they come later"),
        () = until_asked(&harness, 32) => {}
    }
    wire.refuse();
    let streams = streams
        .into_iter()
        .map(async |(pair, answer)| (pair, GatewayResponse::read(answer).await));
    let (mut all, wholes) = tokio::join!(all_at_once(streams.collect()), wholes);
    all.extend(wholes);
    for (pair, got) in all {
        let error = if pair.stream {
            let frames = Sse::all(&got.text());
            let ends = frames.iter().filter(|it| is_ending(pair.caller, it));
            assert_eq!(ends.count(), 0, "{pair}");
            error_inside(&got).unwrap_or_else(|| panic!("{pair}: {}", got.text()))
        } else {
            assert_eq!(got.status, 503, "{pair}: {}", got.text());
            got.json()
        };
        let error = wrong(pair.caller, &error);
        assert_eq!(error.code, "temporarily_unavailable", "{pair}");
        assert!(!error.charged.unwrap_or(false), "{pair}");
        let word = match pair.caller {
            ClientFormat::Chat | ClientFormat::Responses => "server_error",
            ClientFormat::Messages => "overloaded_error",
            ClientFormat::Gemini => "UNAVAILABLE",
        };
        assert_eq!(error.kind, word, "{pair}");
    }
    wire.pass();
    assert_eq!(harness.posted_at_rest().await, crate::format_pairs::ALL);
    // What the upstream bills is the operator's loss, and written off once the ledger is back.
    let lost = "SELECT reason FROM ledger.write_off";
    assert_eq!(harness.db.ask(lost).await, vec!["database_away"; 32]);
    harness.audit().await;
}

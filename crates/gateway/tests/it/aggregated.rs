//! Whole answers that a small balance would cut: they are assembled from a stream, and money is held as they
//! grow.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use trunkline_catalog::starter;
use trunkline_gateway::Settings;
use trunkline_ledger::accounts::balance;
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_simulator::{Fault, Rule, Settings as SimulatorSettings, Simulator};
use trunkline_store::PolicyFields;
use trunkline_types::{AccountId, Money, RequestId};

use crate::client_decode::DecodedAnswer;
use crate::client_encode::{CallParams, ClientFormat, Why};
use crate::format_pairs::{self, FormatPair, charged, price, same, unit};
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions, account};
use crate::undelivered::{Close, ask_and_leave};

const DOLLAR: i64 = 1_000_000_000;
/// A tenth of this pays for fewer tokens than a usual answer has, in every pair.
pub(crate) const SMALL: i64 = 50_000_000;
const CHAT: &str = "/v1/chat/completions";

/// Callers that may leave the maximum out, beside every upstream.
pub(crate) fn pairs() -> Vec<FormatPair> {
    let all = FormatPair::all().into_iter();
    all.filter(|pair| !pair.stream && pair.caller != ClientFormat::Messages)
        .collect()
}

/// A request without a maximum.
pub(crate) fn asking(pair: FormatPair, params: CallParams<'_>) -> Value {
    without_maximum(pair.body(params))
}

fn without_maximum(mut body: Value) -> Value {
    for field in ["max_completion_tokens", "max_output_tokens", "max_tokens"] {
        body.as_object_mut().unwrap().remove(field);
    }
    if let Some(config) = body.get_mut("generationConfig") {
        config.as_object_mut().unwrap().remove("maxOutputTokens");
    }
    body
}

/// A customer with this much.
pub(crate) async fn customer(harness: &TestGateway, money: i64) -> (AccountId, String) {
    let account = account(&harness.console, money, 0).await;
    let key = harness.key_of(account, PolicyFields::default()).await;
    (account, key)
}

pub(crate) async fn call(
    harness: &TestGateway,
    key: &str,
    path: &str,
    body: &Value,
) -> GatewayResponse {
    let bytes = Bytes::from(body.to_string());
    let to = (harness.address, key);
    GatewayResponse::read(harness.send_as(to, Method::POST, path, bytes, &[]).await).await
}

pub(crate) async fn row_of(
    harness: &TestGateway,
    account: AccountId,
    got: &GatewayResponse,
) -> UsageRow {
    let request: RequestId = got.id().parse().unwrap();
    let row = usage::find(&harness.data, account, request).await;
    row.unwrap().expect("the call is over")
}

#[tokio::test]
async fn an_upstream_that_refuses_or_breaks_off_is_told_as_for_every_whole_answer() {
    let rests = format_pairs::CoolDowns::new();
    let harness = format_pairs::harness(TestOptions {
        clock: rests.clock(),
        ..TestOptions::default()
    })
    .await;
    let (account, key) = customer(&harness, SMALL).await;
    format_pairs::in_each(&harness, pairs(), async |harness, pair| {
        for (fault, status) in [
            ("status:400", 400),
            ("status:503", 502),
            ("rate_limited:3", 429),
            ("close_before_headers", 502),
            ("error_inside200", 502),
            ("close_mid_stream:4", 502),
            ("error_frame_mid_stream:4", 502),
            ("garbage_frame:4", 502),
            ("truncated_json", 502),
        ] {
            rests.rest();
            let prompt = format!("Hello [[tokens:9]] [[fault:{fault}]]");
            let body = asking(
                pair,
                CallParams {
                    prompt: &prompt,
                    ..CallParams::default()
                },
            );
            let path = pair.caller.path(&pair.model(), false);
            let got = call(harness, &key, &path, &body).await;
            let reported = |wrong: String| format!("{fault}: {wrong}: {}", got.text());
            same("status", got.status.as_u16(), status).map_err(reported)?;
            let is_stream = harness.simulator.requests().last().unwrap().stream;
            same("streamed", is_stream, true).map_err(reported)?;
            let row = row_of(harness, account, &got).await;
            same("charged", charged(&row), 0).map_err(reported)?;
        }
        Ok(())
    })
    .await;
    let now = balance(&harness.data, account).await.unwrap().unwrap();
    assert_eq!(
        (now.paid, now.paid_held),
        (Money::from_nanos(SMALL), Money::ZERO)
    );
}

#[tokio::test]
async fn a_refusal_before_the_first_frame_leads_to_the_next_channel() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    let (account, key) = customer(&harness, SMALL).await;
    let broken = Simulator::start(SimulatorSettings::default())
        .await
        .unwrap();
    broken.plan(Rule {
        fault: Fault::Status(503),
        times: None,
        model: None,
        key: None,
        one_in: 1,
    });
    for pair in pairs() {
        let model = pair.model();
        if pair.caller == ClientFormat::Chat {
            let models = [(model.as_str(), "sim-fast")];
            let name = format!("broken-{}", pair.upstream);
            format_pairs::channel_for(&harness, &name, pair.upstream, &broken, 1, &models).await;
        }
        let params = CallParams {
            prompt: "Hello [[tokens:9]]",
            ..CallParams::default()
        };
        let path = pair.caller.path(&model, false);
        let got = call(&harness, &key, &path, &asking(pair, params)).await;
        assert_eq!(got.status, 200, "{pair}: {}", got.text());
        let row = row_of(&harness, account, &got).await;
        assert_eq!(charged(&row), price(&row), "{pair}");
    }
    assert!(broken.requests().iter().any(|request| request.stream));
    harness.audit().await;
}

// covers: D-2-82
#[tokio::test]
async fn where_the_money_ends_the_answer_ends_as_its_length_would_end_it() {
    let settings = Settings {
        tranche_tokens: 256,
        ..Settings::default()
    };
    let harness = format_pairs::harness(TestOptions {
        settings,
        ..TestOptions::default()
    })
    .await;
    format_pairs::in_each(&harness, pairs(), async |harness, pair| {
        let (account, key) = customer(harness, SMALL).await;
        let params = CallParams {
            prompt: "Go on [[tokens:15000]]",
            ..CallParams::default()
        };
        let path = pair.caller.path(&pair.model(), false);
        let got = call(harness, &key, &path, &asking(pair, params)).await;
        let cut: String = got.text().chars().take(400).collect();
        let reported = |wrong: String| format!("{wrong}: {cut}");
        same("status", got.status.as_u16(), 200).map_err(reported)?;
        let received = DecodedAnswer::of(pair.caller, &got, false);
        same("why", received.why.as_str(), pair.caller.why(Why::Length)).map_err(reported)?;
        let words = received.text.split_whitespace().count();
        same("words", words > 800 && words < 15_000, true).map_err(|it| format!("{it} {words}"))?;
        let warned = got.header("trunkline-warnings").unwrap_or_default();
        same("warned", warned.contains("balance_exhausted"), true).map_err(reported)?;
        let row = row_of(harness, account, &got).await;
        same("outcome", row.outcome.as_str(), "balance_exhausted").map_err(reported)?;
        let paid = charged(&row);
        same("paid", paid > SMALL / 10 && paid <= SMALL, true)
            .map_err(|it| reported(format!("{it} {paid}")))?;
        same("shown", received.tokens.output, unit(&row, "output")).map_err(reported)?;
        let left = balance(&harness.data, account).await.unwrap().unwrap();
        same("held", left.paid_held, Money::ZERO)?;
        same("left", left.paid.nanos(), SMALL - paid)
    })
    .await;
}

/// A gateway with little money and a channel whose answers are assembled.
async fn poor() -> TestGateway {
    let harness = TestGateway::with(Settings::default(), SMALL, 0).await;
    let base = harness.simulator.base_url();
    let options = ChannelOptions {
        provider: Some("sim_chat"),
        priority: 1,
        ..ChannelOptions::default()
    };
    let models = [("sim-fast", "sim-fast")];
    harness
        .channel_with("assembled", &base, &models, options)
        .await;
    harness
}

fn ask(prompt: &str) -> Value {
    json!({ "model": "sim-fast", "messages": [{ "role": "user", "content": prompt }] })
}

#[tokio::test]
async fn a_client_that_leaves_while_its_answer_is_assembled_pays_nothing_and_stops_the_upstream() {
    let harness = poor().await;
    let body = ask("Go on [[tokens:500]] [[pace:10]]");
    ask_and_leave(&harness, CHAT, &body, Close::Abrupt).await;
    assert_eq!(harness.posted_at_rest().await, SMALL);
    let outcome = "SELECT outcome FROM ledger.usage";
    assert_eq!(harness.db.ask(outcome).await, ["cancelled"]);
    for _ in 0..300 {
        if harness.simulator.requests()[0].client_left {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let truth = harness.simulator.requests();
    assert!(truth[0].stream && truth[0].client_left);
    assert!(truth[0].completion_tokens < 500);
    harness.audit().await;
}

#[tokio::test]
async fn a_client_that_closed_its_connection_is_refunded_when_its_answer_is_assembled() {
    let harness = poor().await;
    let body = ask("Go on [[tokens:100]] [[pace:10]]");
    ask_and_leave(&harness, CHAT, &body, Close::Quiet).await;
    assert_eq!(harness.posted_at_rest().await, SMALL);
    let truth = harness.simulator.requests();
    assert!(truth[0].stream && truth[0].finished, "it may still read");
    harness.audit().await;
}

#[tokio::test]
async fn an_idempotent_answer_that_was_assembled_is_the_same_when_its_call_comes_again() {
    let harness = poor().await;
    let body = ask("Hello [[tokens:30]]");
    let key = [("idempotency-key", "assembled")];
    let first = harness.chat_with(&body, &key).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let replayed = harness.chat_with(&body, &key).await;
    assert_eq!(replayed.json(), first.json());
    let requests = harness.simulator.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].stream);
    harness.audit().await;
}

#[tokio::test]
async fn a_declared_maximum_is_kept_and_its_answer_is_not_assembled() {
    let harness = poor().await;
    let mut body = ask("Hello [[tokens:30]]");
    body["max_tokens"] = 20.into();
    let got = harness.chat(&body).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.json()["choices"][0]["finish_reason"], "length");
    assert!(!harness.simulator.requests()[0].stream);
    harness.audit().await;
}

/// The starter catalog, and the two of its records that one dollar would cut, at their vendors' providers.
async fn dear_models() -> (TestGateway, [&'static str; 2]) {
    let harness = TestGateway::with(Settings::default(), DOLLAR, 0).await;
    harness.sell_document(starter().unwrap()).await;
    let base = harness.simulator.base_url();
    let models = ["claude-fable-5-1", "gpt-6-astra"];
    for (model, provider) in models.into_iter().zip(["anthropic", "openai"]) {
        let options = ChannelOptions {
            provider: Some(provider),
            ..ChannelOptions::default()
        };
        let served = [(model, "sim-large")];
        harness
            .channel_with(provider, &base, &served, options)
            .await;
    }
    (harness, models)
}

// covers: D-2-82
#[tokio::test]
async fn the_dear_records_of_the_starter_catalog_write_a_usual_answer_on_one_dollar() {
    let (harness, models) = dear_models().await;
    for model in models {
        let (account, key) = customer(&harness, DOLLAR).await;
        let mut body = ask("Hello [[tokens:2048]]");
        body["model"] = model.into();
        let got = call(&harness, &key, CHAT, &body).await;
        assert_eq!(got.status, 200, "{model}: {}", got.text());
        let answer = got.json();
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{model}");
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        assert_eq!(text.split_whitespace().count(), 2_048, "{model}");
        let truth = harness.simulator.requests().pop().unwrap();
        assert!(truth.stream, "{model}");
        assert_eq!(truth.completion_tokens, 2_048, "{model}");
        let row = row_of(&harness, account, &got).await;
        assert_eq!(unit(&row, "output"), truth.completion_tokens, "{model}");
        assert_eq!(unit(&row, "input"), truth.prompt_tokens, "{model}");
        let entry = starter().unwrap().models[model].specs.max_output();
        let sent: Value = serde_json::from_slice(&truth.body).unwrap();
        let most = ["max_tokens", "max_completion_tokens"];
        let most = most.iter().find_map(|field| sent[*field].as_u64());
        assert_eq!(most, Some(entry), "{model}: the model's longest answer");
    }
    harness.audit().await;
}

// covers: D-2-82
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_usual_answers_at_once_never_hold_more_than_the_wallet() {
    let (harness, models) = dear_models().await;
    for model in models {
        let (account, key) = customer(&harness, DOLLAR).await;
        let mut body = ask("Hello [[tokens:2048]] [[pace:1]]");
        body["model"] = model.into();
        let calls = join_all((0..8).map(|_| call(&harness, &key, CHAT, &body)));
        tokio::pin!(calls);
        let mut most = Money::ZERO;
        let answers = loop {
            tokio::select! {
                answers = &mut calls => break answers,
                () = tokio::time::sleep(Duration::from_millis(5)) => {
                    let now = balance(&harness.data, account).await.unwrap().unwrap();
                    assert!(now.paid_held <= now.paid, "{model}: {now:?}");
                    most = most.max(now.paid_held);
                }
            }
        };
        assert!(most > Money::from_nanos(DOLLAR / 4), "{model}: {most}");
        let mut spent = 0;
        for got in &answers {
            assert_eq!(got.status, 200, "{model}: {}", got.text());
            spent += charged(&row_of(&harness, account, got).await);
        }
        let left = balance(&harness.data, account).await.unwrap().unwrap();
        assert_eq!(left.paid.nanos(), DOLLAR - spent, "{model}");
        assert_eq!(left.paid_held, Money::ZERO);
    }
    harness.audit().await;
}

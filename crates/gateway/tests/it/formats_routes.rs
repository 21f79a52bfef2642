//! Several channels for one model: failover between formats, conversations that stay, seals that do not
//! belong, what strict mode refuses, and quotes.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gateway::Settings;
use trunkline_simulator::{Fault, Simulator};
use trunkline_store::channels::{self, ChannelState};

use crate::client_decode::{DecodedAnswer, and_says, wrong};
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{
    FormatPair, channel_for, charged, harness, in_each, last_served, nanos, price, quote, row_of,
    same,
};
use crate::test_gateway::{TestGateway, TestOptions};
use crate::upstreams::always;

const MANY: &str = "gemini-to-many";
const THINKER: &str = "gemini-think-many";
const MODELS: [(&str, &str); 2] = [(MANY, "sim-fast"), (THINKER, "sim-reason")];

async fn simulator() -> Simulator {
    Simulator::start(Default::default()).await.unwrap()
}

/// A request for a model that several channels serve.
fn asking(pair: FormatPair, model: &str, params: CallParams<'_>) -> Value {
    let stream = pair.stream;
    pair.caller.body(model, &CallParams { stream, ..params })
}

/// Takes channels away again, however a try with them went.
async fn without(
    harness: &TestGateway,
    names: &[String],
    tried: Result<(), String>,
) -> Result<(), String> {
    for name in names {
        drain(harness, name).await;
    }
    tried
}

async fn drain(harness: &TestGateway, name: &str) {
    let mut tx = harness.console.begin().await.unwrap();
    let Some(found) = channels::find(&mut tx, name).await.unwrap() else {
        return;
    };
    let state = ChannelState::Draining;
    channels::set_state(&mut tx, found.id, state).await.unwrap();
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
}

// covers: D-7-CHAT-15
#[tokio::test]
async fn a_call_fails_over_between_a_channel_of_its_format_and_one_of_another() {
    for fault in [
        Fault::Status(500),
        Fault::RateLimited {
            retry_after_secs: 1,
        },
        Fault::CloseBeforeHeaders,
        Fault::HangBeforeHeaders,
    ] {
        let settings = Settings {
            whole_wait: Duration::from_millis(1_500),
            ..Settings::default()
        };
        let harness = harness(TestOptions {
            settings,
            ..TestOptions::default()
        })
        .await;
        let mut pairs = FormatPair::all();
        pairs.retain(|pair| pair.caller != pair.upstream);
        // A stream waits for its first byte as long as the provider's file says; a whole answer less here.
        pairs.retain(|pair| !(pair.stream && fault == Fault::HangBeforeHeaders));
        in_each(&harness, pairs, async |harness, pair| {
            // First the caller's own format fails over to another, then the other way round.
            for (first, second) in [(pair.caller, pair.upstream), (pair.upstream, pair.caller)] {
                let (bad, good) = (simulator().await, simulator().await);
                bad.plan(always(fault));
                let names = [
                    format!("bad {pair} {first}"),
                    format!("good {pair} {first}"),
                ];
                channel_for(harness, &names[0], first, &bad, 0, &MODELS).await;
                channel_for(harness, &names[1], second, &good, 10, &MODELS).await;
                let tried = async {
                    let before = harness.posted_at_rest().await;
                    let body = asking(
                        pair,
                        MANY,
                        CallParams {
                            prompt: "Hello [[tokens:4]]",
                            ..CallParams::default()
                        },
                    );
                    let (got, received) = pair.ask_again(harness, MANY, &body).await?;
                    same("words", received.text.split_whitespace().count(), 4)?;
                    let row = row_of(harness, &got).await;
                    let truth = last_served(&good).await?;
                    same("asked first", bad.requests().len(), 1)?;
                    same("asked then", good.requests().len(), 1)?;
                    same(
                        "shown output",
                        received.tokens.output,
                        truth.completion_tokens,
                    )?;
                    same("charge", charged(&row), price(&row))?;
                    let left = harness.posted_at_rest().await;
                    same("one charge", left, before - charged(&row))?;
                    Ok(())
                };
                without(harness, &names, tried.await).await?;
            }
            Ok(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_conversation_stays_with_its_channel_and_others_go_elsewhere() {
    let harness = harness(TestOptions::default()).await;
    let own: Vec<FormatPair> = FormatPair::all()
        .into_iter()
        .filter(|it| !it.stream)
        .collect();
    in_each(&harness, own, async |harness, pair| {
        let (one, two) = (simulator().await, simulator().await);
        let names = [format!("one {pair}"), format!("two {pair}")];
        channel_for(harness, &names[0], pair.upstream, &one, 0, &MODELS).await;
        channel_for(harness, &names[1], pair.upstream, &two, 0, &MODELS).await;
        let tried = async {
            for number in 0..12 {
                let before = (one.requests().len(), two.requests().len());
                let prompt = format!("Talk {number} about ships [[tokens:3]]");
                let mut body = asking(
                    pair,
                    MANY,
                    CallParams {
                        prompt: &prompt,
                        ..CallParams::default()
                    },
                );
                for turn in 0..3 {
                    let (_, received) = pair.ask_again(harness, MANY, &body).await?;
                    body = received.sent_back(pair.caller, body);
                    body = and_says(pair.caller, body, &format!("And then? {turn}"));
                }
                let went = (
                    one.requests().len() - before.0,
                    two.requests().len() - before.1,
                );
                same("stays", went == (3, 0) || went == (0, 3), true)
                    .map_err(|what| format!("{what}: {went:?}"))?;
            }
            let spread = !one.requests().is_empty() && !two.requests().is_empty();
            same("spread", spread, true)?;
            Ok(())
        };
        without(harness, &names, tried.await).await
    })
    .await;
}

#[tokio::test]
async fn a_reasoning_block_is_sticky_and_dropped_elsewhere_with_a_warning() {
    let harness = harness(TestOptions::default()).await;
    let mut pairs = FormatPair::all();
    pairs.retain(|pair| pair.upstream != ClientFormat::Chat);
    in_each(&harness, pairs, async |harness, pair| {
        let (one, two) = (simulator().await, simulator().await);
        let names = [format!("one {pair}"), format!("two {pair}")];
        channel_for(harness, &names[0], pair.upstream, &one, 10, &MODELS).await;
        let tried = async {
            let params = CallParams {
                prompt: "Think about it [[reasoning:6]] [[tool:get_weather]]",
                tools: true,
                thinks: true,
                ..CallParams::default()
            };
            let body = asking(pair, THINKER, params);
            let (_, received) = pair.ask_again(harness, THINKER, &body).await?;
            let next = received.sent_back(pair.caller, body);
            // A channel that would be asked first, were there no thoughts of another.
            channel_for(harness, &names[1], pair.upstream, &two, 0, &MODELS).await;
            let (got, _) = pair.ask_again(harness, THINKER, &next).await?;
            same(
                "asked at home",
                (one.requests().len(), two.requests().len()),
                (2, 0),
            )?;
            let row = row_of(harness, &got).await;
            let dropped = row
                .warnings
                .iter()
                .any(|code| code == "translation_dropped");
            same("warned", dropped, false)?;
            drain(harness, &names[0]).await;
            let (got, _) = pair.ask_again(harness, THINKER, &next).await?;
            same("asked elsewhere", two.requests().len(), 1)?;
            let sent = String::from_utf8(two.requests()[0].body.to_vec()).unwrap();
            same("mark", sent.contains("tlsig1"), false)?;
            let warnings = got.header("trunkline-warnings").unwrap_or_default();
            same("warned", warnings.contains("translation_dropped"), true)
                .map_err(|what| format!("{what}: {warnings:?}"))?;
            let strict = [("trunkline-strict", "true")];
            let got = pair.call_model(harness, THINKER, &next, &strict).await;
            same("strict", got.status.as_u16(), 400)
                .map_err(|it| format!("{it}: {}", got.text()))?;
            same("asked", two.requests().len(), 1)?;
            Ok(())
        };
        without(harness, &names, tried.await).await
    })
    .await;
}

fn lost(warnings: &[String]) -> bool {
    warnings.iter().any(|code| code.starts_with("translation_"))
}

/// A field of the caller's format that an upstream's other format does not have.
fn unspeakable(pair: FormatPair) -> (&'static str, Value) {
    match (pair.caller, pair.upstream) {
        (ClientFormat::Chat, _) => ("logit_bias", json!({ "50256": -100 })),
        (ClientFormat::Messages, ClientFormat::Gemini) => ("inference_geo", json!("global")),
        (ClientFormat::Messages, _) => ("top_k", json!(5)),
        (ClientFormat::Responses, _) => ("truncation", json!("auto")),
        (ClientFormat::Gemini, _) => (
            "safetySettings",
            json!([{ "category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE" }]),
        ),
    }
}

#[tokio::test]
async fn untranslatable_fields_warn_and_are_refused_by_name_in_strict_mode() {
    let harness = harness(TestOptions::default()).await;
    let mut pairs = FormatPair::all();
    pairs.retain(|pair| pair.caller != pair.upstream);
    in_each(&harness, pairs, async |harness, pair| {
        let (field, value) = unspeakable(pair);
        let mut body = pair.body(CallParams {
            prompt: "Hello [[tokens:3]]",
            most: Some(50),
            ..CallParams::default()
        });
        body[field] = value;
        let model = pair.model();
        let got = pair.call_model(harness, &model, &body, &[]).await;
        same("status", got.status.as_u16(), 200).map_err(|it| format!("{it}: {}", got.text()))?;
        let warnings = got.header("trunkline-warnings").unwrap_or_default();
        same(
            "warned",
            warnings.contains("codes=translation_dropped"),
            true,
        )
        .map_err(|what| format!("{what}: {warnings:?}"))?;
        let row = row_of(harness, &got).await;
        same("row", lost(&row.warnings), true)?;
        let quoted = quote(harness, pair, &model, &body).await.json();
        let noted = quoted["fields"].as_array().into_iter().flatten();
        let noted = noted.filter(|note| note["field"] == field);
        same("noted", noted.count(), 1).map_err(|what| format!("{what}: {quoted:#}"))?;
        let requests = harness.simulator.requests().len();
        let before = harness.posted_at_rest().await;
        let strict = [("trunkline-strict", "true")];
        let got = pair.call_model(harness, &model, &body, &strict).await;
        let reported = |what: String| format!("{what}: {}", got.text());
        same("status", got.status.as_u16(), 400).map_err(reported)?;
        let error = wrong(pair.caller, &got.json());
        same("code", error.code.as_str(), "translation_dropped").map_err(reported)?;
        match pair.caller {
            ClientFormat::Chat | ClientFormat::Responses | ClientFormat::Gemini => {
                same("param", error.param.as_deref(), Some(field)).map_err(reported)?;
            }
            ClientFormat::Messages => {
                same("field", error.message.contains(&format!("`{field}`")), true)
                    .map_err(reported)?;
            }
        }
        same("asked", harness.simulator.requests().len(), requests)?;
        same("left", harness.posted_at_rest().await, before)
    })
    .await;
}

#[tokio::test]
async fn a_charge_lies_within_the_quote_of_its_call_in_every_pair() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let body = pair.body(CallParams {
            prompt: "Tell me about the harbour [[tokens:9]]",
            system: Some("Be brief"),
            tools: true,
            most: Some(300),
            ..CallParams::default()
        });
        let model = pair.model();
        let before = harness.posted_at_rest().await;
        let quoted = quote(harness, pair, &model, &body).await;
        same("status", quoted.status.as_u16(), 200)
            .map_err(|it| format!("{it}: {}", quoted.text()))?;
        let quoted = quoted.json();
        same("free", harness.posted_at_rest().await, before)?;
        let lines = quoted["lines"].as_array().ok_or("no lines")?;
        same("lines", lines.len() >= 2, true)?;
        same("codes", quoted["warnings"].is_array(), true)?;
        let id = quoted["id"].as_str().ok_or("no id")?;
        let locked = [("trunkline-quote", id)];
        let got = pair.call_model(harness, &model, &body, &locked).await;
        same("status", got.status.as_u16(), 200).map_err(|it| format!("{it}: {}", got.text()))?;
        let received = DecodedAnswer::of(pair.caller, &got, pair.stream);
        let (row, _) = pair.billed(harness, (&got, &received)).await?;
        let (least, most) = (&quoted["minimum_usd"], &quoted["maximum_usd"]);
        let usd = |value: &Value| nanos(value.as_str().unwrap());
        let bounds = usd(least)..=usd(most);
        same("within", bounds.contains(&charged(&row)), true)
            .map_err(|what| format!("{what}: {} {quoted:#}", charged(&row)))?;
        let mut other = body.clone();
        other["stop"] = json!("no");
        let got = pair.call_model(harness, &model, &other, &locked).await;
        same("another body", got.status.as_u16(), 409)
    })
    .await;
}

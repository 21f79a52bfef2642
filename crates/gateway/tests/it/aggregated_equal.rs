//! Whole answers assembled from a stream are JSON-equal to the whole ones: as a vendor sends them, and as callers
//! of the gateway get them.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_wire::{Assembler, Ending, Format, Frames};

use crate::aggregated::{SMALL, asking, call, customer, pairs, row_of};
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{self, charged, price, same};
use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};

/// What differs between two answers to one question: names and seals that a vendor makes for each, and times.
fn comparable(mut answer: Value) -> Value {
    const NAMES: [&str; 10] = [
        "data",
        "thoughtSignature",
        "id",
        "call_id",
        "item_id",
        "created",
        "created_at",
        "completed_at",
        "responseId",
        "encrypted_content",
    ];
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (field, value) in map {
                    if NAMES.contains(&field.as_str()) {
                        *value = json!(value.is_null());
                    } else {
                        walk(value);
                    }
                }
            }
            Value::Array(list) => list.iter_mut().for_each(walk),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    walk(&mut answer);
    answer
}

/// What an upstream can be asked to say, with what the request brings.
fn scripts(upstream: ClientFormat) -> Vec<(String, CallParams<'static>)> {
    let plain = CallParams::default();
    let tools = CallParams {
        tools: true,
        ..plain
    };
    let thinks = CallParams {
        thinks: true,
        ..plain
    };
    let mut scripts = vec![
        ("[[tokens:40]]".to_owned(), plain),
        ("[[tokens:1]]".to_owned(), plain),
        ("[[refusal:7]]".to_owned(), plain),
        ("[[cached:3]] [[tokens:9]]".to_owned(), plain),
        (upstream.filtered().to_owned(), plain),
        ("[[tool:get_weather]]".to_owned(), tools),
        (upstream.calls_at_once().to_owned(), tools),
        (
            "[[tokens:3]]".to_owned(),
            CallParams {
                schema: true,
                ..plain
            },
        ),
        ("[[reasoning:6]] [[tokens:5]]".to_owned(), thinks),
        (
            "[[reasoning:6]] [[tool:get_weather]]".to_owned(),
            CallParams {
                tools: true,
                ..thinks
            },
        ),
    ];
    let faults = [
        "no_usage",
        "split_usage",
        "lying_usage:3",
        "split_bytes:3",
        "cr_lf",
    ];
    // Anthropic's streams without sums at their end are of the past, and said less than whole answers do.
    let is_past = |fault: &str| fault == "split_usage" && upstream == ClientFormat::Messages;
    for fault in faults.into_iter().filter(|fault| !is_past(fault)) {
        scripts.push((format!("[[tokens:12]] [[fault:{fault}]]"), plain));
    }
    let own: &[&str] = match upstream {
        ClientFormat::Chat => &["[[cache_write:7]]", "[[served_tier:flex]]"],
        ClientFormat::Messages => &[
            "[[citations:2]]",
            "[[stop:pause_turn]]",
            "[[stop:refusal]]",
            "[[written_5m:10]] [[written_1h:20]]",
        ],
        ClientFormat::Responses => &["[[cite:2]]", "[[cache_write:7]]"],
        ClientFormat::Gemini => &[
            "[[block:SAFETY]]",
            "[[finish:RECITATION]]",
            "[[answer_detail:IMAGE:25]]",
            "[[prompt_detail:IMAGE:258]]",
            "[[tool_prompt:9]]",
        ],
    };
    scripts.extend(own.iter().map(|one| ((*one).to_owned(), plain)));
    if upstream == ClientFormat::Messages {
        scripts.push(("[[redacted:4]] [[tokens:5]]".to_owned(), thinks));
    }
    scripts
}

const fn format_of(client_format: ClientFormat) -> Format {
    match client_format {
        ClientFormat::Chat => Format::OpenaiChat,
        ClientFormat::Messages => Format::ClaudeMessages,
        ClientFormat::Responses => Format::OpenaiResponses,
        ClientFormat::Gemini => Format::Gemini,
    }
}

/// The answer of the simulator itself; the first word is another one, since it remembers prompts.
async fn from_vendor(
    harness: &TestGateway,
    format: ClientFormat,
    params: CallParams<'_>,
    body: impl Fn(Value) -> Value,
) -> GatewayResponse {
    let word = if params.stream { "one" } else { "two" };
    let prompt = format!("{word} {}", params.prompt);
    let model = if params.thinks {
        "sim-reason"
    } else {
        "sim-fast"
    };
    let params = CallParams {
        prompt: &prompt,
        ..params
    };
    let body = body(format.body(model, &params)).to_string();
    let path = format.path(model, params.stream);
    let version = ("anthropic-version", "2023-06-01");
    let keys = [("x-api-key", "a-key"), ("x-goog-api-key", "a-key"), version];
    let to = (harness.simulator.address(), "a-key");
    let sent = harness.send_as(to, Method::POST, &path, Bytes::from(body), &keys);
    GatewayResponse::read(sent.await).await
}

fn assembled(format: ClientFormat, stream: &[u8]) -> Value {
    let (mut frames, mut assembler) = (
        Frames::default(),
        Assembler::new(format_of(format), 10_000_000),
    );
    frames.push(stream);
    while let Ok(Some(frame)) = frames.take() {
        assembler.push(&frame);
    }
    frames.rest().iter().for_each(|frame| assembler.push(frame));
    let body = assembler.finish(Ending::Upstream).unwrap();
    serde_json::from_slice(&body).unwrap()
}

// covers: D-2-82
#[tokio::test]
async fn what_a_vendor_streams_is_assembled_to_what_it_sends_whole() {
    let harness = TestGateway::new().await;
    let mut compared = 0;
    for format in ClientFormat::ALL {
        for (script, params) in scripts(format) {
            let params = CallParams {
                prompt: &script,
                ..params
            };
            let same_body = |body| body;
            let whole = from_vendor(&harness, format, params, same_body).await;
            let streamed = CallParams {
                stream: true,
                ..params
            };
            let stream = from_vendor(&harness, format, streamed, same_body).await;
            assert_eq!(whole.status, stream.status, "{format} {script}");
            assert_eq!(whole.status, 200, "{format} {script}: {}", whole.text());
            assert_eq!(
                comparable(assembled(format, &stream.body)),
                comparable(whole.json()),
                "{format} {script}"
            );
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[tokio::test]
async fn several_choices_are_assembled_to_what_a_vendor_sends_whole() {
    let harness = TestGateway::new().await;
    let three = |mut body: Value| {
        body["n"] = 3.into();
        body
    };
    for tools in [false, true] {
        let params = CallParams {
            prompt: if tools {
                "[[tool:get_tide]]"
            } else {
                "[[tokens:4]]"
            },
            tools,
            ..CallParams::default()
        };
        let whole = from_vendor(&harness, ClientFormat::Chat, params, three).await;
        let streamed = CallParams {
            stream: true,
            ..params
        };
        let stream = from_vendor(&harness, ClientFormat::Chat, streamed, three).await;
        let assembled = assembled(ClientFormat::Chat, &stream.body);
        assert_eq!(assembled["choices"].as_array().unwrap().len(), 3);
        assert_eq!(comparable(assembled), comparable(whole.json()));
    }
}

// covers: D-2-82
#[tokio::test]
async fn a_caller_with_a_small_balance_gets_the_same_whole_answer_as_one_with_a_large_one() {
    let harness = format_pairs::harness(TestOptions::default()).await;
    let (account, key) = customer(&harness, SMALL).await;
    format_pairs::in_each(&harness, pairs(), async |harness, pair| {
        for (script, params) in scripts(pair.upstream) {
            let model = if params.thinks {
                pair.thinker()
            } else {
                pair.model()
            };
            let path = pair.caller.path(&model, false);
            let ask = |word: &str| {
                let prompt = format!("{word} {script}");
                let prompt = prompt.as_str();
                asking(pair, CallParams { prompt, ..params })
            };
            let whole = call(harness, &harness.key, &path, &ask("large")).await;
            let is_whole = !harness.simulator.requests().last().unwrap().stream;
            same("large balance, whole", is_whole, true)?;
            let got = call(harness, &key, &path, &ask("small")).await;
            let is_stream = harness.simulator.requests().last().unwrap().stream;
            let reported = |wrong: String| format!("{script}: {wrong}");
            same("small balance, streamed", is_stream, true).map_err(reported)?;
            same("status", got.status, whole.status).map_err(reported)?;
            same(
                "kind",
                got.header("content-type"),
                whole.header("content-type"),
            )?;
            let warnings = |it: &GatewayResponse| it.header("trunkline-warnings");
            same("warnings", warnings(&got), warnings(&whole)).map_err(reported)?;
            same("answer", comparable(got.json()), comparable(whole.json())).map_err(reported)?;
            if got.status == 200 {
                let (row, cost) = (row_of(harness, account, &got).await, "trunkline-cost-usd");
                same("cost", got.header(cost), whole.header(cost)).map_err(reported)?;
                same("outcome", row.outcome.as_str(), "complete").map_err(reported)?;
                same("charge", charged(&row), price(&row)).map_err(reported)?;
            }
        }
        Ok(())
    })
    .await;
}

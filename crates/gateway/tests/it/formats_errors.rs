//! Errors in the format of the endpoint that was called: status, our code, the format's own code, the
//! request's id, and that nothing was charged.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_store::PolicyFields;

use crate::client_decode::{Sse, wrong};
use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{
    ALL, CoolDowns, FormatPair, error_inside, harness, in_each, is_ending, row_of, same,
};
use crate::test_gateway::{CANARY, GatewayResponse, TestGateway, TestOptions};

/// One row of the error table.
struct Row {
    status: u16,
    code: &'static str,
    /// Anthropic's code, and Google's.
    words: [&'static str; 2],
    /// OpenAI's `type`.
    family: &'static str,
    param: Option<&'static str>,
}

fn ask(pair: FormatPair) -> Value {
    pair.body(CallParams {
        prompt: "Hello [[tokens:3]]",
        ..CallParams::default()
    })
}

fn callers() -> Vec<FormatPair> {
    let all = FormatPair::all().into_iter();
    all.filter(|pair| pair.caller == pair.upstream).collect()
}

/// Whether an answer is this error, in the caller's shape.
fn is(pair: FormatPair, got: &GatewayResponse, row: &Row) -> Result<(), String> {
    let text = got.text();
    let reported = |what: String| format!("{what}: {text}");
    same("status", got.status.as_u16(), row.status).map_err(reported)?;
    is_shaped(pair, got, &got.json(), row)?;
    same("secret", text.contains(CANARY), false)
}

fn is_shaped(
    pair: FormatPair,
    got: &GatewayResponse,
    body: &Value,
    row: &Row,
) -> Result<(), String> {
    let error = wrong(pair.caller, body);
    let reported = |what: String| format!("{what}: {body}");
    same("code", error.code.as_str(), row.code).map_err(reported)?;
    let word = match pair.caller {
        ClientFormat::Chat | ClientFormat::Responses => row.family,
        ClientFormat::Messages => row.words[0],
        ClientFormat::Gemini => row.words[1],
    };
    same("word", error.kind.as_str(), word).map_err(reported)?;
    same("request_id", error.request_id, got.header("x-request-id")).map_err(reported)?;
    same("charged", error.charged.unwrap_or(false), false)?;
    same("message", error.message.is_empty(), false)?;
    let mut names: Vec<&str> = Vec::new();
    names.extend(
        body["error"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str),
    );
    let wants: &[&str] = match pair.caller {
        ClientFormat::Chat | ClientFormat::Responses => {
            if let Some(param) = row.param {
                same("param", error.param.as_deref(), Some(param)).map_err(reported)?;
            }
            &[
                "message",
                "type",
                "param",
                "code",
                "request_id",
                "charged",
                "retryable",
                "doc_url",
            ]
        }
        ClientFormat::Messages => &["type", "message", "code"],
        ClientFormat::Gemini => {
            same("number", &body["error"]["code"], &json!(row.status)).map_err(reported)?;
            &["code", "message", "status", "details"]
        }
    };
    for name in wants {
        same(name, names.contains(name), true).map_err(reported)?;
    }
    Ok(())
}

async fn cost_nothing(harness: &TestGateway) -> Result<(), String> {
    same("left", harness.posted_at_rest().await, ALL)
}

// covers: D-3-03, D-3-04, D-7-ERR-04, D-7-ERR-05
#[tokio::test]
async fn a_refusal_before_an_upstream_is_asked_has_the_shape_of_its_interface() {
    let harness = harness(TestOptions::default()).await;
    let poor = harness.make_account_key().await;
    in_each(&harness, callers(), async |harness, pair| {
        let caller = pair.caller;
        let body = ask(pair);
        let post = async |path: String, key: &str, body: &Value| {
            let bytes = Bytes::from(body.to_string());
            let to = (harness.address, key);
            GatewayResponse::read(harness.send_as(to, Method::POST, &path, bytes, &[]).await).await
        };
        let path = caller.path(&pair.model(), pair.stream);
        let got = post(path.clone(), "sk-tl-nobody", &body).await;
        let row = Row {
            status: 401,
            code: "invalid_api_key",
            words: ["authentication_error", "UNAUTHENTICATED"],
            family: "authentication_error",
            param: None,
        };
        is(pair, &got, &row)?;
        let mut unknown = body.clone();
        if caller != ClientFormat::Gemini {
            unknown["model"] = json!("gemini-nobody");
        }
        let path_of_unknown = caller.path("gemini-nobody", pair.stream);
        let got = post(path_of_unknown, &harness.key, &unknown).await;
        let row = Row {
            status: 404,
            code: "model_not_found",
            words: ["not_found_error", "NOT_FOUND"],
            family: "not_found_error",
            param: Some("model"),
        };
        is(pair, &got, &row)?;
        let (field, mut bad) = match caller {
            ClientFormat::Chat | ClientFormat::Messages => ("messages", body.clone()),
            ClientFormat::Responses => ("input", body.clone()),
            ClientFormat::Gemini => ("contents", body.clone()),
        };
        bad.as_object_mut().unwrap().remove(field);
        let got = post(path.clone(), &harness.key, &bad).await;
        let row = Row {
            status: 400,
            code: "invalid_request",
            words: ["invalid_request_error", "INVALID_ARGUMENT"],
            family: "invalid_request_error",
            param: Some(field),
        };
        is(pair, &got, &row)?;
        let twice = body
            .to_string()
            .replacen('{', "{\"stream\":false,\"stream\":false,", 1);
        let bytes = Bytes::from(twice);
        let got = GatewayResponse::read(harness.send(Method::POST, &path, bytes).await).await;
        same("twice", got.status.as_u16(), 400)?;
        let got = post(path.clone(), &poor, &body).await;
        let row = Row {
            status: 402,
            code: "insufficient_balance",
            words: ["billing_error", "FAILED_PRECONDITION"],
            family: "insufficient_quota",
            param: None,
        };
        is(pair, &got, &row)?;
        let error = &got.json()["error"];
        for extra in ["required_usd", "available_usd", "reserved_usd"] {
            same(extra, error[extra].is_string(), true)?;
        }
        let mut routeless = body.clone();
        if caller != ClientFormat::Gemini {
            routeless["model"] = json!("gemini-to-many");
        }
        let got = post(
            caller.path("gemini-to-many", pair.stream),
            &harness.key,
            &routeless,
        )
        .await;
        let row = Row {
            status: 503,
            code: "no_available_route",
            words: ["overloaded_error", "UNAVAILABLE"],
            family: "upstream_error",
            param: None,
        };
        is(pair, &got, &row)?;
        same("asked", harness.simulator.requests().len(), 0)?;
        cost_nothing(harness).await
    })
    .await;
}

#[tokio::test]
async fn a_forbidden_endpoint_or_model_is_refused_in_the_callers_format() {
    let harness = harness(TestOptions::default()).await;
    let rules = |endpoint: bool| PolicyFields {
        endpoints: endpoint.then(|| vec!["images".to_owned()]),
        models: (!endpoint).then(|| vec!["sim-fast".to_owned()]),
        ..PolicyFields::default()
    };
    let keys = [
        (harness.make_key(rules(true)).await, "endpoint_not_allowed"),
        (harness.make_key(rules(false)).await, "model_not_allowed"),
    ];
    in_each(&harness, callers(), async |harness, pair| {
        for (key, code) in &keys {
            let path = pair.caller.path(&pair.model(), pair.stream);
            let bytes = Bytes::from(ask(pair).to_string());
            let to = (harness.address, key.as_str());
            let got =
                GatewayResponse::read(harness.send_as(to, Method::POST, &path, bytes, &[]).await)
                    .await;
            let row = Row {
                status: 403,
                code,
                words: ["permission_error", "PERMISSION_DENIED"],
                family: "permission_error",
                param: None,
            };
            is(pair, &got, &row)?;
        }
        cost_nothing(harness).await
    })
    .await;
}

#[tokio::test]
async fn upstream_errors_are_reported_in_the_callers_format_and_are_free() {
    let rests = CoolDowns::new();
    let harness = harness(TestOptions {
        clock: rests.clock(),
        ..TestOptions::default()
    })
    .await;
    let failed = |code: &'static str, status: u16, words: [&'static str; 2]| Row {
        status,
        code,
        words,
        family: "upstream_error",
        param: None,
    };
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        for (fault, row) in [
            (
                "rate_limited:7",
                Row {
                    status: 429,
                    code: "upstream_rate_limited",
                    words: ["rate_limit_error", "RESOURCE_EXHAUSTED"],
                    family: "rate_limit_error",
                    param: None,
                },
            ),
            (
                "status:500",
                failed("upstream_error", 502, ["api_error", "UNAVAILABLE"]),
            ),
            (
                "status:529",
                failed("upstream_error", 502, ["api_error", "UNAVAILABLE"]),
            ),
            (
                "error_inside200",
                failed("upstream_error", 502, ["api_error", "UNAVAILABLE"]),
            ),
        ] {
            let prompt = format!("Hello [[fault:{fault}]]");
            let body = pair.body(CallParams {
                prompt: &prompt,
                ..CallParams::default()
            });
            let got = pair.call_model(harness, &pair.model(), &body, &[]).await;
            is(pair, &got, &row).map_err(|what| format!("{fault}: {what}"))?;
            let usage = row_of(harness, &got).await;
            same("outcome", usage.outcome.as_str(), "upstream_failed")?;
            if row.status == 429 {
                let seconds = got.header("retry-after").ok_or("no retry-after")?;
                same("retry-after", seconds.as_str(), "7")?;
            }
            // A channel that failed rests for a while.
            rests.rest();
        }
        cost_nothing(harness).await
    })
    .await;
}

#[tokio::test]
async fn what_an_upstream_says_about_the_request_goes_back_in_the_callers_shape() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let body = pair.body(CallParams {
            prompt: "Hello [[fault:status:400]]",
            ..CallParams::default()
        });
        let got = pair.call_model(harness, &pair.model(), &body, &[]).await;
        same("status", got.status.as_u16(), 400).map_err(|it| format!("{it}: {}", got.text()))?;
        let error = wrong(pair.caller, &got.json());
        let word = match pair.caller {
            ClientFormat::Chat | ClientFormat::Responses | ClientFormat::Messages => {
                "invalid_request_error"
            }
            ClientFormat::Gemini => "INVALID_ARGUMENT",
        };
        same("word", error.kind.as_str(), word)?;
        same("request_id", error.request_id, got.header("x-request-id"))?;
        same("charged", error.charged.unwrap_or(false), false)?;
        same("words", error.message.is_empty(), false)?;
        let usage = row_of(harness, &got).await;
        same("outcome", usage.outcome.as_str(), "refused")?;
        cost_nothing(harness).await
    })
    .await;
}

// covers: D-3-07
#[tokio::test]
async fn an_error_in_mid_stream_is_the_formats_own_event_and_the_end() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::streamed(), async |harness, pair| {
        let before = harness.posted_at_rest().await;
        let body = pair.body(CallParams {
            prompt: "Hello [[tokens:20]] [[fault:error_frame_mid_stream:9]]",
            ..CallParams::default()
        });
        let got = pair.call_model(harness, &pair.model(), &body, &[]).await;
        same("status", got.status.as_u16(), 200).map_err(|it| format!("{it}: {}", got.text()))?;
        let error = error_inside(&got).ok_or("no error inside")?;
        let row = Row {
            status: 502,
            code: "upstream_error",
            words: ["api_error", "UNAVAILABLE"],
            family: "upstream_error",
            param: None,
        };
        is_shaped(pair, &got, &error, &row)?;
        let frames = Sse::all(&got.text());
        let last = frames.last().unwrap();
        match pair.caller {
            ClientFormat::Chat | ClientFormat::Gemini => {
                same("event", last.event.as_deref(), None)?
            }
            ClientFormat::Messages => same("event", last.event.as_deref(), Some("error"))?,
            // Codex looks for this one; the SDKs stop at the `error` before it.
            ClientFormat::Responses => {
                same("event", last.event.as_deref(), Some("response.failed"))?
            }
        }
        let ends = frames.iter().filter(|it| is_ending(pair.caller, it));
        same("endings", ends.count(), 0)?;
        let usage = row_of(harness, &got).await;
        same("outcome", usage.outcome.as_str(), "upstream_failed")?;
        same("left", harness.posted_at_rest().await, before)?;
        // One good call, or the channel would rest after a few bad ones.
        let after = pair.call(harness, &ask(pair)).await;
        same("after", after.status.as_u16(), 200)
    })
    .await;
}

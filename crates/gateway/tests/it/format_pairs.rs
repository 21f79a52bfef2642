//! Every caller's format beside every upstream's: a gateway with a channel for each, calls, and what a call
//! must have been charged.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_ledger::usage::{self, UsageRow};
use trunkline_simulator::{RequestRecord, Simulator};
use trunkline_types::{Clock, RequestId};

pub(crate) use crate::assertions::{
    PRICES, charged, cost_of, error_inside, is_ending, is_terminal, nanos, price, same, unit,
};
use crate::client_decode::{DecodedAnswer, Sse};
use crate::client_encode::{CallParams, ClientFormat};
use crate::nodes::ManualClock;
use crate::test_gateway::{ChannelOptions, GatewayResponse, TestGateway, TestOptions};

/// Longer than any pause of a channel or a credential.
const REST_SECONDS: i64 = 700;
pub(crate) const ALL: i64 = 10_000_000_000;

/// A caller and an upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatPair {
    pub(crate) caller: ClientFormat,
    pub(crate) upstream: ClientFormat,
    pub(crate) stream: bool,
}

impl fmt::Display for FormatPair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.stream { "streamed" } else { "whole" };
        write!(formatter, "{} to {}, {how}", self.caller, self.upstream)
    }
}

impl FormatPair {
    /// All thirty-two.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for caller in ClientFormat::ALL {
            for upstream in ClientFormat::ALL {
                all.extend([false, true].map(|stream| Self {
                    caller,
                    upstream,
                    stream,
                }));
            }
        }
        all
    }

    pub(crate) fn streamed() -> Vec<Self> {
        Self::all().into_iter().filter(|it| it.stream).collect()
    }

    /// The model that only this upstream serves. Gemini's path is for such names alone.
    pub(crate) fn model(self) -> String {
        format!("gemini-to-{}", self.upstream)
    }

    pub(crate) fn thinker(self) -> String {
        format!("gemini-think-{}", self.upstream)
    }

    /// A request of this caller.
    pub(crate) fn body(self, params: CallParams<'_>) -> Value {
        let model = if params.thinks {
            self.thinker()
        } else {
            self.model()
        };
        let stream = self.stream;
        self.caller.body(&model, &CallParams { stream, ..params })
    }

    /// Sends it.
    pub(crate) async fn call(self, harness: &TestGateway, body: &Value) -> GatewayResponse {
        self.call_with(harness, body, &[]).await
    }

    pub(crate) async fn call_with(
        self,
        harness: &TestGateway,
        body: &Value,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let named = body.get("model").and_then(Value::as_str);
        let model = named.map_or_else(|| self.model(), str::to_owned);
        self.call_model(harness, &model, body, extra).await
    }

    /// Gemini's body does not name its model.
    pub(crate) async fn call_model(
        self,
        harness: &TestGateway,
        model: &str,
        body: &Value,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let path = self.caller.path(model, self.stream);
        let bytes = Bytes::from(body.to_string());
        GatewayResponse::read(harness.send_with(Method::POST, &path, bytes, extra).await).await
    }

    /// A request and its answer, which must be a good one.
    pub(crate) async fn ask(
        self,
        harness: &TestGateway,
        params: CallParams<'_>,
    ) -> Result<(GatewayResponse, DecodedAnswer), String> {
        let body = self.body(params);
        let model = if params.thinks {
            self.thinker()
        } else {
            self.model()
        };
        self.ask_again(harness, &model, &body).await
    }

    pub(crate) async fn ask_again(
        self,
        harness: &TestGateway,
        model: &str,
        body: &Value,
    ) -> Result<(GatewayResponse, DecodedAnswer), String> {
        let got = self.call_model(harness, model, body, &[]).await;
        same("status", got.status.as_u16(), 200).map_err(|it| format!("{it}: {}", got.text()))?;
        if self.stream
            && let Some(error) = error_inside(&got)
        {
            return Err(format!("an error inside: {error}"));
        }
        let received = DecodedAnswer::of(self.caller, &got, self.stream);
        same("model", received.model.as_str(), model)?;
        Ok((got, received))
    }

    /// What an answer was charged is what the simulator says that it made, in the row, the header or the
    /// comment, and the usage that the caller sees.
    pub(crate) async fn billed(
        self,
        harness: &TestGateway,
        (got, received): (&GatewayResponse, &DecodedAnswer),
    ) -> Result<(UsageRow, RequestRecord), String> {
        let truth = last_served(&harness.simulator).await?;
        let row = row_of(harness, got).await;
        let reported = &received.tokens;
        same("outcome", row.outcome.as_str(), "complete")?;
        same("endpoint", row.endpoint.as_str(), self.caller.as_str())?;
        same("estimated", row.estimated, false)?;
        let cached = truth.cache_read_tokens;
        let written = (truth.cache_written_5m_tokens, truth.cache_written_1h_tokens);
        same("cache_read", unit(&row, "cache_read"), cached)?;
        same("cache_write", unit(&row, "cache_write"), written.0)?;
        same("cache_write_1h", unit(&row, "cache_write_1h"), written.1)?;
        let plain = truth.prompt_tokens - cached - written.0 - written.1;
        let input = ["input", "image_input", "audio_input"];
        let billed: u64 = input.iter().map(|face| unit(&row, face)).sum();
        same("plain input", billed, plain)?;
        let output = ["output", "image_output", "audio_output"];
        let billed: u64 = output.iter().map(|face| unit(&row, face)).sum();
        same("output", billed, truth.completion_tokens)?;
        same("shown input", reported.input, truth.prompt_tokens)?;
        same("shown output", reported.output, truth.completion_tokens)?;
        same("shown cached", reported.cached, cached)?;
        let charged = charged(&row);
        same("charge", charged, price(&row))?;
        self.told_cost(got, received, charged)?;
        let details = &received.cost_details;
        same("cost details", &details["units"], &row.units)?;
        same("tier", details["tier"].as_str(), row.tier.as_deref())?;
        Ok((row, truth))
    }

    /// Where the cost is told: inside the usage of every answer; in a header before a whole one, and in a
    /// comment before the terminal frame of a stream.
    fn told_cost(
        self,
        got: &GatewayResponse,
        received: &DecodedAnswer,
        charged: i64,
    ) -> Result<(), String> {
        let inside = received.cost.ok_or("no cost in the usage")?;
        same("cost in usage", nanos(&format!("{inside:.9}")), charged)?;
        let header = got.header("trunkline-cost-usd");
        if !self.stream {
            let reported = header.ok_or("no cost in the headers")?;
            return same("cost in the header", nanos(&reported), charged);
        }
        same("cost in the header", header, None)?;
        let frames = Sse::all(&got.text());
        if self.caller == ClientFormat::Gemini {
            // Google's own clients do not take comments: the module of the format says which and how.
            let comments = frames.iter().filter(|frame| frame.comment.is_some());
            same("comments", comments.count(), 0)?;
            let last = frames.last().unwrap();
            return same("terminal", is_terminal(self.caller, last), true);
        }
        let place = frames.iter().position(|frame| cost_of(frame).is_some());
        let place = place.ok_or("no cost in a comment")?;
        let reported = cost_of(&frames[place]).unwrap();
        same("cost in the comment", nanos(&reported), charged)?;
        let last = frames.len() - 1;
        same("terminal", is_terminal(self.caller, &frames[last]), true)?;
        let early = frames[..place].iter();
        let early = early.filter(|frame| is_terminal(self.caller, frame));
        same("terminal frames before the cost", early.count(), 0)
    }
}

/// A clock that is put forward when channels have failed often, so that they are used again.
#[derive(Clone)]
pub(crate) struct CoolDowns {
    hands: ManualClock,
    now: Arc<AtomicI64>,
}

impl CoolDowns {
    pub(crate) fn new() -> Self {
        let now = SystemClock.now().seconds();
        Self {
            hands: ManualClock::at(now),
            now: Arc::new(AtomicI64::new(now)),
        }
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.hands.clone())
    }

    pub(crate) fn rest(&self) {
        let now = self.now.fetch_add(REST_SECONDS, Ordering::SeqCst);
        self.hands.put(now + REST_SECONDS);
    }
}

/// What would be lost of a request on its way, as its quote tells.
pub(crate) async fn quote(
    harness: &TestGateway,
    pair: FormatPair,
    model: &str,
    body: &Value,
) -> GatewayResponse {
    let mut quote = json!({ "endpoint": pair.caller.as_str(), "body": body });
    if pair.caller == ClientFormat::Gemini {
        quote["model"] = json!(model);
        quote["stream"] = json!(pair.stream);
    }
    let bytes = Bytes::from(quote.to_string());
    GatewayResponse::read(harness.send(Method::POST, "/v1/quotes", bytes).await).await
}

/// A gateway that sells such models, and has no channels for them.
pub(crate) async fn shop(options: TestOptions) -> TestGateway {
    let harness = TestGateway::build(options).await;
    harness.sell(&catalog()).await;
    harness
}

/// A gateway with a channel for each format, and models that each of them alone serves.
pub(crate) async fn harness(options: TestOptions) -> TestGateway {
    let harness = shop(options).await;
    for client_format in ClientFormat::ALL {
        channel(
            &harness,
            client_format.as_str(),
            client_format,
            &harness.simulator,
            10,
        )
        .await;
    }
    harness
}

/// A channel to a simulator in one format, for the models that are named after it.
pub(crate) async fn channel(
    harness: &TestGateway,
    name: &str,
    speaks: ClientFormat,
    to: &Simulator,
    priority: i32,
) {
    let plain = format!("gemini-to-{speaks}");
    let thinker = format!("gemini-think-{speaks}");
    let models = [(plain.as_str(), "sim-fast"), (&thinker, "sim-reason")];
    channel_for(harness, name, speaks, to, priority, &models).await;
}

pub(crate) async fn channel_for(
    harness: &TestGateway,
    name: &str,
    speaks: ClientFormat,
    to: &Simulator,
    priority: i32,
    models: &[(&str, &str)],
) {
    let options = ChannelOptions {
        provider: Some(provider(speaks)),
        priority,
        ..ChannelOptions::default()
    };
    let base = base(speaks, to);
    harness.channel_with(name, &base, models, options).await;
}

pub(crate) const fn provider(speaks: ClientFormat) -> &'static str {
    match speaks {
        ClientFormat::Chat => "sim_chat",
        ClientFormat::Messages => "sim_messages",
        ClientFormat::Responses => "sim_responses",
        ClientFormat::Gemini => "sim_gemini",
    }
}

pub(crate) fn base(speaks: ClientFormat, to: &Simulator) -> String {
    match speaks {
        ClientFormat::Chat | ClientFormat::Messages | ClientFormat::Responses => to.base_url(),
        ClientFormat::Gemini => format!("http://{}/v1beta", to.address()),
    }
}

fn catalog() -> String {
    let faces = PRICES.map(|(face, price)| format!("{face} = {price}"));
    let names = ClientFormat::ALL.map(|it| it.as_str());
    let names = names.iter().copied().chain(["many"]);
    let model = |name: String, tasks: &str| {
        format!(
            "[models.{name}]\ngroups = [\"default\"]\ntasks = {tasks}\n\
             endpoints = [\"openai\", \"anthropic\", \"openai-response\", \"gemini\"]\nspecs = {{ max_output_tokens = 20000 }}\n\
             [models.{name}.prices]\nbilling_unit = \"tokens\"\nstandard = {{ {} }}\n",
            faces.join(", ")
        )
    };
    let both = names.flat_map(|name| {
        let plain = model(format!("gemini-to-{name}"), "[\"chat\"]");
        let thinker = format!("gemini-think-{name}");
        [plain, model(thinker, "[\"chat\", \"reasoning\"]")]
    });
    both.collect()
}

/// Does something in every couple, and tells everything that was wrong.
pub(crate) async fn in_each(
    harness: &TestGateway,
    pairs: Vec<FormatPair>,
    run: impl AsyncFn(&TestGateway, FormatPair) -> Result<(), String>,
) {
    let mut wrong = Vec::new();
    let count = pairs.len();
    for pair in pairs {
        if let Err(what) = run(harness, pair).await {
            wrong.push(format!("{pair}: {what}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    harness.posted_at_rest().await;
    harness.audit().await;
}

/// The simulator's own record of its last answer, once that was handed over.
pub(crate) async fn last_served(simulator: &Simulator) -> Result<RequestRecord, String> {
    for _ in 0..300 {
        let last = simulator.requests().pop().ok_or("no upstream was called")?;
        if last.finished {
            return Ok(last);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err("the simulator's answer was not taken to its end".to_owned())
}

pub(crate) async fn row_of(harness: &TestGateway, got: &GatewayResponse) -> UsageRow {
    let id: RequestId = got.id().parse().unwrap();
    let found = usage::find(&harness.data, harness.account, id)
        .await
        .unwrap();
    found.expect("a call that is over has a row")
}

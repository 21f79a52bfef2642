//! The small endpoints: embeddings, moderations, completions of plain text, rerank. Each reads its
//! request and says what it makes of it; the way from one to the other is the same for all.

mod completions;
mod embeddings;
mod moderations;
mod rerank;

use http::Method;
use serde_json::Value;

use crate::chat;
use crate::clock;
use crate::deployment;
use crate::directives::Directives;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::fault_stage::{self, RuleScope};
use crate::glimpse::Glimpse;
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::refusal::Refusal;
use crate::request::Object;
use crate::script::{Piece, Script};
use crate::scripted_body::VendorResult;

struct Job {
    model: String,
    stream: bool,
    directives: Directives,
    prompt_tokens: u64,
    completion_tokens: u64,
    wants: Wants,
}

/// What is to be made.
enum Wants {
    Vectors(embeddings::Vectors),
    Verdict(moderations::Verdict),
    Text(completions::Text),
    Ranks(rerank::Ranks),
}

/// Usage as it is told, if it is: prompt, completion.
type ReportedTokens = Option<(u64, u64)>;

// === impl Endpoint ===

impl Endpoint {
    fn read(self, body: &Object) -> Result<Job, Refusal> {
        match self {
            Self::Embeddings => embeddings::read(body),
            Self::Moderations => moderations::read(body),
            Self::Completions => completions::read(body),
            Self::RerankV1 | Self::RerankV2 => rerank::read(body, self == Self::RerankV2),
        }
    }
}

/// Answers a request. An error closes the connection without an answer.
pub(crate) async fn serve(mut recorded: RecordedRequest, endpoint: Endpoint) -> VendorResult {
    let method = recorded.parts.method.clone();
    if method != Method::POST {
        let refusal = Refusal::wrong_method(method.as_str(), recorded.parts.uri.path());
        return Ok(recorded.refuse(&refusal));
    }
    let mut body = match chat::parse(&recorded) {
        Ok(body) => body,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    deployment::name_deployment(&recorded, &mut body);
    Glimpse::of(&body).note(&recorded);
    let job = match endpoint.read(&body) {
        Ok(job) => job,
        Err(refusal) => return Ok(recorded.refuse(&refusal)),
    };
    if let Some(refusal) = deployment::refused(&recorded, &job.directives, &job.model) {
        return Ok(recorded.refuse(&refusal));
    }
    let fault = fault_stage::select(&recorded, &job.directives, &job.model, RuleScope::Model);
    if let Some(error) = fault_stage::early(&mut recorded, fault).await? {
        return Ok(recorded.fail(error, &job.model, job.prompt_tokens));
    }
    fault_stage::delay_first_byte(fault).await;
    let prompt_tokens = job.prompt_tokens;
    recorded.note(|record| record.prompt_tokens = prompt_tokens);
    if !job.stream {
        let tokens = job.completion_tokens.max(1);
        fault_stage::pause(fault_stage::whole_wait(job.directives.pace_millis, tokens)).await;
    }
    let script = script_of(&recorded, job, fault);
    Ok(recorded.play(script, Some(prompt_tokens)))
}

/// The script of what was made.
fn script_of(recorded: &RecordedRequest, job: Job, fault: Option<Fault>) -> Script {
    if let Some(script) = Script::error_under_ok(fault, job.stream) {
        return script;
    }
    let reported: ReportedTokens = fault_stage::reported(fault, job.prompt_tokens)
        .zip(fault_stage::reported(fault, job.completion_tokens));
    let (stream, pace) = (job.stream, job.directives.pace_millis);
    let completion_tokens = job.completion_tokens;
    let document = match job.wants {
        Wants::Vectors(vectors) => vectors.document(&job.model, reported),
        Wants::Verdict(verdict) => {
            let id = recorded.id("modr-");
            // A moderation costs nothing and tells no usage.
            let piece = Piece::new(verdict.document(&id, &job.model));
            return fault_stage::document(piece, fault).paced(stream, pace, fault);
        }
        Wants::Ranks(ranks) => ranks.document(&recorded.id(""), &job.model, reported),
        Wants::Text(text) => {
            let renderer = completions::Renderer {
                id: recorded.id("cmpl-"),
                created: clock::seconds(recorded.received_at_micros),
                model: job.model,
                reported,
                text,
                fault,
            };
            if stream {
                return renderer.streamed().paced(stream, pace, fault);
            }
            renderer.document()
        }
    };
    let mut piece = Piece::new(document).worth(completion_tokens);
    piece.reports = reported;
    fault_stage::document(piece, fault).paced(stream, pace, fault)
}

/// The model of a request that must name one.
fn read_model(body: &Object) -> Result<&str, Refusal> {
    match body.get("model").and_then(Value::as_str) {
        Some(model) if models::is_known(model) => Ok(model),
        Some(model) if !model.is_empty() => Err(Refusal::no_such_model(model)),
        Some(_) | None => Err(Refusal::unnamed("you must provide a model parameter")),
    }
}

fn read_directives(text: &str) -> Result<Directives, Refusal> {
    Directives::read(text).map_err(|error| Refusal::directive(&error.0))
}

/// A fraction below or equal to one as decimal digits, since floats are not for counting.
fn decimal(numerator: u64, denominator: u64, digits: u32) -> String {
    let width = usize::try_from(digits).unwrap_or_default();
    let scale = 10u64.saturating_pow(digits);
    let scaled = numerator
        .saturating_mul(scale)
        .checked_div(denominator)
        .unwrap_or(0);
    let whole = scaled.checked_div(scale).unwrap_or(0);
    let rest = scaled.checked_rem(scale).unwrap_or(0);
    format!("{whole}.{rest:0width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_written_with_all_its_digits() {
        assert_eq!(decimal(1, 3, 4), "0.3333");
        assert_eq!(decimal(2, 2, 3), "1.000");
        assert_eq!(decimal(1, 1000, 4), "0.0010");
        assert_eq!(decimal(1, 0, 2), "0.00");
    }
}

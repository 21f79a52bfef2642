//! The source of social data, `TikHub`: a hundred paths below `/api/v1/` that give platforms' own
//! answers in one envelope. What the paths are is data (`crates/simulator/social`); what is checked,
//! in which order, and what can go wrong is here.

mod account;
mod answer;
mod data;
mod directives;
mod paging;
mod params;
mod rows;
mod template;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::clock;
use crate::fault::{Fault, SocialFault};
use crate::fault_stage;
use crate::headers;
use crate::recorded_request::RecordedRequest;
use crate::request_log::MAX_KEPT_BODY;
use crate::scripted_body::{Abort, VendorResult};
use crate::social_state::SocialCall;
use answer::{Context, Reply};
use directives::SocialDirectives;
use params::Arguments;
use rows::Row;

const ROOT: &str = "/api/v1/";
const RETRY: &str = "Request failed. Please retry.";

/// What becomes of a request.
enum Outcome {
    Say(Reply),
    Hang,
    Close,
}

/// What was decided, and what the record says of it.
struct Decided {
    outcome: Outcome,
    fault: Option<SocialFault>,
    marker: Option<String>,
    slow_millis: u32,
}

pub(crate) fn owns(path: &str) -> bool {
    path.starts_with(ROOT)
}

pub(crate) async fn serve(mut recorded: RecordedRequest) -> VendorResult {
    let path = recorded.parts.uri.path().to_owned();
    let request_id = recorded.uuid("social");
    if let Some(reply) = account::answer(&recorded, &path) {
        return Ok(reply.send(recorded, &request_id));
    }
    let row = match rows::at(&path) {
        Ok(row) => row.filter(|_| !recorded.state.social.is_retired(&path)),
        Err(error) => {
            return Ok(Reply::json(500, &json!({ "detail": error })).send(recorded, &request_id));
        }
    };
    let Some(row) = row else {
        return Ok(Reply::no_such_path().send(recorded, &request_id));
    };
    let query = recorded.parts.uri.query().unwrap_or("").to_owned();
    let arguments = if row.method == Method::POST {
        Arguments::from_body(&recorded.body, &row.params)
    } else {
        Arguments::from_query(&query, &row.params)
    };
    let decided = decide(
        &recorded,
        row,
        arguments
            .as_ref()
            .map_err(|(arguments, why)| (arguments, why)),
    );
    let arguments = arguments.unwrap_or_else(|(arguments, _)| arguments);
    note(&recorded, row, query, arguments, &decided);
    if decided.slow_millis > 0 {
        tokio::time::sleep(Duration::from_millis(decided.slow_millis.into())).await;
    }
    let fault = match decided.outcome {
        Outcome::Say(reply) => return Ok(reply.send(recorded, &request_id)),
        Outcome::Hang => Fault::HangBeforeHeaders,
        Outcome::Close => Fault::CloseBeforeHeaders,
    };
    fault_stage::early(&mut recorded, Some(fault)).await?;
    Err(Abort)
}

/// The order is `FastAPI`'s: path and method, who asks, how often, the form of the parameters; then
/// what they mean.
fn decide(
    recorded: &RecordedRequest,
    row: &Row,
    arguments: Result<&Arguments, (&Arguments, &Value)>,
) -> Decided {
    let received = arguments.unwrap_or_else(|(arguments, _)| arguments);
    let context = Context::new(recorded, &row.path, received);
    if recorded.parts.method != row.method {
        return Decided::refused(Reply::wrong_method());
    }
    if recorded.key.is_empty() || !recorded.state.accepts(&recorded.key) {
        return Decided::refused(context.refused(401, "Invalid or missing API token."));
    }
    if !recorded
        .state
        .social
        .may_ask(&recorded.key, clock::now_micros())
    {
        return Decided::refused(context.limited(1));
    }
    if let Err((_, details)) = arguments {
        return Decided::refused(Reply::invalid(details));
    }
    let strange = |(name, value): &(&String, &String)| {
        let mut params = row.params.iter();
        params.any(|param| param.name == **name && !param.knows(value))
    };
    if let Some((name, _)) = received.values.iter().find(strange) {
        let message = format!("{name} has no such value.");
        return Decided::refused(context.refused(400, &message));
    }
    let is_given = |name: &String| !received.text(name).is_empty();
    if !row.one_of.is_empty() && !row.one_of.iter().any(is_given) {
        let message = format!("One of {} is needed.", row.one_of.join(", "));
        return Decided::refused(context.refused(400, &message));
    }
    let texts = received.received.iter().map(|(_, value)| value.as_str());
    let directives = match SocialDirectives::read(texts) {
        Ok(directives) => directives,
        Err(error) => {
            let message = format!("simulator_directive: {}", error.0);
            return Decided::refused(context.refused(400, &message));
        }
    };
    by_directive(recorded, row, received, &context, directives)
}

/// Acts on the directive or the rule, or answers well.
fn by_directive(
    recorded: &RecordedRequest,
    row: &Row,
    arguments: &Arguments,
    context: &Context<'_>,
    directives: SocialDirectives,
) -> Decided {
    let planned = || {
        recorded
            .state
            .plans()
            .strike_social(&row.path, &recorded.key)
    };
    let fault = directives.fault.or_else(planned);
    let mut slow_millis = directives.slow_millis;
    if let Some(SocialFault::Slow { millis }) = fault {
        slow_millis = millis;
    }
    if fault == Some(SocialFault::Retire) {
        recorded.state.social.retire(&row.path);
    }
    let outcome = match fault {
        Some(SocialFault::Hang) => Outcome::Hang,
        Some(SocialFault::Close) => Outcome::Close,
        Some(SocialFault::Status(422)) => {
            let detail = json!({ "type": "value_error", "loc": ["query", "keyword"],
                "msg": "Value error, as the directive requests", "input": null });
            Outcome::Say(Reply::invalid(&json!([detail])))
        }
        Some(SocialFault::Status(status)) => Outcome::Say(context.refused(status, RETRY)),
        Some(SocialFault::Flat400) => Outcome::Say(context.refused_flat(400, RETRY)),
        Some(SocialFault::NoItem) => Outcome::Say(context.refused(404, "There is no such item.")),
        Some(SocialFault::NoPath | SocialFault::Retire) => Outcome::Say(Reply::no_such_path()),
        Some(SocialFault::RateLimited { retry_after_secs }) => {
            Outcome::Say(context.limited(retry_after_secs))
        }
        Some(SocialFault::Marker) => {
            let message = "TikHub: the upstream at https://api.tikhub.io/api/v1 refused \
                           Authorization: Bearer tikhub-secret-token-0123456789";
            Outcome::Say(context.refused(502, message))
        }
        Some(SocialFault::Html) => Outcome::Say(Reply::page()),
        Some(SocialFault::Code400In200) => Outcome::Say(context.bad_under_ok()),
        Some(
            SocialFault::Empty
            | SocialFault::Null
            | SocialFault::Inner
            | SocialFault::NoCode
            | SocialFault::NoData
            | SocialFault::Scalar
            | SocialFault::Array
            | SocialFault::Cut
            | SocialFault::Big
            | SocialFault::SamePage
            | SocialFault::Slow { .. },
        )
        | None => Outcome::Say(data::page_data(row, arguments, context, fault)),
    };
    Decided {
        outcome,
        fault: fault.or((slow_millis > 0).then_some(SocialFault::Slow {
            millis: slow_millis,
        })),
        marker: directives.marker,
        slow_millis,
    }
}

/// Writes a call down, before anything is sent of it.
fn note(
    recorded: &RecordedRequest,
    row: &Row,
    query: String,
    arguments: Arguments,
    decided: &Decided,
) {
    let status = match &decided.outcome {
        Outcome::Say(reply) => reply.status,
        Outcome::Hang | Outcome::Close => 0,
    };
    recorded.note(|record| {
        record.model.clone_from(&row.path);
        record.marker.clone_from(&decided.marker);
        record.fault = decided.fault.map(Fault::Social);
    });
    let is_billed = status == 200;
    recorded.state.social.keep(SocialCall {
        number: recorded.number,
        method: recorded.parts.method.to_string(),
        path: row.path.clone(),
        query,
        body: if recorded.body.len() <= MAX_KEPT_BODY {
            String::from_utf8_lossy(&recorded.body).into_owned()
        } else {
            String::new()
        },
        params: arguments.received,
        key: headers::last_four(&recorded.key),
        marker: decided.marker.clone(),
        fault: decided.fault,
        status,
        is_billed,
        cost_micros: if is_billed { row.price_micros } else { 0 },
    });
}

// === impl Decided ===

impl Decided {
    fn refused(reply: Reply) -> Self {
        Self {
            outcome: Outcome::Say(reply),
            fault: None,
            marker: None,
            slow_millis: 0,
        }
    }
}

#[cfg(test)]
mod tests;

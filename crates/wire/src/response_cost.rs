//! What a whole response cost, inside its own usage, as a stream of its format has it at its end.

use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;

use crate::canonical::ReportedUsage;
use crate::{Cost, Edit, Format, claude_messages, gemini, openai_chat, openai_responses};
use crate::{patch, priced, scan};

/// A whole response with its cost. What the upstream reported stays as it is; where it reported nothing, the
/// usage that is charged stands there. None if the bytes are no object.
#[must_use]
pub fn response_with_cost(
    format: Format,
    body: &[u8],
    reported: &ReportedUsage,
    cost: &Cost,
) -> Option<Bytes> {
    let object = scan(body).ok()?;
    let field = usage_field(format);
    let usage_text = object.value(field).filter(|usage| usage.starts_with(b"{"));
    let usage = match usage_text {
        Some(usage_text) => priced(usage_text, cost)?,
        None => priced(written(format, reported).to_string().as_bytes(), cost)?,
    };
    Some(Bytes::from(patch(&object, &[Edit::Set(field, usage)])))
}

/// The same for a response whose usage stands at a place that is known: nothing else of it is read again.
#[must_use]
pub fn response_with_cost_at(body: &[u8], usage_at: Range<usize>, cost: &Cost) -> Option<Bytes> {
    let (before, rest) = body.split_at_checked(usage_at.start)?;
    let (_, after) = body.split_at_checked(usage_at.end)?;
    let usage = priced(rest.get(..usage_at.len())?, cost)?;
    Some(Bytes::from([before, usage.as_slice(), after].concat()))
}

/// A whole response of a pass-through endpoint with its cost; none if it has no usage.
#[must_use]
pub fn passthrough_with_cost(body: &[u8], cost: &Cost) -> Option<Bytes> {
    let object = scan(body).ok()?;
    let usage_text = object.value("usage");
    let usage = priced(usage_text.filter(|usage| usage.starts_with(b"{"))?, cost)?;
    Some(Bytes::from(patch(&object, &[Edit::Set("usage", usage)])))
}

const fn usage_field(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat | Format::ClaudeMessages | Format::OpenaiResponses => "usage",
        Format::Gemini => "usageMetadata",
    }
}

fn written(format: Format, reported: &ReportedUsage) -> Value {
    match format {
        Format::OpenaiChat => openai_chat::usage_of(reported),
        Format::ClaudeMessages => Value::Object(claude_messages::written(reported)),
        Format::OpenaiResponses => openai_responses::write_usage(reported),
        Format::Gemini => gemini::usage_json(reported),
    }
}

//! Types that all formats share: the kind of a frame, the metadata that a response is written with, the
//! end of a stream.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use trunkline_types::{Money, Units};

use crate::canonical::ReportedUsage;
use crate::upstream_error::read_error;
use crate::{Edit, UpstreamError, patch, scan};

/// The kind of a frame of an upstream's stream, for a relay in the same format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameKind {
    /// A piece of the response: it goes on.
    Content,
    /// It belongs to the end and waits for the charge: usage, why it stopped.
    Held,
    /// The same, and nothing follows.
    Last,
    /// The end without anything in it: it is written anew when the charge is durable.
    Done,
    /// A comment, a ping, or an event without data.
    Empty,
    /// The upstream says that it failed.
    Error(UpstreamError),
    /// Not what the format allows.
    Invalid,
}

impl FrameKind {
    /// What the upstream says about its failure.
    #[must_use]
    pub const fn error(&self) -> Option<&UpstreamError> {
        match self {
            Self::Error(error) => Some(error),
            Self::Content | Self::Held | Self::Last | Self::Done | Self::Empty | Self::Invalid => {
                None
            }
        }
    }
}

/// What a call cost, and why.
#[derive(Debug, Clone)]
pub struct Cost {
    pub total: Money,
    pub tier: String,
    pub units: Units,
    /// What was saved by input that a prompt cache held, where there was some.
    pub cache_saving: Option<Money>,
    /// Vendor-run tools that are part of it.
    pub tools: Vec<ToolCost>,
}

/// What the calls of one vendor-run tool cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCost {
    pub tool: String,
    pub calls: u64,
    pub cost: Money,
}

/// How a stream ends, now that its charge is durable.
#[derive(Debug, Clone)]
pub struct StreamEnd {
    /// What was used; by the upstream's word, or counted by us.
    pub reported: ReportedUsage,
    pub cost: Cost,
    /// The money did not reach further: the stream ends in the format's form for its length.
    pub exhausted: bool,
    /// Chat: the caller asked for usage. The others always tell it.
    pub wants_usage: bool,
}

/// How an assembled response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As the upstream ended it.
    Upstream,
    /// Here, at its length. It has no usage: what was used is not what the upstream reported so far.
    Length,
}

/// What a response in its own format has changed on its way to the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// The public name of the model, where the upstream's is another.
    pub model: Option<String>,
    /// Responses: the id that the caller gets for this response.
    pub id: Option<String>,
    /// Responses: the id that the caller gave for the one before.
    pub previous: Option<String>,
    /// The channel that signatures are marked with; none to leave them as they are.
    pub channel: Option<String>,
}

/// What a response that was translated is written with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResponseMeta {
    /// The public name of the model.
    pub model: String,
    /// What the response is called; each format puts its own beginning before it where it needs one.
    pub id: String,
    /// Seconds since 1970.
    pub created: i64,
    /// Chat: the caller asked for usage at the end of its stream.
    pub wants_usage: bool,
    /// The channel that signatures are marked with.
    pub channel: Option<String>,
    /// Responses repeat what was asked: the caller's body.
    pub request_body: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A whole response as far as money is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseSummary {
    /// Usage, if the upstream reported it.
    pub reported: Option<ReportedUsage>,
    /// Output tokens counted by us.
    pub written: u64,
    /// The upstream's id of the response; empty if it gives none.
    pub id: String,
    /// Where its usage, an object, stands in the bytes; none where that was not noted.
    pub usage_at: Option<Range<usize>>,
}

/// Why bytes are no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseError {
    /// An upstream error with the status of a success.
    Upstream(UpstreamError),
    /// Not what the format allows.
    Invalid,
}

/// What a call cost, as a comment before the last frame.
#[must_use]
pub fn cost_comment(cost: &Cost) -> String {
    format!(": trunkline-cost-usd={}\n\n", cost.total)
}

/// Comments and fields without data say nothing. Anything else is no stream at all, such as an error
/// document where a stream was asked for.
pub(crate) fn without_data(raw: &[u8]) -> FrameKind {
    let mut lines = raw.split(|byte| *byte == b'\n' || *byte == b'\r');
    let known: [&[u8]; 5] = [b":", b"event", b"id", b"retry", b"data"];
    let is_known =
        |line: &[u8]| line.is_empty() || known.iter().any(|field| line.starts_with(field));
    if lines.all(is_known) {
        FrameKind::Empty
    } else if raw.trim_ascii_start().starts_with(b"{") {
        // A document where a stream was asked for; it may say why.
        FrameKind::Error(read_error(raw))
    } else {
        FrameKind::Invalid
    }
}

/// What a cost consists of. Its names are in the order of the alphabet, and so are those of the units.
#[derive(Serialize)]
struct CostDetails<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_saving_usd: Option<String>,
    tier: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolDetails<'a>>,
    units: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct ToolDetails<'a> {
    calls: u64,
    cost_usd: String,
    tool: &'a str,
}

/// Usage, as it stands in a response, with what it cost.
pub(crate) fn priced(usage: &[u8], cost: &Cost) -> Option<Vec<u8>> {
    let usage = scan(usage).ok()?;
    let tools = cost.tools.iter().map(|one| ToolDetails {
        calls: one.calls,
        cost_usd: one.cost.to_string(),
        tool: &one.tool,
    });
    let units = cost.units.iter();
    let details = CostDetails {
        cache_saving_usd: cost.cache_saving.map(|saving| saving.to_string()),
        tier: &cost.tier,
        tools: tools.collect(),
        units: units.map(|(face, count)| (face.name(), count)).collect(),
    };
    Some(patch(
        &usage,
        &[
            // A number of JSON, written digit by digit: no float comes near it.
            Edit::Set("cost", cost.total.to_string().into_bytes()),
            Edit::Set("cost_details", serde_json::to_vec(&details).ok()?),
        ],
    ))
}

/// A frame of one event with one line of data.
pub(crate) fn event_frame(event: Option<&str>, data: &[u8], out: &mut Vec<u8>) {
    if let Some(event) = event {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

/// Initial capacity: most bodies and events fit.
const JSON_BYTES: usize = 1_024;

/// A tree as JSON. `Value::to_string` would check UTF-8 again and begin without capacity.
pub(crate) fn json_bytes(value: &serde_json::Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(JSON_BYTES);
    // A tree of JSON cannot fail to be written into memory.
    drop(serde_json::to_writer(&mut out, value));
    out
}

/// A text as JSON. Pieces of a stream are written without a tree, which would cost as much as all the
/// rest of them.
pub(crate) fn put_text(text: &str, out: &mut Vec<u8>) {
    // A text cannot fail to be written into memory.
    drop(serde_json::to_writer(&mut *out, text));
}

/// A number as JSON.
pub(crate) fn put_number(number: u64, out: &mut Vec<u8>) {
    drop(serde_json::to_writer(&mut *out, &number));
}

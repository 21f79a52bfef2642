//! Prices a body that is sent: it reads the JSON alone and knows nothing of the request behind it.

use serde_json::{Map, Value};
use trunkline_catalog::{Attributes, RequestError};

use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound};

/// How media move a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Measures {
    /// They do not.
    None,
    /// Seconds of reference clips are billed beside those that are made; each clip has at most so
    /// many.
    Input { most: u64 },
    /// The output is no longer than the source, which has at most so many seconds.
    Source { most: u64 },
}

/// The units of a body.
pub(in super::super) fn bill(
    outbound: &Outbound,
    measures: Measures,
    facts: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    let wrong = |param: &str| RequestError::unpriceable(param, "the stored body has no such field");
    let parameters = outbound.body.get("parameters").and_then(Value::as_object);
    let parameters = parameters.ok_or_else(|| wrong("parameters"))?;
    let resolution = parameters.get("resolution").and_then(Value::as_str);
    let resolution = resolution.ok_or_else(|| wrong("parameters.resolution"))?;
    let duration = parameters.get("duration").and_then(Value::as_u64);
    let duration = duration.ok_or_else(|| wrong("parameters.duration"))?;
    let attributes = Attributes::none().with("resolution", resolution);
    let mut bill = BillableUnits::seconds(duration, attributes);
    match measures {
        Measures::None => {}
        Measures::Input { most } => {
            for url in media(&outbound.body, "reference_video") {
                let length = length(facts, url);
                let seconds = length.unwrap_or(most);
                bill.input_seconds = bill.input_seconds.saturating_add(seconds);
                bill.exact &= length.is_some();
            }
        }
        Measures::Source { most } => {
            let source = media(&outbound.body, "video").next();
            let source = source.ok_or_else(|| wrong("input.media"))?;
            let length = length(facts, source);
            let longest = length.unwrap_or(most);
            bill.output_seconds = match duration {
                0 => longest,
                requested => requested.min(longest),
            };
            bill.exact = length.is_some();
        }
    }
    Ok(bill)
}

fn length(facts: &KnownMedia, url: &str) -> Option<u64> {
    facts.of(url)?.seconds()
}

/// The addresses of media of one kind.
fn media<'a>(body: &'a Map<String, Value>, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let list = body
        .get("input")
        .and_then(|input| input.get("media"))
        .and_then(Value::as_array);
    list.into_iter().flatten().filter_map(move |media| {
        let is_it = media.get("type").and_then(Value::as_str) == Some(kind);
        media.get("url").and_then(Value::as_str).filter(|_| is_it)
    })
}

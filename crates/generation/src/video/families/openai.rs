//! Video models outside the families, at upstreams with OpenAI's videos API. The fields that such
//! a model takes are in its record.
//!
//! - `prompt`: required.
//! - `seconds`, a text, or `duration`, a number: one of the record's `durations` (without them 4, 8
//!   and 12), within its `min_duration_seconds` and `max_duration_seconds`. `seconds` wins; a
//!   `duration` that says otherwise is ignored. Left out, the first of them is filled in.
//! - `size`: one of the record's `resolutions`; left out, the first is filled in. Without
//!   `resolutions` a size goes on as it is, and none is filled in.
//! - `input_reference`: the address of a picture, which goes on as `{"image_url": …}`.
//! - What the record lists in `request_fields` goes on as it came: `quality` from the top,
//!   `metadata.style` as `style`. All other fields, and all other keys of `metadata`, are ignored.
//!   Fields of the gateway and those that a client must not set (names of models, callbacks,
//!   priorities, service tiers) stay behind even if a record lists them.
//!
//! The price goes by the second or by the call, as the record says; a tier may ask for `resolution`,
//! which is the size as it is sent, and for every listed field that is a word, a whole number, true
//! or false.

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_catalog::{Attributes, RequestError, Scalar, Specs};

use super::{Family, PlanContext};
use crate::video::field_reader::{FIELD_IGNORED, FieldReader};
use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound, Plan};

pub(super) const FAMILY: Family = Family {
    spec_letter: "openai",
    variants: &["videos"],
    plan,
    bill,
};

const PROTOCOL: &str = "openai_video";
/// Lengths where the record lists none, the usual one first.
const DURATIONS: [u64; 3] = [4, 8, 12];
/// Longest prompt: the upstream has a limit of its own, which no record states.
const MAX_PROMPT: usize = 32_000;
/// Most fields of a record that go on.
const MAX_FIELDS: usize = 100;
/// What this family reads itself.
const OWN: [&str; 5] = ["model", "prompt", "seconds", "size", "input_reference"];
/// What a client must not set, whatever a record lists.
const NEVER: [&str; 8] = [
    "model_name",
    "callback_url",
    "callback",
    "webhook_url",
    "notify_hook",
    "priority",
    "service_tier",
    "metadata",
];

#[derive(Debug, Serialize)]
struct Body<'a> {
    prompt: &'a str,
    seconds: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_reference: Option<Picture<'a>>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct Picture<'a> {
    image_url: &'a str,
}

fn plan(context: &PlanContext<'_>) -> Result<Plan, RequestError> {
    let mut reader = FieldReader::new(context.request);
    let prompt = reader.required("prompt")?;
    if prompt.chars().count() > MAX_PROMPT {
        let text = format!("`prompt` has more than {MAX_PROMPT} characters");
        return Err(RequestError::invalid("prompt", text));
    }
    let seconds = seconds(&mut reader, context.specs)?;
    let size = size(&mut reader, context.specs)?;
    let picture = reader.filled("input_reference")?;
    let more = more(&mut reader, context.specs);
    let mut attributes = Attributes::none();
    for (name, value) in &more {
        attributes = with(attributes, name, value);
    }
    if let Some(size) = size {
        attributes = attributes.with("resolution", size);
    }
    let body = Body {
        prompt,
        seconds: seconds.to_string(),
        size,
        input_reference: picture.map(|image_url| Picture { image_url }),
        more,
    };
    Ok(Plan {
        bill: BillableUnits::seconds(seconds, attributes),
        outbound: Outbound::new(PROTOCOL, "", &body),
        to_probe: Vec::new(),
        size: size.map(str::to_owned),
        report: reader.finish(),
    })
}

/// Prices a body: its length, its size, and every attribute that a tier may match.
fn bill(
    _variant: &'static str,
    outbound: &Outbound,
    _specs: &Specs,
    _measured: &KnownMedia,
) -> Result<BillableUnits, RequestError> {
    let seconds = outbound.body.get("seconds").and_then(Value::as_str);
    let seconds = seconds.and_then(|text| text.parse().ok());
    let unreadable =
        || RequestError::unpriceable("seconds", "`seconds` of the body cannot be priced");
    let mut attributes = Attributes::none();
    for (name, value) in &outbound.body {
        if !OWN.contains(&name.as_str()) {
            attributes = with(attributes, name, value);
        }
    }
    if let Some(size) = outbound.body.get("size").and_then(Value::as_str) {
        attributes = attributes.with("resolution", size);
    }
    Ok(BillableUnits::seconds(
        seconds.ok_or_else(unreadable)?,
        attributes,
    ))
}

fn seconds(reader: &mut FieldReader<'_>, specs: &Specs) -> Result<u64, RequestError> {
    let least = specs.min_duration_seconds.unwrap_or(0);
    let most = specs.max_duration_seconds.unwrap_or(u64::MAX);
    let listed = specs.durations.as_deref().unwrap_or(&DURATIONS);
    let mut known = listed.iter().copied();
    let takes = |length: u64| listed.contains(&length) && (least..=most).contains(&length);
    let wrong = |param: &str| {
        let words = listed.iter().filter(|length| takes(**length));
        let words: Vec<String> = words.map(u64::to_string).collect();
        let text = format!("`{param}` must be one of {}", words.join(", "));
        RequestError::invalid(param, text)
    };
    if let Some(text) = reader.text("seconds")? {
        let length: u64 = text.parse().map_err(|_| wrong("seconds"))?;
        if reader.has("duration")
            && reader.whole("duration")?.map(u64::try_from) != Some(Ok(length))
        {
            let why = "`seconds` says otherwise and wins";
            reader.ignored("duration", FIELD_IGNORED, why, "send one of the two");
        }
        return Some(length)
            .filter(|length| takes(*length))
            .ok_or_else(|| wrong("seconds"));
    }
    if let Some(length) = reader.whole("duration")? {
        let length = u64::try_from(length).ok().filter(|length| takes(*length));
        return length.ok_or_else(|| wrong("duration"));
    }
    let usual = known.find(|length| takes(*length));
    let usual = usual.ok_or_else(|| RequestError::missing("seconds"))?;
    reader.defaulted("seconds", usual.to_string(), "no length was asked for");
    Ok(usual)
}

fn size<'a>(
    reader: &mut FieldReader<'a>,
    specs: &'a Specs,
) -> Result<Option<&'a str>, RequestError> {
    let requested = reader.filled("size")?;
    let Some(listed) = specs.resolutions.as_deref().filter(|all| !all.is_empty()) else {
        return Ok(requested);
    };
    let Some(requested) = requested else {
        let usual = listed.first().map(String::as_str);
        reader.defaulted("size", usual.unwrap_or_default(), "no size was asked for");
        return Ok(usual);
    };
    if listed.iter().any(|size| size == requested) {
        return Ok(Some(requested));
    }
    let text = format!("`size` must be one of {}", listed.join(", "));
    Err(RequestError::invalid("size", text))
}

/// The fields that the record lists, under the names they have upstream.
fn more(reader: &mut FieldReader<'_>, specs: &Specs) -> Map<String, Value> {
    let listed = specs.request_fields.as_deref().unwrap_or_default();
    let mut more = Map::new();
    for path in listed.iter().take(MAX_FIELDS) {
        let name = path.strip_prefix("metadata.").unwrap_or(path);
        let stays = OWN.contains(&name) || NEVER.contains(&name) || name.contains('.');
        if stays || name == "duration" || more.contains_key(name) {
            continue;
        }
        if let Some(value) = reader.get(path) {
            more.insert(name.to_owned(), value.clone());
        }
    }
    more
}

/// A value that a tier can compare with, beside the others.
fn with(attributes: Attributes, name: &str, value: &Value) -> Attributes {
    match value {
        Value::String(text) => attributes.with(name, text.as_str()),
        Value::Bool(flag) => attributes.with(name, Scalar::Bool(*flag)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => attributes.with(name, Scalar::Integer(whole)),
            None => attributes,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => attributes,
    }
}

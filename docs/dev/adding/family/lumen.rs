//! Lumen, a family that does not exist, for `just add-drill family`. Its upstream speaks OpenAI's videos
//! interface and knows two qualities.
//!
//! - `prompt`: required.
//! - `duration`: 5 or 10 seconds; left out, 5 is filled in.
//! - `metadata.quality`: `draft` or `final`, which has its own price; left out, `draft` is filled in.
//! - All other fields are ignored, and reported.

use serde::Serialize;
use serde_json::Value;
use trunkline_catalog::{Attributes, Refusal, Specs};

use super::{Family, PlanContext};
use crate::video::field_reader::FieldReader;
use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound, Plan};

/// The family.
pub(super) const FAMILY: Family = Family {
    spec_letter: "lumen",
    variants: &["clip"],
    plan,
    bill,
};

const PROTOCOL: &str = "openai_video";
const DURATIONS: [i64; 2] = [5, 10];
const QUALITIES: [&str; 2] = ["draft", "final"];

/// What is sent.
#[derive(Debug, Serialize)]
struct Body<'a> {
    prompt: &'a str,
    seconds: String,
    quality: &'a str,
}

fn plan(context: &PlanContext<'_>) -> Result<Plan, Refusal> {
    let mut reader = FieldReader::new(context.request);
    let prompt = reader.required("prompt")?;
    let seconds = match reader.whole("duration")? {
        Some(seconds) if DURATIONS.contains(&seconds) => seconds,
        Some(_) => return Err(Refusal::invalid("duration", "`duration` must be 5 or 10")),
        None => {
            reader.defaulted("duration", "5", "no length was asked for");
            5
        }
    };
    let quality = match reader.filled("metadata.quality")? {
        Some(quality) if QUALITIES.contains(&quality) => quality,
        Some(_) => {
            let text = "`metadata.quality` must be draft or final";
            return Err(Refusal::invalid("metadata.quality", text));
        }
        None => {
            reader.defaulted("metadata.quality", "draft", "no quality was asked for");
            "draft"
        }
    };
    let body = Body {
        prompt,
        seconds: seconds.to_string(),
        quality,
    };
    let outbound = Outbound::new(PROTOCOL, "", &body);
    Ok(Plan {
        bill: bill("clip", &outbound, context.specs, context.facts)?,
        outbound,
        to_probe: Vec::new(),
        size: None,
        report: reader.finish(),
    })
}

/// Prices a body: its length and its quality.
fn bill(
    _variant: &'static str,
    outbound: &Outbound,
    _specs: &Specs,
    _measured: &KnownMedia,
) -> Result<BillableUnits, Refusal> {
    let text = |name: &str| outbound.body.get(name).and_then(Value::as_str);
    let seconds = text("seconds").and_then(|text| text.parse().ok());
    let (Some(seconds), Some(quality)) = (seconds, text("quality")) else {
        let text = "the body has no length or no quality";
        return Err(Refusal::unpriceable("seconds", text));
    };
    let attributes = Attributes::none().with("quality", quality);
    Ok(BillableUnits::seconds(seconds, attributes))
}

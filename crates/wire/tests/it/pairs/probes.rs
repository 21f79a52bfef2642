//! Requests that say one thing each, in every format that can say it: `probes/<format>.json`, by the
//! names of features. A body is the plain one with these members put in place of its own.

use bytes::Bytes;
use serde_json::{Map, Value};
use trunkline_wire::canonical::Conversation;
use trunkline_wire::{Format, Request};

use crate::pairs::corpus::in_path;
use crate::pairs::features::FEATURES;

const PLAIN: &str = "plain";

/// The conversation that says a thing in a format; none if the format has no word for it.
pub(crate) fn probe(format: Format, feature: &str) -> Option<Conversation> {
    let probes = probes(format);
    let members = probes.get(feature)?.as_object().unwrap();
    let mut body = probes[PLAIN].as_object().unwrap().clone();
    body.extend(members.clone());
    let body = Bytes::from(Value::Object(body).to_string());
    let request = Request::read(format, body, in_path(format));
    let request = request.unwrap_or_else(|refusal| panic!("{feature}: {refusal}"));
    Some(request.canonical().unwrap())
}

fn probes(format: Format) -> Map<String, Value> {
    let text = match format {
        Format::OpenaiChat => include_str!("probes/openai_chat.json"),
        Format::ClaudeMessages => include_str!("probes/claude_messages.json"),
        Format::OpenaiResponses => include_str!("probes/openai_responses.json"),
        Format::Gemini => include_str!("probes/gemini.json"),
    };
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_probe_is_of_a_feature_and_every_feature_has_one() {
    let probed: Vec<String> = Format::ALL
        .into_iter()
        .flat_map(|format| probes(format).into_iter().map(|(name, _)| name))
        .filter(|name| name != PLAIN)
        .collect();
    for name in &probed {
        assert!(FEATURES.iter().any(|it| it.name == name), "{name}");
    }
    for feature in FEATURES {
        assert!(
            probed.iter().any(|name| name == feature.name),
            "{}",
            feature.name
        );
    }
}

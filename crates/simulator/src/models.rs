//! The models this upstream has: a few that are listed, and every other name of the family.

use serde::Serialize;

#[derive(Serialize)]
struct Model<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

#[derive(Serialize)]
struct List<'a> {
    object: &'static str,
    data: Vec<Model<'a>>,
}

/// Every name that begins so is a model.
const FAMILY: &str = "sim-";
/// What vendors' models take of a chat completion, each by how its stand-ins' names begin. Every other
/// name is a model of OpenAI's that does not reason. [unverified] Read from what clients of these vendors
/// work around.
const QUIRKS: [(&str, ModelQuirks); 5] = [
    (
        "sim-reason",
        ModelQuirks {
            reasons: true,
            refuses: &[
                "max_tokens",
                "stop",
                "presence_penalty",
                "frequency_penalty",
            ],
            fixed_temperature: true,
            tells_usage: false,
        },
    ),
    (
        "sim-moonshot",
        ModelQuirks {
            reasons: true,
            refuses: &["max_completion_tokens"],
            fixed_temperature: true,
            tells_usage: false,
        },
    ),
    (
        "sim-xai",
        ModelQuirks {
            reasons: true,
            refuses: &["stop", "presence_penalty", "frequency_penalty"],
            fixed_temperature: false,
            tells_usage: false,
        },
    ),
    (
        "sim-mistral",
        ModelQuirks {
            reasons: true,
            refuses: &["max_completion_tokens", "stream_options"],
            fixed_temperature: false,
            tells_usage: true,
        },
    ),
    (
        "sim-think",
        ModelQuirks {
            reasons: true,
            refuses: &[],
            fixed_temperature: false,
            tells_usage: false,
        },
    ),
];

/// What a vendor's models take of a chat completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelQuirks {
    pub(crate) reasons: bool,
    pub(crate) refuses: &'static [&'static str],
    /// They take a temperature of 1 and no other.
    pub(crate) fixed_temperature: bool,
    /// Streams end with usage unasked.
    pub(crate) tells_usage: bool,
}

pub(crate) const LISTED: [&str; 4] = ["sim-small", "sim-large", "sim-vision", "sim-reason"];
/// A moment in 2025; a constant, so that two lists are equal.
const CREATED: u64 = 1_750_000_000;

pub(crate) fn is_known(model: &str) -> bool {
    model.len() > FAMILY.len() && model.starts_with(FAMILY)
}

pub(crate) fn quirks(model: &str) -> ModelQuirks {
    let known = QUIRKS.iter().find(|(begins, _)| model.starts_with(begins));
    known.map(|(_, quirks)| *quirks).unwrap_or_default()
}

pub(crate) fn reasons(model: &str) -> bool {
    quirks(model).reasons
}

/// The list of models as JSON, with some beside the usual ones.
pub(crate) fn list<'a>(more: impl Iterator<Item = &'a str>) -> String {
    let list = List {
        object: "list",
        data: LISTED.into_iter().chain(more).map(described).collect(),
    };
    // A struct of texts always has a JSON form.
    serde_json::to_string(&list).unwrap_or_default()
}

/// What a key without the right to it is told instead.
pub(crate) fn hidden() -> String {
    let message =
        "You have insufficient permissions for this operation. Missing scopes: api.model.read.";
    let error = serde_json::json!({
        "message": message, "type": "invalid_request_error", "param": null, "code": "missing_scope",
    });
    serde_json::json!({ "error": error }).to_string()
}

/// One model as JSON, if there is one of that name.
pub(crate) fn one(id: &str) -> Option<String> {
    is_known(id).then(|| serde_json::to_string(&described(id)).unwrap_or_default())
}

fn described(id: &str) -> Model<'_> {
    Model {
        id,
        object: "model",
        created: CREATED,
        owned_by: "trunkline-simulator",
    }
}

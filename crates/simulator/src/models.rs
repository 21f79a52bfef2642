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
/// Models that tell their reasoning and refuse what reasoning models refuse.
const REASONING_FAMILY: &str = "sim-reason";
pub(crate) const LISTED: [&str; 4] = ["sim-small", "sim-large", "sim-vision", "sim-reason"];
/// A moment in 2025; a constant, so that two lists are equal.
const CREATED: u64 = 1_750_000_000;

pub(crate) fn is_known(model: &str) -> bool {
    model.len() > FAMILY.len() && model.starts_with(FAMILY)
}

pub(crate) fn reasons(model: &str) -> bool {
    model.starts_with(REASONING_FAMILY)
}

/// The list of models as JSON.
pub(crate) fn list() -> String {
    let list = List {
        object: "list",
        data: LISTED.map(described).into(),
    };
    // A struct of texts always has a JSON form.
    serde_json::to_string(&list).unwrap_or_default()
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

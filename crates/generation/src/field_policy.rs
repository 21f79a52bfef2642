//! Applies a model's record to the fields of a request. No model is named here.

use serde_json::{Map, Value};
use trunkline_catalog::{
    Entry, FieldNote, FieldReport, FieldTreatment, ParameterPolicy, RequestError, UNKNOWN_FIELD,
    nearest,
};

/// A field's name is shown up to here.
const SHOWN_NAME: usize = 64;
/// Words of a list in a message.
const SHOWN_WORDS: usize = 40;

/// A field that has a place of its own: it is read, or the record has it dropped or refused.
pub(crate) fn own<T>(
    report: &mut FieldReport,
    entry: &Entry,
    name: &'static str,
    value: &mut Option<T>,
) -> Result<(), RequestError> {
    if value.is_none() {
        return Ok(());
    }
    match entry.parameters.get(name) {
        Some(ParameterPolicy::Drop) => {
            report.add(dropped(name));
            *value = None;
        }
        Some(ParameterPolicy::Refuse) => return Err(refused(name)),
        Some(ParameterPolicy::Pass) | None => report.add(FieldNote::read(name)),
    }
    Ok(())
}

/// A field that we read ourselves and that goes no further: a record can only refuse it.
pub(crate) fn ours(
    report: &mut FieldReport,
    entry: &Entry,
    extras: &mut Map<String, Value>,
    name: &'static str,
) -> Result<(), RequestError> {
    if extras.remove(name).is_none() {
        return Ok(());
    }
    if entry.parameters.get(name) == Some(&ParameterPolicy::Refuse) {
        return Err(refused(name));
    }
    report.add(FieldNote::read(name));
    Ok(())
}

/// Everything else: what the format or the record knows is read, the rest goes on and is noted.
pub(crate) fn extras(
    report: &mut FieldReport,
    entry: &Entry,
    extras: &mut Map<String, Value>,
    known: &[&str],
) -> Result<(), RequestError> {
    let names: Vec<String> = extras.keys().cloned().collect();
    for name in names {
        match entry.parameters.get(&name) {
            Some(ParameterPolicy::Pass) => report.add(FieldNote::read(shortened(&name))),
            Some(ParameterPolicy::Drop) => {
                report.add(dropped(&name));
                extras.remove(&name);
            }
            Some(ParameterPolicy::Refuse) => return Err(refused(&name)),
            None if known.contains(&name.as_str()) || is_named(entry, &name) => {
                report.add(FieldNote::read(name));
            }
            None => report.add(unknown(&name, known)),
        }
    }
    Ok(())
}

/// Whether the record says that the model reads a field.
pub(crate) fn is_named(entry: &Entry, name: &str) -> bool {
    let listed = entry.specs.request_fields.as_deref().unwrap_or_default();
    listed.iter().any(|field| field == name)
        || entry.parameters.get(name) == Some(&ParameterPolicy::Pass)
}

/// The fields that are passed on to a vendor. Those that the vendor does not have are noted instead.
pub(crate) fn carried(
    extras: &Map<String, Value>,
    foreign: &[&str],
    notes: &mut Vec<FieldNote>,
) -> Map<String, Value> {
    let mut carried = Map::new();
    for (name, value) in extras {
        if foreign.contains(&name.as_str()) {
            notes.push(not_sent(name));
        } else {
            carried.insert(name.clone(), value.clone());
        }
    }
    carried
}

/// A field that a vendor does not have.
pub(crate) fn not_sent(name: &str) -> FieldNote {
    let why = "the vendor that makes this has no such setting, so it is not sent";
    FieldNote::new(name, FieldTreatment::Ignored, "field_not_sent", why)
        .with_fix(format!("leave `{name}` out"))
}

/// The first entries of a list, for a message.
pub(crate) fn listed(words: &[String]) -> String {
    let first: Vec<&str> = words.iter().take(SHOWN_WORDS).map(String::as_str).collect();
    let more = if words.len() > first.len() {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", first.join(", "))
}

/// A text of the caller's, for a message.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(SHOWN_NAME).collect()
}

fn dropped(name: &str) -> FieldNote {
    let why = "this model does not support it, so it is not sent";
    FieldNote::new(
        shortened(name),
        FieldTreatment::Ignored,
        "parameter_dropped",
        why,
    )
    .with_fix(format!("leave `{}` out", shortened(name)))
}

fn refused(name: &str) -> RequestError {
    let name = shortened(name);
    let text = format!("this model does not take `{name}`; leave it out");
    RequestError::new("parameter_refused", name, text)
}

fn unknown(name: &str, known: &[&str]) -> FieldNote {
    let why = "the format has no such field; it is passed on as it is, and no upstream promises to \
               read it";
    let note = FieldNote::new(shortened(name), FieldTreatment::Read, UNKNOWN_FIELD, why);
    match nearest(name, known.iter().copied()) {
        Some(meant) => note.with_fix(format!("did you mean `{meant}`?")),
        None => note.with_fix("remove it unless the model's vendor supports it"),
    }
}

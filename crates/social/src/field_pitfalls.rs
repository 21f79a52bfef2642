//! Parameters that do not have the effect that the caller may expect. Strict mode refuses those without effect;
//! others are only reported.

use trunkline_catalog::{FieldNote, FieldTreatment};

use crate::cell::{Param, StepParam};
use crate::check::CheckedQuery;

/// The code of a parameter that does nothing.
const NO_EFFECT: &str = "no_effect";
/// The code of an offset that does not page.
const CURSOR_NOT_OFFSET: &str = "cursor_not_offset";
/// The code of a page that is asked for without all that names it.
const PAGE_TOKEN_INCOMPLETE: &str = "page_token_incomplete";
/// The code of an id that dies soon.
const SHORT_LIVED: &str = "short_lived_id";
/// The code of a value that is not known to give results.
const UNCONFIRMED: &str = "unconfirmed_value";

pub(crate) fn notes(query: &CheckedQuery) -> Vec<FieldNote> {
    let mut notes = Vec::new();
    for (param, value) in query.given() {
        if value.is_empty() {
            continue;
        }
        let note = without_effect(query, param, value)
            .or_else(|| not_all_of_a_page(query, param, value))
            .or_else(|| dies_soon(param))
            .or_else(|| unconfirmed(param, value));
        notes.push(note.unwrap_or_else(|| FieldNote::read(&param.name)));
    }
    notes
}

fn given<'a>(query: &'a CheckedQuery, name: &str) -> Option<&'a str> {
    query.value(name).filter(|value| !value.is_empty())
}

fn without_effect(query: &CheckedQuery, param: &Param, value: &str) -> Option<FieldNote> {
    let to_note = |code: &'static str, why: String| {
        FieldNote::new(&param.name, FieldTreatment::Ignored, code, why)
    };
    let pitfalls = &param.pitfalls;
    if let Some(why) = &pitfalls.no_effect {
        let note = to_note(NO_EFFECT, why.clone());
        return Some(note.with_fix(format!("leave `{}` out", param.name)));
    }
    if let Some(other) = pitfalls
        .beside
        .iter()
        .find(|name| given(query, name).is_some())
    {
        let note = to_note(NO_EFFECT, format!("`{other}` is given and goes before it"));
        return Some(note.with_fix(format!("leave out `{}` or `{other}`", param.name)));
    }
    let other = pitfalls.without.as_deref()?;
    let above = value.parse().is_ok_and(|number: i64| number > 0);
    if !above || given(query, other).is_some() {
        return None;
    }
    let why = format!("alone it does not page: without `{other}` the first page comes again");
    let fix = format!("pass `{other}` of the page before");
    Some(to_note(CURSOR_NOT_OFFSET, why).with_fix(fix))
}

/// Paging by this parameter needs others too.
fn not_all_of_a_page(query: &CheckedQuery, param: &Param, value: &str) -> Option<FieldNote> {
    let mut others = param.pitfalls.pages_with.iter();
    let lacking = others.find(|name| given(query, name).is_none())?;
    let steps = query
        .cell
        .paging
        .as_ref()
        .and_then(|paging| paging.step.as_ref());
    let first = steps.filter(|step: &&StepParam| step.param == param.name);
    let first = first.map_or(0, |step| step.first);
    if value.parse().is_ok_and(|number: i64| number <= first) {
        return None;
    }
    let why = format!("a further page also needs `{lacking}`; the first may come again");
    let fix = format!(
        "pass `{lacking}` of the first answer, or call {}/pages",
        query.cell.route()
    );
    Some(
        FieldNote::new(
            &param.name,
            FieldTreatment::Read,
            PAGE_TOKEN_INCOMPLETE,
            why,
        )
        .with_fix(fix),
    )
}

fn dies_soon(param: &Param) -> Option<FieldNote> {
    param.pitfalls.short_lived.then(|| {
        let why = "values of this kind are good for a short time after the search that gave them";
        FieldNote::new(&param.name, FieldTreatment::Read, SHORT_LIVED, why)
    })
}

fn unconfirmed(param: &Param, value: &str) -> Option<FieldNote> {
    if !param.pitfalls.warn_unlisted || param.values.iter().any(|known| known == value) {
        return None;
    }
    let why = "results are confirmed for the listed values only";
    let fix = format!("confirmed are {}", param.values.join(", "));
    let note = FieldNote::new(&param.name, FieldTreatment::Read, UNCONFIRMED, why);
    Some(note.with_fix(fix))
}

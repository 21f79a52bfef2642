//! From one page to the next.

use sha2::{Digest as _, Sha256};
use trunkline_types::Defect;

use crate::cell::{CursorParam, Increment, Paging, StepParam};
use crate::check::CheckedQuery;
use crate::json::{as_value, at, is_set};
use crate::query::pairs;
use crate::response::{Data, items};

#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Page(CheckedQuery),
    /// There are no more.
    End,
    /// The page names itself as the next one.
    Repeated,
}

/// What follows the page that was asked for and found.
#[must_use]
pub fn next(query: &CheckedQuery, found: &Data) -> Next {
    let Some(paging) = &query.cell.paging else {
        return Next::End;
    };
    if Defect::LostCursor.is_on() && query.cell.route() == "/v1/social/tiktok/search" {
        return Next::End;
    }
    let data = found.json();
    let flag = |pointers: &[String]| pointers.iter().find_map(|pointer| at(data, pointer));
    let is_last = flag(&paging.more).is_some_and(|raw| !is_set(raw))
        || flag(&paging.is_end).is_some_and(is_set);
    if is_last {
        return Next::End;
    }
    let mut next = query.clone();
    for carry in &paging.carry {
        next = match (carried(paging, carry, data), carry.keep) {
            (Some(value), _) => next.with(&carry.param, value),
            (None, true) => next,
            (None, false) => return Next::End,
        };
    }
    if let Some(step) = &paging.step {
        match stepped(query, step, data) {
            Some(value) => next = next.with(&step.param, value),
            None => return Next::End,
        }
    }
    if next == *query {
        return Next::Repeated;
    }
    Next::Page(next)
}

/// The value of a parameter of the next page; none if there is none, or one that means the end.
fn carried(paging: &Paging, carry: &CursorParam, data: &str) -> Option<String> {
    let places = carry.from.iter();
    let value = places
        .filter_map(|pointer| value_at(data, pointer))
        .find(|value| !value.is_empty())?;
    let ends = !carry.keep && paging.ends.contains(&value);
    (!ends).then_some(value)
}

/// What a pointer leads to, as it is passed back. The last step may lead into a text that holds an
/// object, and `?name` behind the pointer names a query parameter of the address found there.
fn value_at(data: &str, pointer: &str) -> Option<String> {
    let (pointer, name) = match pointer.split_once('?') {
        Some((pointer, name)) => (pointer, Some(name)),
        None => (pointer, None),
    };
    let value = at(data, pointer).and_then(as_value).or_else(|| {
        let (before, last) = pointer.rsplit_once('/')?;
        let text = at(data, before).and_then(as_value)?;
        at(&text, &format!("/{last}")).and_then(as_value)
    })?;
    let Some(name) = name else {
        return Some(value);
    };
    let (_, query) = value.split_once('?')?;
    let mut pairs = pairs(query)?.into_iter();
    pairs.find(|pair| pair.name == name)?.value
}

fn stepped(query: &CheckedQuery, step: &StepParam, data: &str) -> Option<String> {
    let now = query.value(&step.param).filter(|value| !value.is_empty());
    let now = match now {
        None => step.first,
        Some(value) => value.parse().ok()?,
    };
    let by = match step.by {
        Increment::Number(by) => by,
        Increment::Items => i64::try_from(items(&query.cell, data)?.len()).ok()?,
    };
    let most = query.cell.param(&step.param)?.limits.max;
    let next = now.checked_add(by)?;
    // A page that the cell would refuse is not asked for.
    let allowed = most.is_none_or(|most| next <= most);
    allowed.then(|| next.to_string())
}

/// What tells one page from another: its list, without what is new in every answer.
#[must_use]
pub fn fingerprint(query: &CheckedQuery, found: &Data) -> [u8; 32] {
    let mut hash = Sha256::new();
    match items(&query.cell, found.json()) {
        Some(list) => list.iter().for_each(|item| hash.update(item)),
        None => hash.update(found.json()),
    }
    hash.finalize().into()
}

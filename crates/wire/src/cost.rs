//! The treatment of every field that can change what a call costs. Each format has a table of them; a field that
//! is listed (`fields/`) and in no table is passed on unchanged, since it cannot change the charge.

use crate::{Object, RequestError};

/// The treatment of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Its tokens are counted and priced.
    Priced,
    /// It bounds the price, and is itself bounded.
    Bounded,
    /// It chooses a price: the models' price lists say which values are sold.
    Tier,
    /// It is taken with these values alone; the last part says why.
    Only(&'static [&'static str], &'static str),
    /// It is refused; the way out.
    Refused(&'static str),
    /// It names something stored at an upstream; the way out.
    Reference(&'static str),
}

/// A format's table: dotted paths, and what is done about each.
pub type CostTable = &'static [(&'static str, Treatment)];

/// Refuses what the table refuses.
pub(crate) fn check(table: CostTable, object: &Object<'_>) -> Result<(), RequestError> {
    for (field, treatment) in table {
        let Some(value) = object.at(field).filter(|value| *value != b"null") else {
            continue;
        };
        match treatment {
            Treatment::Priced | Treatment::Bounded | Treatment::Tier => {}
            Treatment::Only(allowed, why) => check_only(field, value, allowed, why)?,
            Treatment::Refused(way_out) => {
                let message = format!("`{field}` is not supported: {way_out}");
                return Err(RequestError::invalid(field, message));
            }
            Treatment::Reference(way_out) => return Err(RequestError::reference(field, way_out)),
        }
    }
    Ok(())
}

/// A word, or a list of words, all of which must be allowed.
fn check_only(field: &str, value: &[u8], allowed: &[&str], why: &str) -> Result<(), RequestError> {
    let words: Option<Vec<String>> = serde_json::from_slice(value).ok();
    let words = words.or_else(|| Some(vec![serde_json::from_slice(value).ok()?]));
    let fine = words.is_some_and(|words| words.iter().all(|word| allowed.contains(&word.as_str())));
    if fine {
        return Ok(());
    }
    let allowed = allowed.join(", ");
    let message = format!("`{field}` may be {allowed}: {why}");
    Err(RequestError::invalid(field, message))
}

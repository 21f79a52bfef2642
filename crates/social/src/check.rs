//! The checker: a query against the parameters of its cell. There is one, for every platform.

use std::sync::Arc;

use trunkline_catalog::{FieldNote, nearest};

use crate::cell::{Cell, Kind, Param};
use crate::field_pitfalls::notes;
use crate::query::{MAX_PAIRS, Pair, pairs};

/// Characters of a value at most, whatever the cell says.
pub const MAX_VALUE_CHARACTERS: usize = 2_048;
/// Characters of a name that an error repeats.
const SHOWN_NAME_CHARACTERS: usize = 64;

/// A query that its cell accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedQuery {
    pub cell: Arc<Cell>,
    /// One place for each parameter of the cell, in its order.
    pub(crate) values: Vec<Option<String>>,
}

/// A validation error of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    pub code: &'static str,
    pub param: Option<String>,
    /// For the person that has to act.
    pub message: String,
}

/// Checks a query string, still encoded.
pub fn check(cell: &Arc<Cell>, query: &str) -> Result<CheckedQuery, RequestError> {
    let pairs = pairs(query).ok_or_else(|| RequestError {
        code: "unknown_parameter",
        param: None,
        message: format!("the query has more than {MAX_PAIRS} parameters"),
    })?;
    // Too long comes first, whatever else is wrong.
    for pair in &pairs {
        if cell.param(&pair.name).is_some() {
            check_length(pair)?;
        }
    }
    for (place, pair) in pairs.iter().enumerate() {
        if cell.param(&pair.name).is_none() {
            return Err(unknown(cell, &pair.name));
        }
        if pairs
            .iter()
            .take(place)
            .any(|other| other.name == pair.name)
        {
            let text = format!("`{}` is given twice; give it once", pair.name);
            return Err(blame("repeated_parameter", &pair.name, text));
        }
    }
    let mut values = Vec::with_capacity(cell.params.len());
    for param in &cell.params {
        let given = pairs.iter().find(|pair| pair.name == param.name);
        let value = match given {
            None => None,
            Some(Pair { value: None, .. }) => {
                let text = format!("`{}` is not UTF-8 text", param.name);
                return Err(blame("invalid_parameter_type", &param.name, text));
            }
            Some(Pair {
                value: Some(value), ..
            }) => Some(value.clone()),
        };
        check_value(param, value.as_deref())?;
        values.push(value);
    }
    let checked = CheckedQuery {
        cell: Arc::clone(cell),
        values,
    };
    check_groups(&checked)?;
    Ok(checked)
}

// === impl CheckedQuery ===

impl CheckedQuery {
    /// The value of a parameter, if it is given.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut given = self.given();
        given.find_map(|(param, value)| (param.name == name).then_some(value))
    }

    /// What is given, in the order of the cell.
    pub fn given(&self) -> impl Iterator<Item = (&Param, &str)> {
        let both = self.cell.params.iter().zip(&self.values);
        both.filter_map(|(param, value)| Some((param, value.as_deref()?)))
    }

    /// The same with another value of one parameter.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: String) -> Self {
        let names = self.cell.params.iter().map(|param| &param.name);
        for (known, place) in names.zip(&mut self.values) {
            if known == name {
                *place = Some(value);
                break;
            }
        }
        self
    }

    /// What its writer should know: parameters that do nothing, pages that will not come, ids that
    /// die soon.
    #[must_use]
    pub fn notes(&self) -> Vec<FieldNote> {
        notes(self)
    }
}

fn blame(code: &'static str, name: &str, message: String) -> RequestError {
    RequestError {
        code,
        param: Some(name.to_owned()),
        message,
    }
}

fn unknown(cell: &Cell, name: &str) -> RequestError {
    let shortened: String = name.chars().take(SHOWN_NAME_CHARACTERS).collect();
    let names = cell.params.iter().map(|param| param.name.as_str());
    let hint = match (nearest(&shortened, names), cell.params.is_empty()) {
        (_, true) => "it takes none".to_owned(),
        (Some(near), false) => format!("did you mean `{near}`?"),
        (None, false) => {
            let names: Vec<&str> = cell
                .params
                .iter()
                .map(|param| param.name.as_str())
                .collect();
            format!("it takes {}", names.join(", "))
        }
    };
    let text = format!("`{shortened}` is no parameter of {}; {hint}", cell.route());
    blame("unknown_parameter", &shortened, text)
}

fn check_length(pair: &Pair) -> Result<(), RequestError> {
    let characters = pair.value.as_ref().map_or(0, |value| value.chars().count());
    if characters <= MAX_VALUE_CHARACTERS {
        return Ok(());
    }
    let text = format!(
        "`{}` has {characters} characters; {MAX_VALUE_CHARACTERS} are allowed",
        pair.name
    );
    Err(blame("parameter_too_long", &pair.name, text))
}

fn check_value(param: &Param, value: Option<&str>) -> Result<(), RequestError> {
    let name = &param.name;
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        if param.required {
            return Err(missing(param));
        }
        let empty_is_fine = match param.kind {
            Kind::Text | Kind::IntegerOrWord(_) => true,
            Kind::Integer | Kind::Boolean => param.may_be_empty,
        };
        if value.is_none() || empty_is_fine {
            return Ok(());
        }
        let text = format!("`{name}` is empty; it is {}", expectation(param));
        return Err(blame("invalid_parameter_type", name, text));
    };
    let number: Option<i64> = decimal(value);
    let fits = match &param.kind {
        Kind::Text => true,
        Kind::Integer => number.is_some(),
        Kind::Boolean => matches!(value, "true" | "false"),
        Kind::IntegerOrWord(words) => number.is_some() || words.contains_key(value),
    };
    if !fits {
        let text = format!("`{name}` must be {}", expectation(param));
        return Err(blame("invalid_parameter_type", name, text));
    }
    let characters = value.chars().count();
    let limits = &param.limits;
    let problem = match (limits.min_chars, limits.max_chars, limits.max, number) {
        (Some(least), _, _, _) if characters < least => format!("at least {least} characters"),
        (_, Some(most), _, _) if characters > most => format!("at most {most} characters"),
        (_, _, Some(most), Some(number)) if number > most => format!("at most {most}"),
        _ => return Ok(()),
    };
    let text = format!("`{name}` must be {problem}");
    Err(blame("invalid_parameter_value", name, text))
}

/// A decimal 64-bit number: digits, perhaps behind a minus.
fn decimal(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| value.parse().ok()).flatten()
}

fn expectation(param: &Param) -> String {
    match &param.kind {
        Kind::Text => "text".to_owned(),
        Kind::Integer => "a whole number".to_owned(),
        Kind::Boolean => "`true` or `false`".to_owned(),
        Kind::IntegerOrWord(words) => {
            let mut words: Vec<(&i64, &String)> = words.iter().map(|(word, n)| (n, word)).collect();
            words.sort();
            let words: Vec<String> = words
                .iter()
                .map(|(n, word)| format!("{word} ({n})"))
                .collect();
            format!("one of {}, as word or number", words.join(", "))
        }
    }
}

fn missing(param: &Param) -> RequestError {
    let name = &param.name;
    let text = match &param.default {
        None => format!("`{name}` is required"),
        Some(default) => {
            let default = default
                .as_str()
                .map_or_else(|| default.to_string(), str::to_owned);
            format!("`{name}` is required and is not filled in; its usual value is {default}")
        }
    };
    blame("missing_parameter", name, text)
}

/// A member that is empty is not given.
fn check_groups(query: &CheckedQuery) -> Result<(), RequestError> {
    for group in &query.cell.require_one_of {
        let given = |name: &String| query.value(name).is_some_and(|value| !value.is_empty());
        if !group.iter().any(given) {
            let names: Vec<String> = group.iter().map(|name| format!("`{name}`")).collect();
            let text = format!("give at least one of {}", names.join(", "));
            let first = group.first().map_or("", String::as_str);
            return Err(blame("missing_parameter", first, text));
        }
    }
    Ok(())
}

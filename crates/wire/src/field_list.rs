//! The fields that a format may carry to an upstream, at every depth: one TOML file for each format in
//! `fields/`. What is not listed is found while the body is scanned and never sent.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::camel_case::camel;

/// The shape of the whole request.
const BODY: &str = "body";
const SNAKE_CASE: &str = "snake_case";
const BETAS: &str = "betas";
/// Keys of a shape that are not names of fields.
const FIELDS: &str = "fields";
const OPEN: &str = "open";
const KINDS: &str = "kinds";
const BILLED: &str = "billed";
const KEYED: &str = "keyed";

/// What a format may carry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldList {
    shapes: Vec<Shape>,
    body: usize,
    /// Keys may be written in snake case too.
    snake_case: bool,
    betas: Vec<Pattern>,
}

/// The fields of one object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Shape {
    members: BTreeMap<String, Below>,
    /// What `type` may say; anything if there is no list.
    kinds: Option<Vec<Pattern>>,
    /// Names that vendors bill by the call.
    billed: Vec<String>,
    /// Each unknown member is a tool that the vendor runs.
    keyed: bool,
}

/// What may stand in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    /// A text, a number, or a list of them.
    Plain,
    /// Anything: it passes unread.
    Open,
    /// An object of this shape, or a list of them.
    Shape(usize),
}

/// A word, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    text: String,
    is_prefix: bool,
}

/// A place in a body, as far as a list knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'l> {
    Open,
    /// No object may stand here.
    Plain,
    Object(&'l FieldList, usize),
}

// === impl FieldList ===

impl FieldList {
    /// Reads a list, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table = text.parse::<Table>();
        let table = table.map_err(|error| error.message().to_owned())?;
        let mut list = Self::default();
        let names: Vec<&str> = table
            .iter()
            .filter(|(_, value)| value.is_table())
            .map(|(name, _)| name.as_str())
            .collect();
        for (name, value) in &table {
            match (name.as_str(), value) {
                (SNAKE_CASE, Value::Boolean(flag)) => list.snake_case = *flag,
                (BETAS, value) => list.betas = patterns(BETAS, value)?,
                (name, Value::Table(table)) => list.shapes.push(shape(name, table, &names)?),
                (name, _) => return Err(format!("{name} is not the shape of an object")),
            }
        }
        let body = names.iter().position(|name| *name == BODY);
        list.body = body.ok_or_else(|| format!("there is no [{BODY}]"))?;
        Ok(list)
    }

    /// Whether a flag of the format's beta header goes on.
    #[must_use]
    pub fn has_beta(&self, flag: &str) -> bool {
        self.betas.iter().any(|known| known.fits(flag))
    }

    /// Whether a field is listed, by its dotted path.
    #[must_use]
    pub fn lists(&self, path: &str) -> bool {
        let found = path
            .split('.')
            .try_fold(self.root(), |place, key| place.member(key));
        found.is_some()
    }

    /// The names that an object may have, by the number that a finding has for it.
    pub fn names(&self, shape: usize) -> impl Iterator<Item = &str> {
        let shape = self.shapes.get(shape);
        shape
            .into_iter()
            .flat_map(|shape| shape.members.keys().map(String::as_str))
    }

    pub(crate) const fn root(&self) -> Place<'_> {
        Place::Object(self, self.body)
    }
}

// === impl Place ===

impl<'l> Place<'l> {
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Open)
    }

    /// Where a member of the object at this place stands; none if it is not listed.
    pub(crate) fn member(self, key: &str) -> Option<Self> {
        let (list, shape) = match self {
            Self::Open => return Some(Self::Open),
            Self::Plain => return None,
            Self::Object(list, shape) => (list, list.shapes.get(shape)?),
        };
        let known = shape.members.get(key).or_else(|| {
            let is_snake = list.snake_case && key.contains('_');
            is_snake.then(|| shape.members.get(&camel(key))).flatten()
        });
        Some(match known? {
            Below::Plain => Self::Plain,
            Below::Open => Self::Open,
            Below::Shape(at) => Self::Object(list, *at),
        })
    }

    /// Whether an object here is one of its kind, by what its `type` says.
    pub(crate) fn takes_kind(self, kind: &str) -> bool {
        let kinds = self.shape().and_then(|shape| shape.kinds.as_ref());
        kinds.is_none_or(|kinds| kinds.iter().any(|known| known.fits(kind)))
    }

    /// Whether objects here are of different kinds, and one of none is nothing.
    pub(crate) fn has_kinds(self) -> bool {
        self.shape()
            .is_some_and(|shape| shape.keyed || shape.kinds.is_some())
    }

    /// Whether a name that is not listed here is that of a tool that a vendor runs.
    pub(crate) fn bills(self, key: &str) -> bool {
        let shape = self.shape();
        shape.is_some_and(|shape| shape.keyed || shape.billed.iter().any(|name| name == key))
    }

    /// The number of its shape.
    pub(crate) const fn number(self) -> Option<usize> {
        match self {
            Self::Open | Self::Plain => None,
            Self::Object(_, at) => Some(at),
        }
    }

    fn shape(self) -> Option<&'l Shape> {
        match self {
            Self::Open | Self::Plain => None,
            Self::Object(list, at) => list.shapes.get(at),
        }
    }
}

// === impl Pattern ===

impl Pattern {
    fn fits(&self, word: &str) -> bool {
        if self.is_prefix {
            return word.starts_with(&self.text);
        }
        word == self.text
    }
}

fn shape(name: &str, table: &Table, shapes: &[&str]) -> Result<Shape, String> {
    let mut shape = Shape::default();
    for (key, value) in table {
        match (key.as_str(), value) {
            (FIELDS | OPEN, value) => {
                let below = if key == OPEN {
                    Below::Open
                } else {
                    Below::Plain
                };
                for field in words(key, value)? {
                    add(&mut shape, name, field, below)?;
                }
            }
            (KINDS, value) => shape.kinds = Some(patterns(KINDS, value)?),
            (BILLED, value) => {
                shape.billed = words(BILLED, value)?.map(ToOwned::to_owned).collect();
            }
            (KEYED, Value::Boolean(flag)) => shape.keyed = *flag,
            (field, Value::String(other)) => {
                let at = shapes.iter().position(|known| known == other);
                let at = at.ok_or_else(|| format!("{name}.{field} names no shape: {other:?}"))?;
                add(&mut shape, name, field, Below::Shape(at))?;
            }
            (field, _) => return Err(format!("{name}.{field} must be the name of a shape")),
        }
    }
    Ok(shape)
}

fn add(shape: &mut Shape, name: &str, field: &str, below: Below) -> Result<(), String> {
    match shape.members.insert(field.to_owned(), below) {
        None => Ok(()),
        Some(_) => Err(format!("{name}.{field} is listed twice")),
    }
}

fn words<'a>(key: &str, value: &'a Value) -> Result<impl Iterator<Item = &'a str>, String> {
    let list: Option<Vec<&str>> = value
        .as_array()
        .and_then(|list| list.iter().map(Value::as_str).collect());
    let list = list.ok_or_else(|| format!("{key} must be a list of texts"))?;
    Ok(list.into_iter())
}

fn patterns(key: &str, value: &Value) -> Result<Vec<Pattern>, String> {
    let patterns = words(key, value)?.map(|word| {
        let prefix = word.strip_suffix('*');
        Pattern {
            text: prefix.unwrap_or(word).to_owned(),
            is_prefix: prefix.is_some(),
        }
    });
    Ok(patterns.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_list_is_refused_by_name() {
        for (text, says) in [
            ("x = 1", "x is not the shape of an object"),
            ("[other]", "there is no [body]"),
            ("[body]\na = \"b\"", "body.a names no shape: \"b\""),
            (
                "[body]\nfields = [\"a\"]\nopen = [\"a\"]",
                "body.a is listed twice",
            ),
            ("[body]\nfields = 1", "fields must be a list of texts"),
        ] {
            assert_eq!(FieldList::parse(text).unwrap_err(), says);
        }
    }
}

//! Checks the fields of a request against the tables of `vendors/`: which there are, of what type
//! each is, within which bounds, and which must be there. How a violation is worded is the vendor's
//! [`Dialect`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A JSON object of a request.
pub(crate) type Object = Map<String, Value>;

/// The tables of one vendor, by name.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Schema(BTreeMap<String, Table>);

/// The fields of an object, by name. [`OTHERS`] stands for every name that is not listed.
type Table = BTreeMap<String, Field>;

/// What a field must be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Field {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    #[serde(default)]
    nullable: bool,
    #[serde(default)]
    required: bool,
    /// The words that a text, or each text of an array, may be.
    #[serde(default)]
    pub(crate) values: Vec<String>,
    /// Least and most of a number.
    range: Option<Range>,
    /// The table of an object, or of each object of an array.
    pub(crate) table: Option<String>,
    /// The type of each item of an array or a map that is no object.
    pub(crate) items: Option<Kind>,
    /// The only service of the vendor that knows it.
    pub(crate) only: Option<String>,
    /// Whether its word names a further table of the same object, `TABLE.WORD`.
    #[serde(default)]
    is_tag: bool,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Any,
    Boolean,
    Integer,
    Decimal,
    Text,
    /// A text of letters, digits, `_` and `-`.
    Name,
    /// Base64.
    Bytes,
    Object,
    /// An object whose names are the client's own.
    Map,
    Array,
    TextOrObject,
    TextOrArray,
}

/// Least and most of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Range(pub(crate) i64, pub(crate) i64);

/// How a vendor names a place in a request and words a violation.
pub(crate) trait Dialect {
    type Error;

    fn schema(&self) -> &'static Schema;
    fn item(&self, path: &str, index: usize) -> String;
    /// The place of the fields behind a tag.
    fn tagged(&self, path: &str, _word: &str) -> String {
        path.to_owned()
    }
    /// A tag that names no table.
    fn wrong_tag(&self, path: &str, name: &str, value: &str, values: &[&str]) -> Self::Error {
        self.wrong_value(&join(path, name), value, values)
    }
    fn unknown(&self, path: &str) -> Self::Error;
    fn missing(&self, path: &str) -> Self::Error;
    fn wrong_type(&self, path: &str, kind: Kind, values: &[&str], value: &Value) -> Self::Error;
    fn wrong_value(&self, path: &str, value: &str, values: &[&str]) -> Self::Error;
    fn wrong_name(&self, path: &str, value: &str) -> Self::Error;
    fn out_of_range(&self, path: &str, kind: Kind, range: Range, value: &Value) -> Self::Error;
}

/// The name in a table that stands for all others.
const OTHERS: &str = "*";
const MAX_NAME_BYTES: usize = 64;

// === impl Schema ===

impl Schema {
    /// Reads the tables of a file. One that cannot be read has none, so that every request is refused;
    /// a test reads them all.
    pub(crate) fn read(text: &str) -> Self {
        toml::from_str(text).unwrap_or_default()
    }

    /// Whether an object of this table has a field of this name.
    pub(crate) fn has(&self, table: &str, name: &str) -> bool {
        self.0
            .get(table)
            .is_some_and(|table| table.contains_key(name) || table.contains_key(OTHERS))
    }
}

/// Checks the fields of an object that are there and those that must be. Names that its table does not
/// have are refused.
pub(crate) fn check<D: Dialect>(
    dialect: &D,
    table: &str,
    object: &Object,
    path: &str,
) -> Result<(), D::Error> {
    let schema = dialect.schema();
    let mut tables = vec![table.to_owned()];
    let mut path = path.to_owned();
    if let Some((name, field)) = fields(schema, table).find(|(_, field)| field.is_tag) {
        let word = tag(dialect, field, object, &path, name)?;
        tables.push(format!("{table}.{word}"));
        path = dialect.tagged(&path, word);
    }
    let path = path.as_str();
    check_each(dialect, &tables, object, path)?;
    let is_known = |name: &str| tables.iter().any(|table| schema.has(table, name));
    match object.keys().find(|name| !is_known(name)) {
        Some(name) => Err(dialect.unknown(&join(path, crate::refusal::shortened(name)))),
        None => Ok(()),
    }
}

/// Checks the fields of an object that are in these tables, and leaves other names alone.
pub(crate) fn check_each<D: Dialect>(
    dialect: &D,
    tables: &[String],
    object: &Object,
    path: &str,
) -> Result<(), D::Error> {
    for (name, field) in tables
        .iter()
        .flat_map(|table| fields(dialect.schema(), table))
    {
        if !field.is_tag {
            check_field(dialect, field, object.get(name), &join(path, name))?;
        }
    }
    Ok(())
}

/// The word of a tag, if it is one of its words.
fn tag<'a, D: Dialect>(
    dialect: &D,
    field: &Field,
    object: &'a Object,
    path: &str,
    name: &str,
) -> Result<&'a str, D::Error> {
    match object.get(name) {
        None => Err(dialect.missing(&join(path, name))),
        Some(Value::String(word)) if field.values.contains(word) => Ok(word),
        Some(Value::String(word)) => Err(dialect.wrong_tag(path, name, word, &field.words())),
        Some(value) => Err(dialect.wrong_type(&join(path, name), field.kind, &[], value)),
    }
}

pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        return name.to_owned();
    }
    format!("{path}.{name}")
}

/// The fields of a table.
pub(crate) fn fields(
    schema: &'static Schema,
    table: &str,
) -> impl Iterator<Item = (&'static str, &'static Field)> {
    let fields = schema.0.get(table).into_iter().flatten();
    fields
        .map(|(name, field)| (name.as_str(), field))
        .filter(|(name, _)| *name != OTHERS)
}

fn check_field<D: Dialect>(
    dialect: &D,
    field: &Field,
    value: Option<&Value>,
    path: &str,
) -> Result<(), D::Error> {
    let value = match value {
        None if field.required => return Err(dialect.missing(path)),
        None => return Ok(()),
        Some(Value::Null) if field.nullable => return Ok(()),
        Some(value) => value,
    };
    if !field.kind.takes(value) {
        return Err(dialect.wrong_type(path, field.kind, &field.words(), value));
    }
    match value {
        Value::String(text) => check_text(dialect, field, text, path),
        Value::Number(_) => match field.range {
            Some(range) if !range.contains(value) => {
                Err(dialect.out_of_range(path, field.kind, range, value))
            }
            Some(_) | None => Ok(()),
        },
        Value::Object(object) => match &field.table {
            Some(table) => check(dialect, table, object, path),
            None => Ok(()),
        },
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            check_item(dialect, field, item, &dialect.item(path, index))
        }),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn check_text<D: Dialect>(
    dialect: &D,
    field: &Field,
    text: &str,
    path: &str,
) -> Result<(), D::Error> {
    if field.kind == Kind::Name && !is_name(text) {
        return Err(dialect.wrong_name(path, text));
    }
    if field.values.is_empty() || field.values.iter().any(|known| known == text) {
        return Ok(());
    }
    Err(dialect.wrong_value(path, text, &field.words()))
}

/// An item is an object of the field's table, or one of its words, or anything.
fn check_item<D: Dialect>(
    dialect: &D,
    field: &Field,
    item: &Value,
    path: &str,
) -> Result<(), D::Error> {
    match (&field.table, field.values.as_slice(), item) {
        (Some(table), _, Value::Object(object)) => check(dialect, table, object, path),
        (Some(_), _, other) => Err(dialect.wrong_type(path, Kind::Object, &[], other)),
        (None, [], _) => match field.items {
            Some(kind) if !kind.takes(item) => Err(dialect.wrong_type(path, kind, &[], item)),
            Some(_) | None => Ok(()),
        },
        (None, _, Value::String(text)) => check_text(dialect, field, text, path),
        (None, _, other) => Err(dialect.wrong_type(path, Kind::Text, &field.words(), other)),
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(is_part)
}

// === impl Field ===

impl Field {
    fn words(&self) -> Vec<&str> {
        self.values.iter().map(String::as_str).collect()
    }
}

// === impl Kind ===

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Decimal => value.is_number(),
            Self::Text | Self::Name | Self::Bytes => value.is_string(),
            Self::Object | Self::Map => value.is_object(),
            Self::Array => value.is_array(),
            Self::TextOrObject => value.is_string() || value.is_object(),
            Self::TextOrArray => value.is_string() || value.is_array(),
        }
    }
}

// === impl Range ===

impl Range {
    fn contains(self, value: &Value) -> bool {
        !self.is_below(value) && !self.is_above(value)
    }

    pub(crate) fn is_below(self, value: &Value) -> bool {
        match (value.as_i64(), value.as_f64()) {
            (Some(whole), _) => whole < self.0,
            // A number beyond 64 signed bits is above every bound.
            (None, _) if value.is_u64() => false,
            (None, Some(decimal)) => decimal < bound(self.0),
            (None, None) => false,
        }
    }

    fn is_above(self, value: &Value) -> bool {
        match (value.as_i64(), value.as_f64()) {
            (Some(whole), _) => whole > self.1,
            (None, _) if value.is_u64() => true,
            (None, Some(decimal)) => decimal > bound(self.1),
            (None, None) => false,
        }
    }
}

/// A bound of decimals, which are small whole numbers.
fn bound(whole: i64) -> f64 {
    i32::try_from(whole).map_or(f64::INFINITY, f64::from)
}

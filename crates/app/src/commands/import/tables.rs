//! Tables of one-api and new-api as JSON lists of rows. Databases export numbers and truth values in their
//! own ways, so a field is read by what it means.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use crate::files::read_bounded;

/// Largest table that is read.
const MAX_BYTES: u64 = 1_000_000_000;

/// A row of a table.
pub(super) struct Row(Map<String, Value>);

/// The rows of a table that must be there.
pub(super) fn table(folder: &Path, name: &str) -> anyhow::Result<Vec<Row>> {
    let rows = optional_table(folder, name)?;
    rows.with_context(|| {
        let displayed = folder.display();
        format!(
            "there is no {name}.json in {displayed}; docs/operate/import.md shows how to export it"
        )
    })
}

pub(super) fn optional_table(folder: &Path, name: &str) -> anyhow::Result<Option<Vec<Row>>> {
    let file = folder.join(format!("{name}.json"));
    if !file.exists() {
        return Ok(None);
    }
    let displayed = file.display();
    let text =
        read_bounded(&file, MAX_BYTES).with_context(|| format!("cannot read {displayed}"))?;
    // The command line of SQLite prints nothing for a table without rows, others print null.
    if text.trim().is_empty() || text.trim() == "null" {
        return Ok(Some(Vec::new()));
    }
    let rows: Vec<Value> = serde_json::from_str(&text)
        .with_context(|| format!("{displayed} is no JSON list of rows"))?;
    let mut read = Vec::new();
    for row in rows {
        let Value::Object(fields) = row else {
            bail!("{displayed} has an item that is no row");
        };
        read.push(Row(fields));
    }
    Ok(Some(read))
}

// === impl Row ===

impl Row {
    /// A text; empty where there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(value)) => *value,
            Some(Value::String(text)) => matches!(text.as_str(), "1" | "t" | "true"),
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => false,
        }
    }

    /// Whether a field says something.
    pub(super) fn has(&self, name: &str) -> bool {
        !matches!(self.0.get(name), None | Some(Value::Null))
            && self.0.get(name) != Some(&Value::from(""))
    }

    /// The parts of a text between separators.
    pub(super) fn parts(&self, name: &str, separator: char) -> Vec<String> {
        let parts = self.text(name).split(separator).map(str::trim);
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// A JSON object that stands in a text, or as itself.
    pub(super) fn object(&self, name: &str) -> Option<Map<String, Value>> {
        match self.0.get(name)? {
            Value::Object(fields) => Some(fields.clone()),
            Value::String(text) if text.trim().is_empty() => Some(Map::new()),
            Value::String(text) => serde_json::from_str(text).ok(),
            Value::Null => Some(Map::new()),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        }
    }
}

//! Reads a request field by field and records which were read, so that the report names every one: a
//! field that the family did not read is reported as ignored.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde_json::Value;
use trunkline_catalog::{FieldNote, FieldReport, FieldTreatment, RequestError};

use crate::video::request::{VideoRequest, WEBHOOK_URL};

/// A field that the family does not read.
pub(crate) const FIELD_IGNORED: &str = "field_ignored";
/// A key of `metadata` that the family does not know.
pub(crate) const METADATA_IGNORED: &str = "metadata_ignored";

/// Reads one request for one family.
#[derive(Debug)]
pub struct FieldReader<'a> {
    request: &'a VideoRequest,
    read: BTreeSet<String>,
    report: FieldReport,
}

// === impl FieldReader ===

impl<'a> FieldReader<'a> {
    /// Nothing is read yet but the model, and the webhook URL that the gateway itself reads.
    #[must_use]
    pub fn new(request: &'a VideoRequest) -> Self {
        let mut reader = Self {
            request,
            read: BTreeSet::new(),
            report: FieldReport::default(),
        };
        reader.mark("model");
        if request.webhook_url().is_some() {
            reader.mark(WEBHOOK_URL);
        }
        reader
    }

    /// A field by its dotted path, and it counts as read. Reading an object counts for all inside.
    pub fn get(&mut self, path: &str) -> Option<&'a Value> {
        let found = self.request.get(path)?;
        self.mark(path);
        Some(found)
    }

    /// A field of one type. Another type is refused.
    fn typed<T>(
        &mut self,
        path: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, RequestError> {
        let Some(value) = self.get(path) else {
            return Ok(None);
        };
        let refusal = || RequestError::invalid(path, format!("`{path}` must be {expected}"));
        read(value).map(Some).ok_or_else(refusal)
    }

    pub fn text(&mut self, path: &str) -> Result<Option<&'a str>, RequestError> {
        self.typed(path, Value::as_str, "a text")
    }

    /// A text that is there and not empty; one of blanks is as good as none.
    pub fn filled(&mut self, path: &str) -> Result<Option<&'a str>, RequestError> {
        Ok(self.text(path)?.filter(|text| !text.trim().is_empty()))
    }

    /// The same for a text that is required.
    pub fn required(&mut self, path: &str) -> Result<&'a str, RequestError> {
        self.filled(path)?
            .ok_or_else(|| RequestError::missing(path))
    }

    pub fn whole(&mut self, path: &str) -> Result<Option<i64>, RequestError> {
        self.typed(path, Value::as_i64, "a whole number")
    }

    /// True or false.
    pub fn flag(&mut self, path: &str) -> Result<Option<bool>, RequestError> {
        self.typed(path, Value::as_bool, "true or false")
    }

    /// One of a closed list of values.
    pub fn one_of(
        &mut self,
        path: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, RequestError> {
        let Some(text) = self.text(path)? else {
            return Ok(None);
        };
        let known = words.iter().copied().find(|word| *word == text);
        known.map(Some).ok_or_else(|| {
            let listed = words.join(", ");
            RequestError::invalid(path, format!("`{path}` must be one of {listed}"))
        })
    }

    /// The same with a default, which is reported.
    pub fn one_of_or(
        &mut self,
        path: &str,
        words: &[&'static str],
        default: &'static str,
        why: &str,
    ) -> Result<&'static str, RequestError> {
        let known = self.one_of(path, words)?;
        if known.is_none() {
            self.defaulted(path, default, why);
        }
        Ok(known.unwrap_or(default))
    }

    /// A whole number within bounds.
    pub fn within(
        &mut self,
        path: &str,
        bounds: &RangeInclusive<i64>,
    ) -> Result<Option<i64>, RequestError> {
        let number = self.whole(path)?;
        match number {
            Some(number) if !bounds.contains(&number) => {
                let (least, most) = (bounds.start(), bounds.end());
                let text = format!("`{path}` must be from {least} to {most}");
                Err(RequestError::invalid(path, text))
            }
            Some(_) | None => Ok(number),
        }
    }

    /// The addresses at the top in `images`.
    pub fn images(&mut self) -> Vec<&'a str> {
        let list = self.get("images").and_then(Value::as_array);
        let list = list.into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    }

    /// Whether a field is there, without reading it.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.request.get(path).is_some()
    }

    /// Reports a note about a field. The field counts as read and gets no other note.
    pub fn say(&mut self, note: FieldNote) {
        self.read.insert(note.field.clone());
        self.report.add(note);
    }

    /// A field that was not there and is written in.
    pub fn defaulted(&mut self, field: &str, value: impl Into<String>, why: &str) {
        self.say(
            FieldNote::new(field, FieldTreatment::Defaulted, "defaulted", why).with_value(value),
        );
    }

    /// A field that goes on with another value.
    pub fn rewritten(
        &mut self,
        field: &str,
        code: &'static str,
        value: impl Into<String>,
        why: &str,
    ) {
        self.say(FieldNote::new(field, FieldTreatment::Rewritten, code, why).with_value(value));
    }

    /// A field that is there and has no effect, with what to do about it.
    pub fn ignored(&mut self, field: &str, code: &'static str, why: &str, fix: &str) {
        if self.has(field) {
            self.say(FieldNote::new(field, FieldTreatment::Ignored, code, why).with_fix(fix));
        }
    }

    /// The report, with every field that the family did not read.
    #[must_use]
    pub fn finish(mut self) -> FieldReport {
        for (name, value) in self.request.fields() {
            match value.as_object().filter(|_| name == "metadata") {
                Some(inside) => inside
                    .keys()
                    .for_each(|key| self.leftover(&format!("metadata.{key}"), METADATA_IGNORED)),
                None => self.leftover(name, FIELD_IGNORED),
            }
        }
        self.report
    }

    fn leftover(&mut self, path: &str, code: &'static str) {
        let inside = format!("{path}.");
        let was_read = |read: &String| read == path || read.starts_with(&inside);
        if !self.read.iter().any(was_read) {
            let why = "this model does not read it";
            self.report.add(
                FieldNote::new(path, FieldTreatment::Ignored, code, why).with_fix("leave it out"),
            );
        }
    }

    fn mark(&mut self, path: &str) {
        if self.read.insert(path.to_owned()) {
            self.report.add(FieldNote::read(path));
        }
    }
}

//! The field report: for every field of a request, whether it is read, filled, changed or ignored,
//! and why. An endpoint writes it; quotes, warnings and strict mode read it.

use std::borrow::Cow;

use serde::Serialize;
use strsim::levenshtein;

/// The code of a field that the format does not have.
pub const UNKNOWN_FIELD: &str = "unknown_field";
/// The code of a tool that a vendor runs and that has no price here.
pub const SERVER_TOOL_DROPPED: &str = "server_tool_dropped";
/// The code of a flag in a header that is not known here.
pub const UNKNOWN_BETA: &str = "unknown_beta";
/// The codes of what is on no list.
const DROPPED: [&str; 3] = [UNKNOWN_FIELD, SERVER_TOOL_DROPPED, UNKNOWN_BETA];

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldTreatment {
    /// It is read, and goes on with the meaning it came with.
    Read,
    /// It was not there and is written in.
    Defaulted,
    /// It goes on with another value.
    Rewritten,
    /// It has no effect.
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldNote {
    /// Its name, dotted inside objects.
    pub field: String,
    pub fate: FieldTreatment,
    /// A code; none where there is nothing to warn of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'static, str>>,
    /// The value it goes on with, where that is not the one it came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// All fields of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct FieldReport(Vec<FieldNote>);

// === impl FieldNote ===

impl FieldNote {
    /// A field that is read as it came.
    #[must_use]
    pub fn read(field: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            fate: FieldTreatment::Read,
            code: None,
            value: None,
            reason: None,
            fix: None,
        }
    }

    /// A field with something to say about it.
    #[must_use]
    pub fn new(
        field: impl Into<String>,
        fate: FieldTreatment,
        code: impl Into<Cow<'static, str>>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            fate,
            code: Some(code.into()),
            reason: Some(reason.into()),
            ..Self::read(field)
        }
    }

    /// The value it goes on with.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Why, where there is nothing to warn of.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Whether it was on no list and was not sent.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        let code = self.code.as_deref().unwrap_or_default();
        self.fate == FieldTreatment::Ignored && DROPPED.contains(&code)
    }

    /// Whether strict mode refuses it: it would not have the effect that the caller may expect.
    #[must_use]
    pub fn is_pitfall(&self) -> bool {
        match self.fate {
            FieldTreatment::Ignored | FieldTreatment::Rewritten => true,
            FieldTreatment::Read => self.code.as_deref() == Some(UNKNOWN_FIELD),
            FieldTreatment::Defaulted => false,
        }
    }
}

// === impl FieldReport ===

impl FieldReport {
    /// Adds the note of a field, in place of an earlier one.
    pub fn add(&mut self, note: FieldNote) {
        match self.0.iter_mut().find(|known| known.field == note.field) {
            Some(known) => *known = note,
            None => self.0.push(note),
        }
    }

    /// All notes, in the order of the fields.
    #[must_use]
    pub fn notes(&self) -> &[FieldNote] {
        &self.0
    }

    /// The codes of what its writer should know.
    pub fn codes(&self) -> impl Iterator<Item = &Cow<'static, str>> {
        self.0.iter().filter_map(|note| note.code.as_ref())
    }

    /// The first field that strict mode refuses.
    #[must_use]
    pub fn first_pitfall(&self) -> Option<&FieldNote> {
        self.0.iter().find(|note| note.is_pitfall())
    }

    /// What was on no list and was not sent.
    pub fn dropped(&self) -> impl Iterator<Item = &FieldNote> {
        self.0.iter().filter(|note| note.is_dropped())
    }

    /// The fields that are written in.
    pub fn defaults(&self) -> impl Iterator<Item = &FieldNote> {
        self.0
            .iter()
            .filter(|note| note.fate == FieldTreatment::Defaulted)
    }
}

/// The known name that a wrong one was probably meant to be: one letter more, less or other, or two
/// for long names.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONG: usize = 8;
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let most = if word.len() >= LONG { 2 } else { 1 };
    known
        .into_iter()
        .map(|candidate| (levenshtein(word, candidate), candidate))
        .filter(|(apart, _)| (1..=most).contains(apart))
        .min_by_key(|(apart, _)| *apart)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_field_is_told_apart_from_a_strange_one() {
        let known = ["max_tokens", "temperature", "top_p", "stop"];
        assert_eq!(nearest("max_token", known), Some("max_tokens"));
        assert_eq!(nearest("temprature", known), Some("temperature"));
        assert_eq!(nearest("topp", known), Some("top_p"));
        assert_eq!(nearest("stop", known), None, "it is known");
        assert_eq!(nearest("thinking", known), None);
    }

    #[test]
    fn only_what_misleads_its_writer_is_a_trap() {
        let mut report = FieldReport::default();
        report.add(FieldNote::read("model"));
        report.add(FieldNote::new(
            "max_tokens",
            FieldTreatment::Defaulted,
            "max_tokens_defaulted",
            "why",
        ));
        assert_eq!(report.first_pitfall(), None);
        report.add(FieldNote::new(
            "x",
            FieldTreatment::Read,
            UNKNOWN_FIELD,
            "why",
        ));
        assert_eq!(
            report.first_pitfall().map(|note| note.field.as_str()),
            Some("x")
        );
        report.add(FieldNote::read("x"));
        assert_eq!(report.first_pitfall(), None, "what is said later counts");
        report.add(
            FieldNote::new("y", FieldTreatment::Ignored, "y_ignored", "why")
                .with_fix("leave it out"),
        );
        assert!(report.first_pitfall().unwrap().is_pitfall());
        let codes: Vec<&str> = report.codes().map(AsRef::as_ref).collect();
        assert_eq!(codes, ["max_tokens_defaulted", "y_ignored"]);
    }
}

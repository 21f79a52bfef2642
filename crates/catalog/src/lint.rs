//! What is wrong or doubtful in a catalog beyond what loading refuses: prices without a source,
//! unreachable tiers, endpoints without a provider. Pure: the caller supplies which providers speak what.

mod prices;
mod records;

use serde::Serialize;
use trunkline_types::EndpointType;

use crate::document::{CatalogHeader, Document, Entry};
use crate::model::Model;
use crate::price_book::{Book, BookError};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The catalog must not be sold from like this.
    Error,
    Warning,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    pub severity: Severity,
    /// The code; `docs/operate/catalog.md` lists them all.
    pub code: &'static str,
    /// The model; none if it is about the catalog itself.
    pub model: Option<String>,
    /// What is wrong, and what would be right.
    pub text: String,
}

/// Whether some provider can serve what is sold under an endpoint type.
type Spoken<'a> = &'a dyn Fn(EndpointType) -> bool;

/// Reads a whole catalog critically. Errors come first, each kind in the order of the models.
#[must_use]
pub fn lint(document: &Document, spoken: Spoken<'_>) -> Vec<LintFinding> {
    let mut found = Vec::new();
    let (header, models) = document.clone().into_parts();
    let mut about_all = Notes::new(None, &mut found);
    refused_header(&header, &mut about_all);
    records::unused_groups(document, &mut about_all);
    for (name, entry) in &models {
        let mut notes = Notes::new(Some(name), &mut found);
        refused_entry(name, entry, &mut notes);
        records::check(name, entry, &header, spoken, &mut notes);
        prices::check(entry, &mut notes);
    }
    // Stable: within a severity the order of the models stays.
    found.sort_by_key(|finding| finding.severity);
    found
}

/// Where findings about one model are put.
pub(super) struct Notes<'a> {
    model: Option<&'a str>,
    found: &'a mut Vec<LintFinding>,
}

// === impl Notes ===

impl<'a> Notes<'a> {
    fn new(model: Option<&'a String>, found: &'a mut Vec<LintFinding>) -> Self {
        Self {
            model: model.map(String::as_str),
            found,
        }
    }

    pub(super) fn error(&mut self, code: &'static str, text: impl Into<String>) {
        self.note(Severity::Error, code, text.into());
    }

    pub(super) fn warn(&mut self, code: &'static str, text: impl Into<String>) {
        self.note(Severity::Warning, code, text.into());
    }

    fn note(&mut self, severity: Severity, code: &'static str, text: String) {
        self.found.push(LintFinding {
            severity,
            code,
            model: self.model.map(str::to_owned),
            text,
        });
    }
}

/// What loading would refuse of the groups and vendors.
fn refused_header(header: &CatalogHeader, notes: &mut Notes<'_>) {
    let alone = Document::of_parts(header.clone(), Default::default());
    match Book::check(alone) {
        Ok(_) => {}
        Err(BookError::Findings(findings)) => findings
            .iter()
            .for_each(|finding| notes.error("refused", finding.to_string())),
        Err(shape @ BookError::Shape(_)) => notes.error("refused", shape.to_string()),
    }
}

/// What loading would refuse of an entry by itself.
fn refused_entry(name: &str, entry: &Entry, notes: &mut Notes<'_>) {
    crate::price_book::check_name(name, &mut |text| notes.error("refused", text));
    for finding in Model::check(entry.clone()).err().unwrap_or_default() {
        let code = if finding.is_unreachable() {
            "tier_unreachable"
        } else {
            "refused"
        };
        notes.error(code, finding.to_string());
    }
}

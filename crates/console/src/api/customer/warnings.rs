//! What the codes of warnings mean, in the words of the page that explains all codes.

use std::sync::LazyLock;

use serde::Serialize;
use utoipa::ToSchema;

/// The page: a heading for each code, its cause and fix below it.
const PAGE: &str = include_str!("../../../../../docs/guide/errors.md");
const HEADING: &str = "\n### `";
const CAUSE: &str = "- **Cause** ";
const FIX: &str = "- **Fix** ";
/// What is said of a code that is on no page: families of models have their own.
const UNKNOWN: &str = "a field of the request was read in another way than it may have been meant";

/// An explained warning.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WarningExplained {
    /// The code.
    #[schema(example = "field_ignored")]
    code: String,
    /// Explanation and fix.
    text: String,
    /// Documentation.
    doc_url: String,
}

/// Codes and what is said of them.
static ENTRIES: LazyLock<Vec<(&str, String)>> =
    LazyLock::new(|| PAGE.split(HEADING).skip(1).filter_map(entry).collect());

/// What stands below a heading, as plain words: the cause, then the fix.
fn entry(text: &'static str) -> Option<(&'static str, String)> {
    let (code, below) = text.split_once('`')?;
    let line = |mark: &str| below.lines().find_map(|line| line.strip_prefix(mark));
    let (cause, fix) = (line(CAUSE)?, line(FIX)?);
    let words = if cause == fix {
        cause.to_owned()
    } else {
        format!("{cause} {fix}")
    };
    Some((code, words.replace('`', "")))
}

// === impl WarningExplained ===

impl WarningExplained {
    /// `pages` is where errors and warnings are explained.
    pub(super) fn of(code: &str, pages: &str) -> Self {
        // A field that was not sent is named behind the code.
        let bare = code.split_once(':').map_or(code, |(bare, _)| bare);
        let entry = ENTRIES.iter().find(|(known, _)| *known == bare);
        Self {
            code: code.to_owned(),
            text: entry.map_or_else(|| UNKNOWN.to_owned(), |(_, text)| text.clone()),
            doc_url: format!("{pages}#{bare}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_explained_by_its_entry_and_one_without_in_general() {
        let of = |code| WarningExplained::of(code, "https://dash.example/docs/errors");
        let known = of("unknown_field");
        assert!(known.text.contains("nearest"), "{known:?}");
        assert_eq!(
            known.doc_url,
            "https://dash.example/docs/errors#unknown_field"
        );
        for code in ["size_fixed", "quality_fixed"] {
            let fixed = of(code);
            assert_ne!(fixed.text, UNKNOWN);
            assert!(!fixed.text.contains(['|', '`', '<']), "{fixed:?}");
        }
        assert_eq!(of("odd_one").text, UNKNOWN);
        assert!(ENTRIES.len() > 50, "{}", ENTRIES.len());
    }
}

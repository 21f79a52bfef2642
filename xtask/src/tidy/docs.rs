//! Every Rust file says at its top what room it is, and no module hides in a `mod.rs`.

use crate::files::Tree;
use crate::finding::Finding;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if !has_module_doc(&file.text) {
            findings.push(Finding::new(
                &file.path,
                1,
                "no module doc; begin the file with `//!` and say what this room is and must not know",
            ));
        }
        if file.name() == "mod.rs" {
            let folder = file.path.trim_end_matches("/mod.rs");
            findings.push(Finding::new(
                &file.path,
                1,
                format!("`mod.rs` is not the house style; move it to {folder}.rs"),
            ));
        }
    }
    findings
}

/// The first line that is not blank must be a `//!` with words behind it.
fn has_module_doc(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_behind_the_marker_at_the_top_count() {
        assert!(has_module_doc("//! The room.\nfn main() {}\n"));
        assert!(has_module_doc("\n//! The room.\n"));
        assert!(!has_module_doc("//!\nfn main() {}\n"));
        assert!(!has_module_doc("fn main() {}\n//! Late.\n"));
        assert!(!has_module_doc("/// Not a module doc.\n"));
        assert!(!has_module_doc(""));
    }
}

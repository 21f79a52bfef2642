//! Every Rust file, the root of a crate among them, says at its top what it is; every `pub trait` says what it
//! promises; and no module hides in a `mod.rs`.

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ItemTrait, Lit, Meta, Visibility};

use crate::files::Tree;
use crate::finding::Finding;

/// Public traits without a doc comment, by name and line.
#[derive(Default)]
struct BareTraits(Vec<(String, usize)>);

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if !has_module_doc(&file.text) {
            findings.push(Finding::new(
                &file.path,
                1,
                "no module doc; begin the file with `//!` and say what this module is and must not know",
            ));
        }
        for (name, line) in bare_traits(&file.text) {
            findings.push(Finding::new(
                &file.path,
                line,
                format!(
                    "`pub trait {name}` has no doc comment; say what an implementation promises"
                ),
            ));
        }
        if file.name() == "mod.rs" {
            let folder = file.path.trim_end_matches("/mod.rs");
            findings.push(Finding::new(
                &file.path,
                1,
                format!("`mod.rs` is not our layout; move it to {folder}.rs"),
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

/// What does not parse is a finding of the function rule.
fn bare_traits(text: &str) -> Vec<(String, usize)> {
    let mut found = BareTraits::default();
    if text.contains("pub trait")
        && let Ok(file) = syn::parse_file(text)
    {
        found.visit_file(&file);
    }
    found.0
}

fn is_doc(attribute: &Attribute) -> bool {
    let Meta::NameValue(pair) = &attribute.meta else {
        return false;
    };
    let Expr::Lit(value) = &pair.value else {
        return false;
    };
    let has_words = matches!(&value.lit, Lit::Str(text) if !text.value().trim().is_empty());
    pair.path.is_ident("doc") && has_words
}

// === impl BareTraits ===

impl<'ast> Visit<'ast> for BareTraits {
    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        if matches!(item.vis, Visibility::Public(_)) && !item.attrs.iter().any(is_doc) {
            let name = &item.ident;
            self.0.push((name.to_string(), name.span().start().line));
        }
        visit::visit_item_trait(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_behind_the_marker_at_the_top_count() {
        assert!(has_module_doc("//! The module.\nfn main() {}\n"));
        assert!(has_module_doc("\n//! The module.\n"));
        assert!(!has_module_doc("//!\nfn main() {}\n"));
        assert!(!has_module_doc("fn main() {}\n//! Late.\n"));
        assert!(!has_module_doc("/// Not a module doc.\n"));
        assert!(!has_module_doc(""));
    }

    #[test]
    fn a_public_trait_needs_a_doc_comment_with_words() {
        let bare = |text: &str| bare_traits(text).len();
        assert_eq!(bare("/// A clock.\n#[must_use]\npub trait Clock {}\n"), 0);
        assert_eq!(bare("trait Own {}\npub(crate) trait Inner {}\n"), 0);
        assert_eq!(bare("///\npub trait Empty {}\n"), 1);
        let nested = "//! A module.\n\nmod inner {\n    pub trait Clock {}\n}\n";
        assert_eq!(bare_traits(nested), [("Clock".to_owned(), 4)]);
    }
}

//! Path patterns of the policy: `*` is one segment, `**` any number, a final `/` means all below.

/// Whether `path` (forward slashes, relative to the root) fits the pattern.
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    let is_folder = pattern.ends_with('/');
    let pattern: Vec<_> = pattern.trim_end_matches('/').split('/').collect();
    let path: Vec<_> = path.split('/').collect();
    segments_fit(&pattern, &path, is_folder)
}

fn segments_fit(pattern: &[&str], path: &[&str], is_folder: bool) -> bool {
    match (pattern.split_first(), path.split_first()) {
        // A folder fits what lies in it, not a file of its own name.
        (None, rest) => rest.is_some() == is_folder,
        (Some((&"**", more)), Some((_, below))) => {
            segments_fit(more, path, is_folder) || segments_fit(pattern, below, is_folder)
        }
        (Some((segment, more)), Some((name, below))) => {
            (*segment == "*" || segment == name) && segments_fit(more, below, is_folder)
        }
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_segments_and_a_final_slash_for_all_below() {
        assert!(fits("crates/ledger/", "crates/ledger/src/lib.rs"));
        assert!(!fits("crates/ledger/", "crates/ledgers/src/lib.rs"));
        assert!(!fits("crates/ledger/", "crates/ledger"));
        assert!(fits("crates/*/tests/", "crates/db/tests/it/main.rs"));
        assert!(!fits("crates/*/tests/", "crates/db/src/tests.rs"));
        assert!(fits("**/tests.rs", "crates/db/src/pool/tests.rs"));
        assert!(fits("**/tests/", "tests/a.rs"));
        assert!(fits("docs/a.md", "docs/a.md"));
        assert!(!fits("docs/a.md", "docs/a.md/b"));
        assert!(!fits("docs/a.md", "docs"));
    }
}

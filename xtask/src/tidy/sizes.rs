//! The size ratchet: a long file needs an allowance with a reason, and an allowance only goes down.

use std::fmt::Write as _;

use crate::files::Tree;
use crate::finding::{Finding, line_of};
use crate::tidy::POLICY_FILE;
use crate::tidy::policy::Policy;

/// Longer files must be split or listed.
const FILE_LIMIT: Limit = Limit {
    lines: 500,
    slack: 25,
};

/// How many files the summary shows.
const MAX_LISTED: usize = 10;

/// A size that no file passes unlisted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) lines: usize,
    /// An allowance may exceed the real size by this much before it must come down.
    pub(crate) slack: usize,
}

// === impl Limit ===

impl Limit {
    /// What is wrong with an allowance of `max` lines for something that now has `actual`.
    pub(crate) fn fault_of_allowance(self, actual: Option<usize>, max: usize) -> Option<String> {
        let limit = self.lines;
        match actual {
            None => Some("it is gone; remove the entry".to_owned()),
            Some(actual) if actual <= limit => Some(format!(
                "it is down to {actual} lines, within the limit of {limit}; remove the entry"
            )),
            Some(actual) if max > actual + self.slack => Some(format!(
                "it is down to {actual} lines; lower the allowance from {max} to {actual}"
            )),
            Some(_) => None,
        }
    }
}

pub(crate) fn check(tree: &Tree, policy: &Policy, policy_text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let lines = file.text.lines().count();
        let allowance = policy
            .long_files
            .iter()
            .find(|entry| entry.path == file.path);
        let most = allowance.map_or(FILE_LIMIT.lines, |entry| entry.max);
        if lines > most {
            findings.push(Finding::new(
                &file.path,
                most + 1,
                format!(
                    "{lines} lines, {most} allowed; split the file by idea, \
                     or give a [[long_file]] with a reason in {POLICY_FILE}"
                ),
            ));
        }
    }
    for entry in &policy.long_files {
        let actual = tree.file(&entry.path).map(|file| file.text.lines().count());
        if let Some(fault) = FILE_LIMIT.fault_of_allowance(actual, entry.max) {
            findings.push(Finding::new(
                POLICY_FILE,
                line_of(policy_text, &format!("\"{}\"", entry.path)),
                format!("allowance for {}: {fault}", entry.path),
            ));
        }
    }
    findings
}

/// The longest files, to be looked at before they reach the limit.
pub(crate) fn ten_longest(tree: &Tree) -> String {
    let mut sizes: Vec<_> = tree
        .rust_files()
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .collect();
    sizes.sort_by(|left, right| right.cmp(left));
    let mut summary = "ten longest files (lines, path):\n".to_owned();
    for (lines, path) in sizes.into_iter().take(MAX_LISTED) {
        // Writing into a String cannot fail.
        writeln!(summary, "{lines:6}  {path}").ok();
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_only_goes_down() {
        let fault = |actual, max| FILE_LIMIT.fault_of_allowance(actual, max);
        assert_eq!(fault(Some(600), 600), None);
        assert_eq!(fault(Some(600), 625), None, "some slack is no fault");
        assert!(
            fault(Some(600), 626)
                .unwrap()
                .contains("lower the allowance from 626 to 600")
        );
        assert!(fault(Some(500), 510).unwrap().contains("remove the entry"));
        assert!(fault(None, 700).unwrap().contains("gone"));
    }
}

//! The boundaries of the repository, checked: module docs, sizes, parameters, edges between crates, words that must not be committed.
//!
//! What is allowed is data (`tidy.toml`); this code knows only the kinds of rule.

use anyhow::{Context, Result};

use crate::Outcome;
use crate::files::Tree;
use crate::finding::Finding;
use crate::tidy::policy::Policy;

mod circles;
mod docs;
mod edges;
mod features;
mod functions;
mod parameters;
mod path_pattern;
mod policy;
mod sizes;
mod vocabulary;
mod words;

/// The rules of this repository, at its root.
pub(crate) const POLICY_FILE: &str = "tidy.toml";

/// What is printed about banned words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    Nothing,
    Counts,
    Places,
}

/// Checks the whole tree; every rule runs even when an earlier one found something.
pub(crate) fn run(tree: &Tree, words: Words) -> Result<Outcome> {
    let text = &tree
        .file(POLICY_FILE)
        .with_context(|| format!("{POLICY_FILE} is missing at {}", tree.root.display()))?
        .text;
    let policy: Policy = toml::from_str(text).with_context(|| format!("reading {POLICY_FILE}"))?;

    let mut findings = policy.faults(text);
    for path in &tree.too_large {
        findings.push(Finding::new(
            path,
            1,
            "larger than 8 MB; keep it out of the repository",
        ));
    }
    findings.extend(docs::check(tree));
    findings.extend(sizes::check(tree, &policy, text));
    findings.extend(functions::check(tree, &policy, text));
    findings.extend(parameters::check(tree));
    findings.extend(edges::check(tree, &policy, text));
    findings.extend(circles::check(tree));
    findings.extend(features::check(tree, &policy));
    findings.extend(words::check(tree, &policy));
    findings.extend(vocabulary::check(tree, &policy.vocabulary));
    let summary = match words {
        Words::Nothing => sizes::ten_longest(tree),
        Words::Counts => vocabulary::report(tree, &policy.vocabulary, false),
        Words::Places => vocabulary::report(tree, &policy.vocabulary, true),
    };
    Ok(Outcome { summary, findings })
}

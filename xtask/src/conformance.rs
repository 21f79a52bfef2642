//! Which requirements have a test: reads `covers:` comments, checks them and writes the report.
//!
//! The requirement sentences stay outside the repository; inside it a requirement is its id and a few own words.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::Outcome;
use crate::conformance::scan::Cover;
use crate::conformance::spec::{Ids, Spec};
use crate::files::Tree;
use crate::finding::Finding;

mod ranges;
mod report;
mod scan;
mod spec;
mod words;

/// The ids alone, committed, so that a checkout without the specification can check its tests.
const IDS_FILE: &str = "docs/conformance/ids.tsv";
/// The project's own words for the ids.
const WORDS_FILE: &str = "docs/conformance/words.tsv";
/// The report is a build artefact: it changes with every test and would conflict in every branch.
const REPORT_FILE: &str = "target/conformance.md";
/// Where the specification lies beside a checkout, if it does.
const DEFAULT_SPEC: &str = "../shared/spec/requirements.tsv";

/// What is known of the requirements, by id.
type Covers = BTreeMap<String, Vec<Cover>>;

/// Scans and checks; without `check` it also writes the id list and the report.
pub(crate) fn run(tree: &Tree, check: bool, spec: Option<&Path>) -> Result<Outcome> {
    let spec = read_spec(tree, spec)?;
    let committed = tree.file(IDS_FILE).map(|file| file.text.as_str());
    let ids = match (&spec, committed) {
        (Some(spec), _) => spec.ids.clone(),
        (None, Some(text)) => Ids::parse_committed(text).context(IDS_FILE)?,
        (None, None) => anyhow::bail!("neither the specification nor {IDS_FILE} is here"),
    };

    let (covers, mut findings) = scan::scan(tree);
    let covers = known_covers(covers, &ids, &mut findings);
    let words = words::read(tree, &ids, spec.as_ref(), &mut findings);
    for (id, tests) in &covers {
        if let (None, Some(first)) = (words.get(id), tests.first()) {
            findings.push(Finding::new(
                &first.path,
                first.line,
                format!("{id} is covered but has no words; add a line to {WORDS_FILE}"),
            ));
        }
    }

    let listed = ids.to_committed();
    let report = report::document(&ids, &covers, &words);
    if check {
        findings.extend(stale(tree, IDS_FILE, &listed));
    } else if findings.is_empty() {
        write(tree, IDS_FILE, &listed)?;
        write(tree, REPORT_FILE, &report)?;
    }
    Ok(Outcome {
        summary: report::summary(&ids, &covers),
        findings,
    })
}

/// A specification that was named must be there; the default one may be absent.
fn read_spec(tree: &Tree, named: Option<&Path>) -> Result<Option<Spec>> {
    let beside = tree.root.join(DEFAULT_SPEC);
    match named {
        Some(path) => Spec::read(path).map(Some),
        None if beside.is_file() => Spec::read(&beside).map(Some),
        None => Ok(None),
    }
}

fn known_covers(covers: Vec<Cover>, ids: &Ids, findings: &mut Vec<Finding>) -> Covers {
    let mut known = Covers::new();
    for cover in covers {
        if ids.contains(&cover.id) {
            known.entry(cover.id.clone()).or_default().push(cover);
        } else {
            findings.push(Finding::new(
                &cover.path,
                cover.line,
                format!(
                    "`{}` is no requirement id; mend it, or drop it if the requirement is gone",
                    cover.id
                ),
            ));
        }
    }
    known
}

fn stale(tree: &Tree, path: &str, expected: &str) -> Option<Finding> {
    let current = tree.file(path).map(|file| file.text.as_str());
    (current != Some(expected)).then(|| {
        Finding::new(
            path,
            first_difference(current.unwrap_or_default(), expected),
            "out of date; run `cargo run -p xtask -- conformance`",
        )
    })
}

fn first_difference(current: &str, expected: &str) -> usize {
    let same = current
        .lines()
        .zip(expected.lines())
        .take_while(|(left, right)| left == right);
    same.count() + 1
}

fn write(tree: &Tree, path: &str, text: &str) -> Result<()> {
    let target = tree.root.join(path);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(&target, text).with_context(|| format!("writing {path}"))
}

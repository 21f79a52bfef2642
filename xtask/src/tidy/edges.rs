//! The edges between the crates of the workspace: each is listed, each points inward, none is stale.
//!
//! Cargo itself reads the manifests, so renames, target tables and inherited entries cannot slip past.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::files::Tree;
use crate::finding::{Finding, line_of};
use crate::tidy::POLICY_FILE;
use crate::tidy::policy::{CrateRule, Policy, crate_header};

/// Every package but this tool begins so.
const PREFIX: &str = "trunkline-";
const TOOL: &str = "xtask";

/// A crate of the workspace and what it names in its manifest.
struct Member {
    noun: String,
    package: String,
    /// Both relative to the root.
    folder: String,
    manifest: String,
    uses: BTreeSet<String>,
    tests_use: BTreeSet<String>,
    outside: BTreeSet<String>,
}

/// One kind of edge: what the manifest has, what the policy lists, and their names for a message.
struct EdgeKind<'a> {
    found: &'a BTreeSet<String>,
    listed: &'a [String],
    key: &'static str,
    table: &'static str,
}

pub(crate) fn check(tree: &Tree, policy: &Policy, policy_text: &str) -> Vec<Finding> {
    let members = match members(tree) {
        Ok(members) => members,
        Err(error) => {
            let what = format!("cargo cannot read the workspace: {error:#}");
            return vec![Finding::new("Cargo.toml", 1, what)];
        }
    };
    let mut findings = Vec::new();
    for member in &members {
        findings.extend(name_fault(member));
        let Some(rule) = policy.crates.get(&member.noun) else {
            findings.push(Finding::new(
                &member.manifest,
                1,
                format!(
                    "`{0}` has no rule; add [crate.{0}] with its layer and edges to {POLICY_FILE}",
                    member.noun
                ),
            ));
            continue;
        };
        let manifest_text = tree
            .file(&member.manifest)
            .map_or("", |file| file.text.as_str());
        findings.extend(edge_faults(member, rule, manifest_text, policy_text));
        findings.extend(layer_faults(member, rule, manifest_text, policy));
    }
    for noun in policy.crates.keys() {
        if !members.iter().any(|member| member.noun == *noun) {
            findings.push(Finding::new(
                POLICY_FILE,
                line_of(policy_text, &crate_header(noun)),
                format!("stale rule: there is no crate `{noun}`; remove [crate.{noun}]"),
            ));
        }
    }
    findings
}

/// The manifests as cargo reads them.
pub(crate) fn workspace(tree: &Tree) -> Result<Metadata, cargo_metadata::Error> {
    MetadataCommand::new()
        .manifest_path(tree.root.join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
}

fn members(tree: &Tree) -> Result<Vec<Member>> {
    let metadata = workspace(tree)?;
    let packages = metadata.workspace_packages();
    let names: BTreeSet<_> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut members = Vec::new();
    for package in &packages {
        let manifest = package
            .manifest_path
            .strip_prefix(&metadata.workspace_root)
            .with_context(|| format!("{} lies outside the workspace", package.name))?;
        let mut member = Member {
            noun: noun_of(package.name.as_str()).to_owned(),
            package: package.name.to_string(),
            folder: manifest
                .parent()
                .map_or("", |path| path.as_str())
                .to_owned(),
            manifest: manifest.as_str().to_owned(),
            uses: BTreeSet::new(),
            tests_use: BTreeSet::new(),
            outside: BTreeSet::new(),
        };
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let edges = if !names.contains(name) {
                &mut member.outside
            } else if dependency.kind == DependencyKind::Development {
                &mut member.tests_use
            } else {
                &mut member.uses
            };
            edges.insert(noun_of(name).to_owned());
        }
        members.push(member);
    }
    Ok(members)
}

pub(crate) fn noun_of(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

fn name_fault(member: &Member) -> Option<Finding> {
    let noun = &member.noun;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let is_name = noun.bytes().all(is_plain);
    let is_right = if member.package == TOOL {
        member.folder == TOOL
    } else {
        is_name
            && member.package == format!("{PREFIX}{noun}")
            && member.folder == format!("crates/{noun}")
    };
    (!is_right).then(|| {
        Finding::new(
            &member.manifest,
            1,
            format!(
                "package `{}` in {}; a crate is crates/<noun> with package {PREFIX}<noun>, \
                 the noun lowercase words with hyphens",
                member.package, member.folder
            ),
        )
    })
}

fn edge_faults(
    member: &Member,
    rule: &CrateRule,
    manifest_text: &str,
    policy_text: &str,
) -> Vec<Finding> {
    let kinds = [
        EdgeKind {
            found: &member.uses,
            listed: &rule.uses,
            key: "uses",
            table: "[dependencies]",
        },
        EdgeKind {
            found: &member.tests_use,
            listed: &rule.tests_use,
            key: "tests_use",
            table: "[dev-dependencies]",
        },
    ];
    let noun = &member.noun;
    let mut findings = Vec::new();
    for kind in kinds {
        for used in kind.found.iter().filter(|used| !kind.listed.contains(used)) {
            findings.push(Finding::new(
                &member.manifest,
                line_of_dependency(manifest_text, &format!("{PREFIX}{used}")),
                format!(
                    "`{noun}` must not use `{used}` in {}: the edge is not in `{}` of [crate.{noun}] \
                     in {POLICY_FILE}; turn the call around, or write an ADR and list it",
                    kind.table, kind.key
                ),
            ));
        }
        for listed in kind
            .listed
            .iter()
            .filter(|listed| !kind.found.contains(*listed))
        {
            findings.push(Finding::new(
                POLICY_FILE,
                line_of(policy_text, &crate_header(noun)),
                format!(
                    "stale edge: `{noun}` does not use `{listed}` in {}; take it out of `{}`",
                    kind.table, kind.key
                ),
            ));
        }
    }
    findings
}

/// Arrows point inward, also where the list says otherwise; tests may reach out to the testkit.
fn layer_faults(
    member: &Member,
    rule: &CrateRule,
    manifest_text: &str,
    policy: &Policy,
) -> Vec<Finding> {
    let noun = &member.noun;
    let depth_of = |noun: &String| {
        let rule = policy.crates.get(noun)?;
        policy.layer_depth(&rule.layer)
    };
    let mut findings = Vec::new();
    for used in &member.uses {
        if depth_of(used) > depth_of(noun) {
            findings.push(Finding::new(
                &member.manifest,
                line_of_dependency(manifest_text, &format!("{PREFIX}{used}")),
                format!(
                    "`{noun}` (layer {}) uses `{used}`, which is further out; arrows point inward only",
                    rule.layer
                ),
            ));
        }
    }
    let layer = policy.layers.iter().find(|layer| layer.name == rule.layer);
    for banned in layer.into_iter().flat_map(|layer| &layer.banned) {
        if member.outside.contains(banned) {
            findings.push(Finding::new(
                &member.manifest,
                line_of_dependency(manifest_text, banned),
                format!(
                    "`{noun}` is in layer {}, where `{banned}` is banned; return a value that says \
                     what to do and let an outer crate do it",
                    rule.layer
                ),
            ));
        }
    }
    findings
}

/// The line that names a dependency as a key; inherited, inline and table spellings all begin alike.
fn line_of_dependency(manifest_text: &str, name: &str) -> usize {
    let is_key = |line: &str| {
        let rest = line.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    manifest_text
        .lines()
        .position(is_key)
        .map_or_else(|| line_of(manifest_text, name), |index| index + 1)
}

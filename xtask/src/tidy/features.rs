//! Features that must not reach what is shipped: only the crates that a rule names turn one on, and no
//! crate has it without being asked.
//!
//! Together with the edges this is a proof: a crate that turns it on is reached from tests alone.

use cargo_metadata::Package;

use crate::files::Tree;
use crate::finding::{Finding, line_of};
use crate::tidy::edges::{noun_of, workspace};
use crate::tidy::policy::{Feature, Policy};

pub(crate) fn check(tree: &Tree, policy: &Policy) -> Vec<Finding> {
    // A workspace that cargo cannot read is a finding of the edges.
    let Ok(metadata) = workspace(tree) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root);
        let manifest = manifest.map_or("Cargo.toml", |path| path.as_str());
        let text = tree.file(manifest).map_or("", |file| file.text.as_str());
        for rule in &policy.features {
            findings.extend(fault(package, rule).map(|what| {
                let line = line_of(text, &rule.name);
                Finding::new(manifest, line, format!("{what}: {}", rule.reason))
            }));
        }
    }
    findings
}

/// How a crate turns a feature on without being allowed to, if it does.
fn fault(package: &Package, rule: &Feature) -> Option<String> {
    let noun = noun_of(package.name.as_str());
    let Feature { name, of, .. } = rule;
    let is_named = |feature: &String| feature == name;
    let in_dependency = package.dependencies.iter().any(|dependency| {
        noun_of(&dependency.name) == of && dependency.features.iter().any(is_named)
    });
    // A feature that stands for this one passes it on: `name` inside the crate, `crate/name` outside.
    let passed_on = format!("/{name}");
    let in_feature = package
        .features
        .values()
        .flatten()
        .any(|part| part.ends_with(&passed_on) || (noun == of && is_named(part)));
    if in_feature {
        return Some(format!(
            "a feature of `{noun}` must not stand for `{name}` of `{of}`"
        ));
    }
    let may = rule.only_by.iter().any(|allowed| allowed == noun);
    (in_dependency && !may).then(|| format!("`{noun}` must not turn on `{name}` of `{of}`"))
}

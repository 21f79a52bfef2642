//! `trunkline catalog lint`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use trunkline_catalog::{LintFinding, Severity};
use trunkline_types::EndpointType;
use trunkline_upstream::Providers;

use super::source;
use crate::output::Output;

/// Lints a catalog; exits 1 if there is an error.
pub(super) fn run(files: &[PathBuf], output: &Output) -> anyhow::Result<ExitCode> {
    let read = source::files_or_starter(files)?;
    let providers = Providers::builtin().context("the built-in providers cannot be read")?;
    let spoken = |endpoint: EndpointType| providers.any_serves(endpoint);
    let findings = trunkline_catalog::lint(&read.document, &spoken);
    let count = |severity: Severity| {
        let same = findings.iter().filter(|one| one.severity == severity);
        same.count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let models = read.document.models.len();
    let mut lines: Vec<String> = findings.iter().map(line).collect();
    lines.push(format!(
        "{}: {models} models, {errors} errors, {warnings} warnings.",
        read.name
    ));
    let object = json!({
        "ok": errors == 0,
        "catalog": read.name,
        "models": models,
        "errors": errors,
        "warnings": warnings,
        "findings": findings,
    });
    let text = lines.join("\n");
    if errors == 0 {
        output.success(&text, &object);
        return Ok(ExitCode::SUCCESS);
    }
    output.finding(&text, &object);
    Ok(ExitCode::FAILURE)
}

/// `error above_list gpt-6-sol: input is …`.
fn line(finding: &LintFinding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let model = finding.model.as_deref().unwrap_or("the catalog");
    let line = format!("{severity} {} {model}: {}", finding.code, finding.text);
    // A name from a file could otherwise move the cursor of a terminal.
    line.replace(char::is_control, "\u{fffd}")
}

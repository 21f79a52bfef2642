//! `trunkline verify`: checks statements and receipts without a gateway, a database or a network.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_receipts::{PublicKey, Report, verify};

use crate::cli::VerifyArguments;
use crate::files::read_bounded;
use crate::output::Output;

/// Most bytes of a file of keys: thousands of them.
const MAX_KEYS_BYTES: u64 = 1_048_576;
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1_048_576;

#[derive(Deserialize)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Key {
    public_key: String,
}

/// The exit code says whether every file is right.
pub(super) fn run(options: &VerifyArguments, output: &Output) -> anyhow::Result<ExitCode> {
    let trusted = options.keys.as_deref().map(read_keys).transpose()?;
    let mut lines: Vec<String> = Vec::new();
    let mut objects: Vec<Value> = Vec::new();
    let mut is_ok = true;
    for path in &options.files {
        let report = check(path, trusted.as_deref())
            .with_context(|| format!("{} cannot be read", path.display()))?;
        is_ok &= report.is_ok();
        lines.extend(text(path, &report));
        objects.push(object(path, &report));
    }
    let object = json!({ "ok": is_ok, "files": objects });
    if is_ok {
        output.success(&lines.join("\n"), &object);
        return Ok(ExitCode::SUCCESS);
    }
    output.finding(&lines.join("\n"), &object);
    Ok(ExitCode::FAILURE)
}

fn read_keys(path: &Path) -> anyhow::Result<Vec<PublicKey>> {
    let text = read_bounded(path, MAX_KEYS_BYTES);
    let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
    let keys: Keys = serde_json::from_str(&text)
        .with_context(|| format!("{} is no list of keys", path.display()))?;
    let read = |key: &Key| {
        PublicKey::parse(key.public_key.as_bytes())
            .with_context(|| format!("{} has a key that is none", path.display()))
    };
    keys.keys.iter().map(read).collect()
}

fn check(path: &Path, trusted: Option<&[PublicKey]>) -> std::io::Result<Report> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    verify(&mut file, trusted)
}

/// The same lines that docs/verify/verify.py prints.
fn text(path: &Path, report: &Report) -> Vec<String> {
    let name = path.display();
    if report.is_ok() {
        let signed = report.keys.iter();
        let signed = signed.map(|key| format!("{name}: signed by {key}"));
        let summary = format!("{name}: ok: {}", report.summary());
        return std::iter::once(summary).chain(signed).collect();
    }
    let findings = report.findings.iter();
    findings
        .map(|finding| format!("{name}: {finding}"))
        .collect()
}

fn object(path: &Path, report: &Report) -> Value {
    let strings = |values: Vec<String>| Value::from(values);
    json!({
        "file": path.display().to_string(),
        "ok": report.is_ok(),
        "kind": if report.is_receipt { "receipt" } else { "statement" },
        "account": report.account,
        "from": report.from,
        "to": report.to,
        "days": report.totals.days,
        "lines": report.totals.lines,
        // Sums of 64-bit numbers may be longer than JSON's readers take.
        "paid_nanos": report.totals.paid.to_string(),
        "trial_nanos": report.totals.trial.to_string(),
        "previous": report.previous.map(|hash| hash.to_string()),
        "head": report.head.map(|hash| hash.to_string()),
        "keys": strings(report.keys.iter().map(ToString::to_string).collect()),
        "findings": strings(report.findings.iter().map(ToString::to_string).collect()),
    })
}

//! `trunkline verify` and docs/verify/verify.py: they find every change and say the same of every file.

mod changes;
pub(crate) mod served;
mod statements;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dev::TRUNKLINE;

/// What both verifiers print of files in a folder, and whether they call all of them right.
struct Verdict {
    lines: Vec<String>,
    is_ok: bool,
}

fn cached(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let path = PathBuf::from(home).join(".cache/trunkline").join(name);
    assert!(path.exists(), "{name} is not installed: run just setup");
    path
}

/// How large a test is: a number from the environment, else its size in the gate.
fn size(variable: &str, in_gate: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the size of a long form, not configuration"
    )]
    let value = std::env::var(variable);
    value.map_or(in_gate, |value| value.parse().unwrap())
}

/// By the executable.
fn by_trunkline(folder: &Path, words: &[String]) -> Verdict {
    let mut command = Command::new(TRUNKLINE);
    command.arg("verify").args(words);
    verdict(command, folder)
}

/// By the script.
fn by_python(folder: &Path, words: &[String]) -> Verdict {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify/verify.py");
    let mut command = Command::new(cached("sdk/venv/bin/python"));
    command.arg(script).args(words);
    verdict(command, folder)
}

fn verdict(mut command: Command, folder: &Path) -> Verdict {
    let output = command
        .current_dir(folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)) && complained.is_empty(),
        "{complained}"
    );
    let printed = String::from_utf8(output.stdout).unwrap();
    Verdict {
        lines: printed.lines().map(str::to_owned).collect(),
        is_ok: output.status.success(),
    }
}

/// Both, which must agree.
fn by_both(folder: &Path, words: &[String]) -> Verdict {
    let (one, other) = (by_trunkline(folder, words), by_python(folder, words));
    assert_eq!(one.lines.len(), other.lines.len());
    for (ours, theirs) in one.lines.iter().zip(&other.lines) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(one.is_ok, other.is_ok);
    one
}

//! Repository tasks: `tidy` checks the boundaries between the crates, `conformance` shows which requirements have tests.
//!
//! This crate knows the repository as files and nothing of the product: no other crate may use it, and it uses none.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool: what it prints is its result"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::files::Tree;
use crate::finding::Finding;

mod conformance;
mod files;
mod finding;
mod tidy;
mod tokens;

const USAGE: &str = "usage:
  cargo run -p xtask -- tidy [--words | --places] [--root DIR]
  cargo run -p xtask -- conformance [--check] [--spec FILE] [--root DIR]";

/// What the command line asks for.
struct Request {
    chore: Chore,
    root: Option<PathBuf>,
}

enum Chore {
    Tidy { words: tidy::Words },
    Conformance { check: bool, spec: Option<PathBuf> },
}

fn main() -> ExitCode {
    match run() {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("{} finding(s)", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<Vec<Finding>> {
    let request = read_arguments(std::env::args().skip(1))?;
    let root = match request.root {
        Some(root) => root,
        None => nearest_root()?,
    };
    let tree = Tree::read(&root)?;
    let outcome = match request.chore {
        Chore::Tidy { words } => tidy::run(&tree, words)?,
        Chore::Conformance { check, spec } => conformance::run(&tree, check, spec.as_deref())?,
    };
    print!("{}", outcome.summary);
    let mut findings = outcome.findings;
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// What a chore found, and what it prints whether or not it found anything.
struct Outcome {
    summary: String,
    findings: Vec<Finding>,
}

fn read_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Request> {
    let mut chore = match arguments.next().as_deref() {
        Some("tidy") => Chore::Tidy {
            words: tidy::Words::Nothing,
        },
        Some("conformance") => Chore::Conformance {
            check: false,
            spec: None,
        },
        Some(other) => bail!("unknown chore `{other}`\n{USAGE}"),
        None => bail!("no chore named\n{USAGE}"),
    };
    let mut root = None;
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let value = arguments.next().map(PathBuf::from);
            value.with_context(|| format!("`{argument}` needs a value\n{USAGE}"))
        };
        match (argument.as_str(), &mut chore) {
            ("--root", _) => root = Some(value()?),
            ("--words", Chore::Tidy { words }) => *words = tidy::Words::Counts,
            ("--places", Chore::Tidy { words }) => *words = tidy::Words::Places,
            ("--spec", Chore::Conformance { spec, .. }) => *spec = Some(value()?),
            ("--check", Chore::Conformance { check, .. }) => *check = true,
            _ => bail!("unknown argument `{argument}`\n{USAGE}"),
        }
    }
    Ok(Request { chore, root })
}

/// The nearest folder upwards that holds the policy, so that chores also run from inside a crate.
fn nearest_root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    here.ancestors()
        .find(|folder| folder.join(tidy::POLICY_FILE).is_file())
        .map(Path::to_path_buf)
        .with_context(|| format!("no {} here or above; say --root DIR", tidy::POLICY_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(arguments: &[&str]) -> Option<String> {
        let owned = arguments.iter().map(|argument| (*argument).to_owned());
        read_arguments(owned).err().map(|error| error.to_string())
    }

    #[test]
    fn arguments_that_mean_nothing_are_refused() {
        assert_eq!(refusal(&["tidy", "--root", "x"]), None);
        assert_eq!(refusal(&["tidy", "--words"]), None);
        assert_eq!(refusal(&["conformance", "--check", "--spec", "x"]), None);
        for (arguments, words) in [
            (&[][..], "no chore"),
            (&["mend"], "unknown chore `mend`"),
            (&["tidy", "--check"], "unknown argument `--check`"),
            (&["tidy", "--root"], "`--root` needs a value"),
        ] {
            let reported = refusal(arguments).unwrap();
            assert!(reported.starts_with(words), "{reported}");
        }
    }
}

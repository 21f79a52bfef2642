//! Which commit the executable is built of, for `trunkline --version`: `TRUNKLINE_COMMIT` if it is set, for builds
//! without a repository; else the repository's. A debug build does not ask: it would be linked anew, and every test
//! program with it, after each commit.

use std::path::Path;
use std::process::Command;

/// Characters of a commit that are displayed.
const SHOWN_CHARACTERS: usize = 12;
/// What stands behind a commit whose files were changed before the build.
const CHANGED: &str = "-changed";

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything by the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TRUNKLINE_COMMIT");
    // Profiles that inherit from release are told as release too.
    let is_release = variable("PROFILE").is_some_and(|profile| profile == "release");
    let commit = variable("TRUNKLINE_COMMIT").or_else(|| is_release.then(of_repository).flatten());
    let build = match commit {
        Some(commit) => {
            let (commit, changed) = match commit.strip_suffix(CHANGED) {
                Some(commit) => (commit, ", changed"),
                None => (commit.as_str(), ""),
            };
            let short_commit: String = commit.chars().take(SHOWN_CHARACTERS).collect();
            format!("commit {short_commit}{changed}")
        }
        None if is_release => "commit unknown".to_owned(),
        None => "debug build".to_owned(),
    };
    println!("cargo::rustc-env=TRUNKLINE_BUILD={build}");
}

/// The commit that is checked out; none without git or a repository.
fn of_repository() -> Option<String> {
    // The second changes with each commit, the first with each change of branch where nothing is logged.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}

/// What git prints, none if it fails or prints nothing.
fn git(words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    let text = text.trim();
    (done.status.success() && !text.is_empty()).then(|| text.to_owned())
}

//! An empty home and work folder, and the programs that `just setup` installed.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::dev::PATIENCE;

/// The folders of one run. In the work folder is a note with a word that stands nowhere else: an agent
/// that tells it has read it.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    pub(crate) word: String,
}

/// What a program said.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) succeeded: bool,
    pub(crate) output: String,
    pub(crate) stderr: String,
}

/// What every agent is asked to do a second time: to leave a file behind.
pub(crate) const MADE: &str = "made.txt";

// === impl Sandbox ===

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let word = format!("marmalade-{}", name.trim_start_matches('.'));
        let scratch = Self { folder, word };
        std::fs::create_dir(scratch.home()).unwrap();
        std::fs::create_dir(scratch.work()).unwrap();
        let note = format!("the word is {}\n", scratch.word);
        std::fs::write(scratch.note(), note).unwrap();
        scratch
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn note(&self) -> PathBuf {
        self.work().join("note.txt")
    }

    /// Asserts that the agent has copied the note.
    pub(crate) fn assert_made(&self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "the file is a copy of one that we wrote"
        )]
        let made = std::fs::read_to_string(self.work().join(MADE)).unwrap();
        assert!(made.contains(&self.word), "{made}");
    }

    /// A file of the program's own settings.
    pub(crate) fn settings(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// An installed program with an environment that holds nothing of the user that runs the tests.
    pub(crate) fn command(&self, program: &str) -> Command {
        let programs = installed("bin");
        let path = format!("{}:/usr/bin:/bin", programs.display());
        let mut command = Command::new(programs.join(program));
        command
            .current_dir(self.work())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .env("TERM", "dumb")
            .env("NO_PROXY", "*")
            .stdin(Stdio::null());
        command
    }
}

// === impl ProgramOutput ===

impl ProgramOutput {
    /// The lines that are JSON; programs put remarks between them.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.output.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

/// Runs a program to its end, which must be a good one.
pub(crate) async fn run(command: &mut Command) -> ProgramOutput {
    let reply = attempt(command).await;
    assert!(
        reply.succeeded,
        "{command:?}\n{}\n{}",
        reply.output, reply.stderr
    );
    reply
}

/// Runs a program to its end.
pub(crate) async fn attempt(command: &mut Command) -> ProgramOutput {
    let output = timeout(PATIENCE, command.kill_on_drop(true).output());
    let output = output.await.expect("it comes to an end").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ProgramOutput {
        succeeded: output.status.success(),
        output: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Where `just setup` has put something for these tests.
pub(crate) fn installed(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let path = PathBuf::from(home)
        .join(".cache/trunkline/clients")
        .join(name);
    assert!(
        path.exists(),
        "the clients are not installed: run just setup"
    );
    path
}

/// A script of this suite.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/clients")
        .join(name)
}

//! A small, clean workspace in a temporary folder, to be spoilt by one test each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const WORKSPACE: &str = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n";

const POLICY: &str = r#"
[[layer]]
name = "pure"
banned = ["tokio", "sqlx"]
[[layer]]
name = "io"

[crate.types]
layer = "pure"

[crate.catalog]
layer = "pure"
uses = ["types"]

[crate.db]
layer = "io"
uses = ["types"]
tests_use = ["catalog"]

[[only_in]]
pattern = "ledger."
look_in = "sql"
paths = ["migrations/", "**/tests/"]
reason = "one writer"
"#;

/// A workspace of three crates that obeys its policy.
pub(crate) struct Fixture {
    folder: TempDir,
}

/// How a run of the tool ended, and everything it printed.
pub(crate) struct Run {
    pub(crate) is_success: bool,
    pub(crate) text: String,
}

impl Fixture {
    pub(crate) fn clean() -> Self {
        let fixture = Self::empty();
        fixture.write("Cargo.toml", WORKSPACE);
        fixture.write("tidy.toml", POLICY);
        // Appended in halves, so that this repository does not hold what it forbids.
        let forbidden = concat!(
            "[[forbidden]]\npattern = \"/wo",
            "rk/\"\nreason = \"one machine\"\n"
        );
        fixture.append("tidy.toml", forbidden);
        fixture.add_crate("types", "");
        fixture.add_crate(
            "catalog",
            "[dependencies]\ntrunkline-types = { path = \"../types\" }\n",
        );
        fixture.add_crate(
            "db",
            "[dependencies]\ntrunkline-types = { path = \"../types\" }\n\
             [dev-dependencies]\ntrunkline-catalog = { path = \"../catalog\" }\n",
        );
        fixture
    }

    /// A folder below the temporary one, so that something can also lie beside the repository.
    pub(crate) fn empty() -> Self {
        let fixture = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(fixture.root()).unwrap();
        fixture
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub(crate) fn add_crate(&self, noun: &str, dependencies: &str) {
        let manifest = format!(
            "[package]\nname = \"trunkline-{noun}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             license = \"Apache-2.0\"\npublish = false\n\n{dependencies}"
        );
        self.write(&format!("crates/{noun}/Cargo.toml"), &manifest);
        self.write(&format!("crates/{noun}/src/lib.rs"), "//! A module.\n");
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let target = self.root().join(path);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.root().join(path)).unwrap()).unwrap()
    }

    pub(crate) fn append(&self, path: &str, text: &str) {
        self.write(path, &(self.read(path) + text));
    }

    /// Replaces a text that must be there: a mistake that is not made proves nothing.
    pub(crate) fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "{path} does not hold `{old}`");
        self.write(path, &text.replace(old, new));
    }

    pub(crate) fn xtask(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(arguments).arg("--root").arg(self.root());
        Run::of(command)
    }

    pub(crate) fn tidy(&self) -> Run {
        self.tidy_with(&[])
    }

    pub(crate) fn tidy_with(&self, more: &[&str]) -> Run {
        self.xtask(&[&["tidy"], more].concat())
    }
}

impl Run {
    pub(crate) fn of(mut command: Command) -> Self {
        let Output {
            status,
            stdout,
            stderr,
        } = command
            .output()
            .unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
        Self {
            is_success: status.success(),
            text: format!(
                "{}{}",
                String::from_utf8_lossy(&stdout),
                String::from_utf8_lossy(&stderr)
            ),
        }
    }

    #[track_caller]
    pub(crate) fn passes(&self) {
        assert!(self.is_success, "{}", self.text);
    }

    /// The run failed, and one line begins with `place` and holds `words`.
    #[track_caller]
    pub(crate) fn refuses(&self, place: &str, words: &str) {
        assert!(!self.is_success, "passed, without: {place}: {words}");
        let is_told = self
            .text
            .lines()
            .any(|line| line.starts_with(place) && line.contains(words));
        assert!(is_told, "no `{place} … {words}` in:\n{}", self.text);
    }

    #[track_caller]
    pub(crate) fn counts(&self, findings: usize) {
        let count = format!("\n{findings} finding(s)");
        assert!(self.text.contains(&count), "{}", self.text);
    }
}

/// The checkout this test was built from.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

pub(crate) fn repository_file(path: &str) -> String {
    String::from_utf8(fs::read(repository().join(path)).unwrap()).unwrap()
}

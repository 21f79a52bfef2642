//! A page of documentation whose commands a test runs on a machine that the test plays: `systemctl`, `sudo` and
//! `certbot` ask the test what they do there.

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use crate::faults::process_harness::TRUNKLINE;

/// Longest block.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The user that runs the tests is root enough; `-u postgres` is the database's own superuser.
const SUDO: &str = "#!/usr/bin/env bash
set -euo pipefail
if [ \"$1\" = -u ]; then export PGUSER=$2 PGDATABASE=${PGDATABASE:-postgres}; shift 2; fi
exec \"$@\"
";

/// Says what it was request, and waits until the test has done it.
const ASK: &str = "#!/usr/bin/env bash
set -euo pipefail
echo \"$(basename \"$0\") $*\" > \"$REQUESTED.new\"
mv \"$REQUESTED.new\" \"$REQUESTED\"
while [ -e \"$REQUESTED\" ]; do sleep 0.05; done
";

/// Commands that the test does itself.
const REQUESTED: [&str; 2] = ["systemctl", "certbot"];

/// A page, with what of it was run.
pub(crate) struct Page {
    name: String,
    text: String,
    blocks: Vec<String>,
    run: RefCell<Vec<usize>>,
}

/// A shell on the machine of the page.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    /// What of the page's text is another thing here.
    replaced: Vec<(String, String)>,
}

// === impl Page ===

impl Page {
    /// Reads a page of `docs/operate`.
    pub(crate) fn open(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operate");
        let bytes = std::fs::read(folder.join(name)).unwrap_or_else(|_| panic!("{name} is there"));
        let text = String::from_utf8(bytes).unwrap();
        let mut blocks = Vec::new();
        let mut open: Option<String> = None;
        for line in text.lines() {
            match &mut open {
                None if line == "```sh" => open = Some(String::new()),
                Some(_) if line == "```" => blocks.extend(open.take()),
                Some(block) => {
                    block.push_str(line);
                    block.push('\n');
                }
                None => {}
            }
        }
        assert!(!blocks.is_empty(), "{name} has commands");
        Self {
            name: name.to_owned(),
            text,
            blocks,
            run: RefCell::default(),
        }
    }

    /// The block of commands that begins so.
    pub(crate) fn block(&self, start: &str) -> &str {
        let found = self
            .blocks
            .iter()
            .position(|block| block.starts_with(start));
        let number = found.unwrap_or_else(|| panic!("{}: no block begins {start:?}", self.name));
        self.run.borrow_mut().push(number);
        &self.blocks[number]
    }

    /// The value of a setting of PostgreSQL that the page shows.
    pub(crate) fn setting(&self, name: &str) -> String {
        let prefix = format!("{name} = ");
        let mut values = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix(&prefix));
        let value = values
            .next()
            .unwrap_or_else(|| panic!("{}: {name}", self.name));
        value.trim_matches('\'').to_owned()
    }

    /// Every block of the page was run.
    pub(crate) fn is_run(&self) {
        let run = self.run.borrow();
        let left: Vec<&String> = self
            .blocks
            .iter()
            .enumerate()
            .filter(|(number, _)| !run.contains(number))
            .map(|(_, block)| block)
            .collect();
        assert!(left.is_empty(), "{}: not run: {left:?}", self.name);
    }
}

// === impl Shell ===

impl Shell {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(TRUNKLINE, programs.join("trunkline")).unwrap();
        let write = |name: &str, script: &str| {
            let path = programs.join(name);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        write("sudo", SUDO);
        for name in REQUESTED {
            write(name, ASK);
        }
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin",
            programs.display()
        );
        let request = folder.path().join("request").display().to_string();
        Self {
            environment: vec![
                ("PATH".to_owned(), path),
                ("REQUESTED".to_owned(), request),
                ("HOME".to_owned(), folder.path().display().to_string()),
                ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
            ],
            folder,
            replaced: Vec::new(),
        }
    }

    /// Where its commands run.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// What a page names is another thing here.
    pub(crate) fn replace(&mut self, named: &str, here: impl Into<String>) {
        self.replaced.push((named.to_owned(), here.into()));
    }

    /// Runs commands that must succeed. What they ask of the machine, `answer` does. Returns what they printed.
    pub(crate) async fn run(&self, block: &str, mut answer: impl AsyncFnMut(&str)) -> String {
        let mut text = format!("set -euo pipefail\n{block}");
        for (named, here) in &self.replaced {
            text = text.replace(named, here);
        }
        let (out, request) = (
            self.folder.path().join("out"),
            self.folder.path().join("request"),
        );
        let file = std::fs::File::create(&out).unwrap();
        let mut child = Command::new("bash")
            .args(["-c", &text])
            .current_dir(self.folder.path())
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if let Ok(words) = std::fs::read(&request) {
                answer(String::from_utf8(words).unwrap().trim()).await;
                std::fs::remove_file(&request).unwrap();
            }
            assert!(began.elapsed() < PATIENCE, "no end:\n{text}");
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let printed = String::from_utf8_lossy(&std::fs::read(&out).unwrap()).into_owned();
        assert!(status.success(), "{text}\nprinted:\n{printed}");
        printed
    }
}

/// For blocks that ask nothing of the machine.
pub(crate) fn nothing(request: &str) -> std::future::Ready<()> {
    panic!("{request} is not expected here");
}

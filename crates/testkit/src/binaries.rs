//! Where the programs are, and how to start one so that it outlives the test that started it, keeps
//! none of its pipes, and is found by the watchdog.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql";
const DEBIAN_SERVERS: &str = "/usr/sbin";

/// Where to find a server: in the path, else where Debian puts servers, which is in root's path only.
pub(crate) fn server_program(name: &str) -> PathBuf {
    in_path(name).unwrap_or_else(|| Path::new(DEBIAN_SERVERS).join(name))
}

/// Where to find one of PostgreSQL's programs: in the path, else the newest that Debian installed.
pub(crate) fn postgres_program(name: &str) -> PathBuf {
    if let Some(found) = in_path(name) {
        return found;
    }
    let versions = std::fs::read_dir(DEBIAN_POSTGRES).into_iter().flatten();
    versions
        .filter_map(|entry| {
            let folder = entry.ok()?.path();
            let version: u32 = folder.file_name()?.to_str()?.parse().ok()?;
            let program = folder.join("bin").join(name);
            program.exists().then_some((version, program))
        })
        .max()
        .map(|(_, program)| program)
        .unwrap_or_else(|| panic!("{name} is neither in the path nor under {DEBIAN_POSTGRES}"))
}

/// Whether we are root, whom PostgreSQL refuses to serve.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self")
        .expect("this is Linux")
        .uid()
        == 0
}

/// How large the file system at `folder` is; 0 when there is none.
pub(crate) fn megabytes_of(folder: &Path) -> u64 {
    let table = Command::new("df").arg("-Pm").arg(folder).output();
    let table = table.map(|done| done.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&table);
    let size = text
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(1));
    size.and_then(|size| size.parse().ok()).unwrap_or(0)
}

/// A command that runs a PostgreSQL program, as the user `postgres` when we are root.
pub(crate) fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--init-groups"])
        .arg(program);
    command
}

/// Gives a directory to the user that [`as_postgres`] runs as.
pub(crate) fn give_to_postgres(folder: &Path) {
    if is_root() {
        must(Command::new("chown").arg("postgres:postgres").arg(folder));
    }
}

/// Turns a command into one for a server: in its own session, so that a signal to the test's group
/// or terminal does not reach it, at home in `folder`, speaking to a file.
pub(crate) fn as_server(command: &Command, folder: &Path, log: &Path) -> Command {
    let mut server = Command::new("setsid");
    server
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(append_to(log))
        .stderr(append_to(log));
    server
}

/// Runs a program to its end and stops the test when it fails.
pub(crate) fn must(command: &mut Command) {
    let done = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    if !done.status.success() {
        let log = String::from_utf8_lossy(&done.stderr);
        panic!("{command:?} failed: {log}");
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "test support has no configuration but the path"
    )]
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

fn append_to(log: &Path) -> File {
    File::options()
        .create(true)
        .append(true)
        .open(log)
        .expect("the log can be written")
}

//! What only root may do (mount a file system, make networks), for every user who runs the tests.
//!
//! A plain user has these rights in a user namespace of its own, with networks and mounts of its own:
//! the test program starts itself once more in there. It keeps its user id, because PostgreSQL does not
//! serve root. Where the kernel forbids such namespaces the test is skipped, and the reason is reported.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::test_run::Run;
use crate::{binaries, skip};

/// Set in a test program that runs in namespaces of its own.
const INSIDE: &str = "TRUNKLINE_TEST_NAMESPACES";
/// nextest sets it, and starts one process for every test.
const NEXTEST: &str = "NEXTEST_RUN_ID";

/// New namespaces, and all capabilities inside them for the user that we are. Names of network
/// namespaces lie in `/run/netns`, which is root's; here it lies in a new file system.
const NAMESPACES: [&str; 8] = [
    "--user",
    "--map-current-user",
    "--keep-caps",
    "--net",
    "--mount",
    "sh",
    "-euc",
    "mount -t tmpfs tmpfs /run; mkdir /run/netns; ip link set lo up; exec \"$@\"",
];

/// Tries everything that a test may need: a small disk, a network, a process in it and a cable to it.
/// Called in namespaces that end with it, so it leaves nothing.
const TRIAL: &str = "mount -t tmpfs -o size=1m tmpfs /mnt; umount -l /mnt
    mount -t tmpfs tmpfs /run; mkdir /run/netns
    ip netns add trial; ip netns exec trial ip link set lo up
    ip link add trial0 type veth peer name trial1; ip link set trial1 netns trial
    ip link set lo up; ip address add 10.254.0.1/32 dev lo";

/// Whether this test may mount file systems and make networks; call it first. When a plain user must
/// be in a user namespace for that, the test starts anew in there and this call does not return.
///
/// Where it is not allowed at all, the test is reported as skipped and has to return.
///
/// # Panics
///
/// Where it is not allowed although we are root or in CI: nothing is skipped there.
pub async fn privileged() -> bool {
    if is_set(INSIDE) {
        return true;
    }
    match rights() {
        Ok(Rights::Ours) => true,
        Ok(Rights::InNamespaces) => {
            // The servers that all tests of a run share must be outside: others cannot reach them in there.
            Run::current().await;
            let error = start_again();
            panic!("the test program does not start in namespaces of its own: {error}");
        }
        Err(reason) => {
            skip::skipped(&reason);
            false
        }
    }
}

/// How we may do what the trial does.
enum Rights {
    Ours,
    InNamespaces,
}

fn rights() -> Result<Rights, String> {
    if binaries::is_root() {
        return tried(&["--net", "--mount", "sh", "-euc", TRIAL])
            .map(|()| Rights::Ours)
            .map_err(|log| format!("root may not mount or make networks here: {log}"));
    }
    if !is_set(NEXTEST) {
        return Err("a plain user needs nextest, which gives each test its own process".to_owned());
    }
    let mut words = NAMESPACES.to_vec();
    words.extend(["sh", "sh", "-euc", TRIAL]);
    tried(&words).map(|()| Rights::InNamespaces).map_err(|log| {
        format!("a plain user may not mount or make networks in a user namespace here: {log}")
    })
}

/// Runs a trial; the last line of what it said when it fails.
fn tried(words: &[&str]) -> Result<(), String> {
    let done = Command::new("unshare").args(words).output();
    let done = done.map_err(|error| format!("unshare: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&done.stderr);
    Err(log.lines().last().unwrap_or("no reason given").to_owned())
}

/// Becomes the same program with the same words, inside. The process stays the one that nextest knows.
fn start_again() -> std::io::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    Command::new("unshare")
        .args(NAMESPACES)
        .arg("sh")
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "yes")
        .exec()
}

fn is_set(name: &str) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "nextest and this file tell a test where it runs by the environment only"
    )]
    let value = std::env::var_os(name);
    value.is_some()
}

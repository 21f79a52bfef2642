//! A plain user runs the tests that mount and make networks, or reads why not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output};

use trunkline_testkit::random_bytes;

const TEST: &str = "netns::a_network_namespace_is_cut_off_by_its_link_and_comes_back";

/// Runs that test as nextest would, as a plain user, who must be able to reach the program.
fn run_as_plain_user(folder: &Path, report: &Path, ci: &str) -> Output {
    let program = folder.join("program");
    let run = format!("plain-{:016x}", u64::from_be_bytes(random_bytes()));
    // Root becomes the user without rights; other users are plain already.
    let mut command = if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(&program);
        command
    } else {
        Command::new(&program)
    };
    command
        .args(["--exact", "--nocapture", TEST])
        .env("NEXTEST_RUN_ID", run)
        .env("NEXTEST_TEST_NAME", TEST)
        // That file is of the user who runs the tests.
        .env_remove("TRUNKLINE_TALLY")
        .env("TRUNKLINE_SKIPPED", report)
        .env("CI", ci)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn a_plain_user_runs_privileged_tests_or_they_are_skipped_and_fail_in_ci() {
    let word = u64::from_be_bytes(random_bytes());
    let folder = std::env::temp_dir().join(format!("trunkline-plain-{word:016x}"));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    fs::copy(std::env::current_exe().unwrap(), folder.join("program")).unwrap();
    let report = folder.join("report");
    fs::write(&report, "").unwrap();
    fs::set_permissions(&report, Permissions::from_mode(0o666)).unwrap();

    let ran = run_as_plain_user(&folder, &report, "");
    let log = String::from_utf8_lossy(&ran.stdout).into_owned();
    let skipped = String::from_utf8(fs::read(&report).unwrap()).unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(log.contains("1 passed"), "{log}");
    assert_eq!(log.contains("skipped: "), !skipped.is_empty(), "{log}");
    if !skipped.is_empty() {
        // This kernel lets no plain user make namespaces.
        assert!(skipped.contains(&format!("{TEST}: a plain user may not")));
        let in_ci = run_as_plain_user(&folder, &report, "true");
        assert!(!in_ci.status.success(), "{in_ci:?}");
    }
    println!("as a plain user: {log}");
    fs::remove_dir_all(&folder).unwrap();
}

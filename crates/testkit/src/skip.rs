//! Tests that cannot run on this machine. nextest knows passed and failed only, so a skipped test writes
//! a line into a file that `scripts/nextest` names and prints when all tests have run.

use std::fs::File;
use std::io::Write as _;

use crate::binaries;

/// The file, if a task reads it.
const REPORT: &str = "TRUNKLINE_SKIPPED";

/// Reports that the test which calls this cannot run here; it has to return afterwards.
///
/// # Panics
///
/// In CI and as root, where every test can run and none may be skipped.
#[expect(
    clippy::print_stdout,
    reason = "nextest shows what a test prints when it is asked to"
)]
pub(crate) fn skipped(reason: &str) {
    let name = variable("NEXTEST_TEST_NAME")
        .or_else(|| std::thread::current().name().map(str::to_owned))
        .unwrap_or_default();
    let name = match variable("NEXTEST_BINARY_ID") {
        Some(program) => format!("{program} {name}"),
        None => name,
    };
    assert!(
        !binaries::is_root() && variable("CI").is_none_or(|value| value != "true"),
        "{name} would be skipped, which is an error for root and in CI: {reason}"
    );
    println!("skipped: {reason}");
    if let Some(report) = variable(REPORT) {
        // One write of one line: many processes append to this file at once.
        File::options()
            .append(true)
            .open(report)
            .and_then(|mut file| file.write_all(format!("{name}: {reason}\n").as_bytes()))
            .expect("the report of skipped tests can be written");
    }
}

fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "nextest and the recipe tell a test its name and the report by the environment only"
    )]
    std::env::var(name).ok()
}

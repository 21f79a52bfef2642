//! Counts what a run starts: databases, servers, gateways. The gate prints the sums, because each of them is
//! time that no assertion needs.

use std::fs::File;
use std::io::Write as _;

/// The file that takes one line for each thing that was started; unset, nothing is counted.
const FILE: &str = "TRUNKLINE_TALLY";

pub fn count(what: &str) {
    #[expect(
        clippy::disallowed_methods,
        reason = "test support has no configuration but the environment"
    )]
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    // One small write to the end of a file: lines of processes beside each other stay whole.
    let line = format!("{what}\n");
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the tally can be written");
}

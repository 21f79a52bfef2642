//! Time and chance for tests: a clock that can be moved and bytes that nobody has seen.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use trunkline_db::SystemClock;
use trunkline_terms::ShiftableClock;

/// The machine's clock, to be moved with [`ShiftableClock::shift_seconds`]. The database's clock is
/// moved with [`Db::shift_clock`](crate::Db::shift_clock).
#[must_use]
pub fn test_clock() -> ShiftableClock {
    ShiftableClock::over(Arc::new(SystemClock))
}

/// Random bytes, for ids and names.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .expect("the kernel has random bytes");
    bytes
}

/// Sixteen hexadecimal digits, for the names of databases and directories.
pub(crate) fn random_word() -> String {
    format!("{:016x}", u64::from_be_bytes(random_bytes()))
}

//! Random bytes and names that no other test has.

use std::fs::File;
use std::io::Read as _;

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

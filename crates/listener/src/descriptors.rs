//! How many descriptors this process may have.

use std::io::Read as _;

/// Where the system says so, and bytes of that file at most.
const LIMITS: &str = "/proc/self/limits";
const MAX_BYTES: u64 = 16_384;
/// Where it cannot be read: what most systems give a process.
const USUAL: usize = 1_024;

/// Descriptors that this process may have open.
pub(crate) fn limit() -> usize {
    let read = || {
        let mut text = String::new();
        let file = std::fs::File::open(LIMITS).ok()?;
        file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        soft_limit(&text)
    };
    read().unwrap_or(USUAL)
}

/// The soft limit of open files.
fn soft_limit(text: &str) -> Option<usize> {
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(usize::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_read() {
        let page = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max processes             7                    8                    processes\n\
                    Max open files            400                  524288               files\n";
        assert_eq!(soft_limit(page), Some(400));
        assert_eq!(
            soft_limit("Max open files unlimited unlimited files"),
            Some(usize::MAX)
        );
        assert_eq!(soft_limit("nothing"), None);
        assert!(limit() > 0);
    }
}

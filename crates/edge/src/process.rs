//! What this process takes of its machine, for the metrics: from `/proc/self`, and nothing where there is none.

use std::fs::File;
use std::io::Read as _;

use crate::prometheus::Page;

/// The kernel counts in hundredths of a second towards programs, whatever its own clock is.
const TICKS: u64 = 100;
const MAX_FILE_BYTES: u64 = 65_536;

/// Writes the numbers of this process.
pub fn page(page: &mut Page) {
    if let Some(ticks) = file("stat").as_deref().and_then(cpu_ticks) {
        let (seconds, rest) = (ticks.div_euclid(TICKS), ticks.rem_euclid(TICKS));
        let help = "CPU time of this process, user and system.";
        page.counter(
            "process_cpu_seconds_total",
            help,
            format!("{seconds}.{rest:02}"),
        );
    }
    let status = file("status").unwrap_or_default();
    if let Some(kilobytes) = number_after(&status, "VmRSS:") {
        let help = "Memory of this process that is not swapped out.";
        let bytes = kilobytes.saturating_mul(1_024);
        page.gauge("process_resident_memory_bytes", help, bytes);
    }
    if let Some(threads) = number_after(&status, "Threads:") {
        page.gauge("process_threads", "Threads of this process.", threads);
    }
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        let help = "File descriptors that are open, sockets among them.";
        page.gauge("process_open_fds", help, entries.count());
    }
    let limits = file("limits").unwrap_or_default();
    if let Some(most) = number_after(&limits, "Max open files") {
        let help = "File descriptors that may be open.";
        page.gauge("process_max_fds", help, most);
    }
}

fn file(name: &str) -> Option<String> {
    let file = File::open(format!("/proc/self/{name}")).ok()?;
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The two times of `/proc/self/stat`. The name of the process, in parentheses, may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user.saturating_add(system))
}

/// The first number of the line that begins so; none where there is no limit.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_tells_its_cpu_memory_and_descriptors() {
        let mut numbers = Page::default();
        page(&mut numbers);
        let text = numbers.text();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} in {text}"))
                .trim()
                .parse()
                .unwrap()
        };
        assert!(value("trunkline_process_resident_memory_bytes ") > 100_000.0);
        assert!(value("trunkline_process_open_fds ") >= 3.0);
        assert!(value("trunkline_process_threads ") >= 1.0);
        assert!(value("trunkline_process_cpu_seconds_total ") >= 0.0);
    }

    #[test]
    fn a_process_may_have_any_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 31 0 0";
        assert_eq!(cpu_ticks(stat), Some(281));
        assert_eq!(cpu_ticks("7 (a"), None);
        let limits = "Max open files            1024                 524288               files";
        assert_eq!(number_after(limits, "Max open files"), Some(1_024));
        assert_eq!(
            number_after("Max open files  unlimited", "Max open files"),
            None
        );
    }
}

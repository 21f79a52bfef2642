//! CPU time of this thread, and the tables that it fills.

use std::fmt::Write;

use trunkline_wire::Format;

/// CPU time of one round: a kernel that counts in ticks of 4 ms is wrong by a fiftieth.
const ROUND_NANOS: u64 = 200_000_000;
/// Other work on the machine only ever adds, so the least of some rounds counts.
const ROUNDS: usize = 5;
/// Steps between two looks at the clock, which is a file.
const STEPS: u64 = 16;

/// CPU-nanoseconds of one step.
pub(crate) fn cost_of(mut step: impl FnMut()) -> f64 {
    (0..STEPS).for_each(|_| step());
    let rounds = (0..ROUNDS).map(|_| {
        let began = spent();
        let mut steps = 0_u64;
        loop {
            (0..STEPS).for_each(|_| step());
            steps += STEPS;
            let nanos = spent() - began;
            if nanos >= ROUND_NANOS {
                break nanos as f64 / steps as f64;
            }
        }
    });
    rounds.fold(f64::INFINITY, f64::min)
}

/// CPU-nanoseconds that this thread has had.
#[expect(
    clippy::disallowed_methods,
    reason = "three numbers that the kernel writes"
)]
fn spent() -> u64 {
    let stats = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stats.split(' ').next().unwrap().parse().unwrap()
}

/// A table of all pairs: a row for what comes in, a column for what goes out. Returns its figures.
pub(crate) fn pairs(
    title: &str,
    rows: &str,
    mut cost: impl FnMut(Format, Format) -> f64,
) -> Vec<(Format, Format, f64)> {
    let mut found = Vec::new();
    let mut text = format!("{title}\n{rows:<18}");
    for to in Format::ALL {
        write!(text, "{:>18}", to.as_str()).unwrap();
    }
    for from in Format::ALL {
        write!(text, "\n{:<18}", from.as_str()).unwrap();
        for to in Format::ALL {
            let nanos = cost(from, to);
            found.push((from, to, nanos));
            write!(text, "{nanos:>18.0}").unwrap();
        }
    }
    println!("{text}\n");
    found
}

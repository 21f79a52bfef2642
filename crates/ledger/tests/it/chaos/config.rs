//! How often and how long: the short form for every push, the long form for a release.

use std::time::Duration;

/// Faults of a class in the short form.
const SHORT_ROUNDS: usize = 3;
/// The long form is asked for with this: faults of each class.
const VARIABLE: &str = "TRUNKLINE_CHAOS_ROUNDS";
/// A race lasts so long in the short form, and so much more as there are more rounds.
const SHORT_RACE: Duration = Duration::from_secs(8);
/// nextest ends a test after five minutes.
const LONGEST_RACE: Duration = Duration::from_secs(120);

/// The deadline that everything pending is measured by: a hold's lifetime, and how long a node may be
/// silent.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);
/// Everything pending is resolved within three times the deadline after a fault is over.
pub(crate) const HEAL_LIMIT: Duration = Duration::from_secs(6);
/// Longest wait for anything that is not itself measured: a process to start, a step to be reached.
pub(crate) const STEP_LIMIT: Duration = Duration::from_secs(60);
/// Pause between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// Faults of each class.
pub(crate) fn rounds() -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how long the chaos lasts; tests have no configuration"
    )]
    let variable = std::env::var(VARIABLE);
    variable.map_or(SHORT_ROUNDS, |text| {
        text.parse().expect("a number of rounds")
    })
}

/// The same, but never fewer than every step once, and every step equally often.
pub(crate) fn rounds_over(steps: usize) -> usize {
    rounds().div_ceil(steps).max(1) * steps
}

/// How long a race lasts.
pub(crate) fn race_time() -> Duration {
    let times = u32::try_from(rounds().div_ceil(SHORT_ROUNDS)).expect("a sane number of rounds");
    (SHORT_RACE * times).min(LONGEST_RACE)
}

/// Waits until something holds, no longer than a limit; what it is said to be is in the failure.
pub(crate) async fn until(what: &str, limit: Duration, mut holds: impl AsyncFnMut() -> bool) {
    let started = tokio::time::Instant::now();
    while !holds().await {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(LOOK).await;
    }
}

//! How the models' routes do: this node counts, adds what it counted to the minutes in the database,
//! and reads what all nodes have counted together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use trunkline_catalog::{Number, RouteHealth, Routes};
use trunkline_db::{Database, DbError};
use trunkline_ledger::Outcome;
use trunkline_store::route_health::{self, Health, Sample};
use trunkline_types::OwnKeyMap;

/// How far back a record looks.
pub(crate) const WINDOW_HOURS: u32 = 24;
/// Models that are counted between two additions; beyond that something is wrong with the names.
const MAX_COUNTED: usize = 100_000;
/// Places of a ratio behind the point.
const RATIO_PLACES: u32 = 4;

/// What was counted and what is known.
#[derive(Debug)]
pub(crate) struct RouteHealthTable {
    counted: Mutex<OwnKeyMap<String, Sample>>,
    known: ArcSwap<HashMap<String, Health>>,
    exchanges: AtomicU64,
}

impl RouteHealthTable {
    pub(crate) fn new() -> Self {
        Self {
            counted: Mutex::default(),
            known: ArcSwap::from_pointee(HashMap::new()),
            exchanges: AtomicU64::new(0),
        }
    }

    /// Counts a call that ended, if it says something about a route.
    pub(crate) fn count(&self, model: &str, outcome: Outcome, output: u64) {
        let failed = match outcome {
            // Nothing found is an answer too.
            Outcome::Complete
            | Outcome::ClientGone
            | Outcome::BalanceExhausted
            | Outcome::NoResult => false,
            Outcome::UpstreamFailed | Outcome::UpstreamTimeout => true,
            // A task is counted when it ends.
            Outcome::Accepted
            | Outcome::Refused
            | Outcome::Interrupted
            | Outcome::Expired
            | Outcome::Drained
            | Outcome::DatabaseAway
            | Outcome::Cancelled => return,
        };
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MAX_COUNTED {
            return;
        }
        if !counted.contains_key(model) {
            counted.insert(model.to_owned(), Sample::default());
        }
        if let Some(seen) = counted.get_mut(model) {
            seen.calls = seen.calls.saturating_add(1);
            seen.failed = seen.failed.saturating_add(i64::from(failed));
            let output = i64::try_from(output).unwrap_or(i64::MAX);
            seen.output_tokens = seen.output_tokens.saturating_add(output);
        }
    }

    /// Adds what was counted to the database and reads what all nodes counted.
    pub(crate) async fn exchange(&self, data: &Database) -> Result<(), DbError> {
        let taken =
            std::mem::take(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner));
        if !taken.is_empty() {
            let seen: Vec<(String, Sample)> = taken.into_iter().collect();
            route_health::add(data, &seen).await?;
        }
        let hours = i32::try_from(WINDOW_HOURS).unwrap_or(i32::MAX);
        let known = route_health::health(&mut *data.session().await?, hours).await?;
        let by_model = known
            .into_iter()
            .map(|health| (health.model.clone(), health));
        self.known.store(Arc::new(by_model.collect()));
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How often what is known was read.
    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges.load(Ordering::Relaxed)
    }

    /// What is known of a model's routes.
    pub(crate) fn of(&self, model: &str, count: u64) -> Routes {
        let known = self.known.load_full();
        let health = known.get(model).map(|health| {
            let went_well = health.sample.calls.saturating_sub(health.sample.failed);
            RouteHealth {
                window_hours: WINDOW_HOURS,
                sample_size: u64::try_from(health.sample.calls).unwrap_or_default(),
                success_ratio: Number::fraction(
                    i128::from(went_well),
                    i128::from(health.sample.calls),
                    RATIO_PLACES,
                ),
                last_checked_at: rfc3339(health.last_at.seconds()),
            }
        });
        Routes { count, health }
    }

    /// Output tokens of a usual answer, if there were answers.
    pub(crate) fn usual_output(&self, model: &str) -> Option<u64> {
        let known = self.known.load_full();
        let seen = known.get(model)?.sample;
        let answers = seen.calls.checked_sub(seen.failed)?;
        u64::try_from(seen.output_tokens.checked_div(answers)?).ok()
    }
}

fn rfc3339(seconds: i64) -> Option<String> {
    jiff::Timestamp::from_second(seconds)
        .ok()
        .map(|time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_result_is_a_success_and_a_task_is_counted_when_it_ends() {
        let table = RouteHealthTable::new();
        for _ in 0..8 {
            table.count("platform", Outcome::NoResult, 0);
        }
        table.count("video", Outcome::Accepted, 0);
        table.count("video", Outcome::UpstreamFailed, 0);
        let counted = table.counted.lock().unwrap();
        let sums = |model: &str| counted.get(model).map(|seen| (seen.calls, seen.failed));
        assert_eq!(sums("platform"), Some((8, 0)));
        assert_eq!(sums("video"), Some((1, 1)));
    }
}

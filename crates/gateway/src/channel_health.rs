//! How channels do by model and endpoint: this node counts while calls end, and adds its sums to those of the database
//! from time to time.

use std::sync::{Mutex, PoisonError};

use trunkline_db::{Database, DbError};
use trunkline_edge::attempt::AttemptSample;
use trunkline_edge::state::CompletedCall;
use trunkline_ledger::Outcome;
use trunkline_store::channel_health::{self, ChannelSums, HealthKey};
use trunkline_types::OwnKeyMap;

/// Channels and endpoints, and models of each, that are counted between two additions; more is a mistake.
const MAX_PLACES: usize = 10_000;
const MAX_MODELS: usize = 10_000;

/// Sums by model.
type ByModel = OwnKeyMap<String, ChannelSums>;

#[derive(Debug, Default)]
pub(crate) struct ChannelHealthTable {
    /// By channel and endpoint.
    counted: Mutex<OwnKeyMap<(i64, &'static str), ByModel>>,
}

impl ChannelHealthTable {
    /// Counts what the attempts of a call say about their channels. A task that was accepted says nothing yet: its
    /// end does.
    pub(crate) fn count(&self, call: &CompletedCall) {
        let is_accepted = call.outcome == Outcome::Accepted;
        for sample in &call.attempts {
            if is_accepted && !sample.failed {
                continue;
            }
            self.change(sample.channel, call.endpoint, &call.model, |sums| {
                add_sample(sums, sample, call.tokens.output);
            });
        }
    }

    /// Counts how a task ended at its channel.
    pub(crate) fn count_task(
        &self,
        channel: i64,
        endpoint: &'static str,
        model: &str,
        failed: bool,
    ) {
        self.change(channel, endpoint, model, |sums| {
            sums.calls = sums.calls.saturating_add(1);
            sums.failed = sums.failed.saturating_add(i64::from(failed));
        });
    }

    fn change(
        &self,
        channel: i64,
        endpoint: &'static str,
        model: &str,
        change: impl FnOnce(&mut ChannelSums),
    ) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (channel, endpoint);
        if model.is_empty() || (counted.len() >= MAX_PLACES && !counted.contains_key(&place)) {
            return;
        }
        let models = counted.entry(place).or_default();
        if let Some(sums) = models.get_mut(model) {
            change(sums);
        } else if models.len() < MAX_MODELS {
            change(models.entry(model.to_owned()).or_default());
        }
    }

    /// Adds what was counted to the database. What cannot be added is counted anew: a figure of health may be lost.
    pub(crate) async fn exchange(&self, data: &Database) -> Result<(), DbError> {
        let taken =
            std::mem::take(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner));
        let mut sums = Vec::new();
        for ((channel, endpoint), models) in taken {
            for (model, counted) in models {
                let key = HealthKey {
                    channel,
                    model,
                    endpoint: endpoint.to_owned(),
                };
                sums.push((key, counted));
            }
        }
        if sums.is_empty() {
            return Ok(());
        }
        channel_health::add(data, &sums).await
    }
}

fn add_sample(sums: &mut ChannelSums, sample: &AttemptSample, output: u64) {
    sums.calls = sums.calls.saturating_add(1);
    if sample.failed {
        sums.failed = sums.failed.saturating_add(1);
        return;
    }
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if let Some(first_byte) = sample.first_byte {
        sums.answered_after(millis(first_byte));
    }
    if let Some(written) = sample.written {
        let tokens = i64::try_from(output).unwrap_or(i64::MAX);
        sums.output_tokens = sums.output_tokens.saturating_add(tokens);
        let took = i64::try_from(millis(written)).unwrap_or(i64::MAX);
        sums.output_millis = sums.output_millis.saturating_add(took);
    }
}

//! A call as lists show it.

use std::collections::BTreeMap;

use serde::Serialize;
use trunkline_ledger::Outcome;
use trunkline_ledger::call_search::Call;
use trunkline_store::keys;
use trunkline_types::{AccountId, KeyId, Money};
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Outcome)]
pub(crate) enum OutcomeName {
    /// Answered in full.
    Complete,
    /// The client left while the answer was coming.
    ClientGone,
    /// The money ran out while the answer was coming.
    BalanceExhausted,
    /// A task was taken by the upstream.
    Accepted,
    /// The upstream refused the request.
    Refused,
    /// The upstream failed.
    UpstreamFailed,
    /// The upstream did not answer in time.
    UpstreamTimeout,
    /// There was nothing to deliver.
    NoResult,
    /// Our process died.
    Interrupted,
    /// Not settled in time.
    Expired,
    /// We stopped before it was done.
    Drained,
    /// We could not write the charge in time.
    DatabaseAway,
    /// The caller took it back.
    Cancelled,
}

/// A completed call.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LogRow {
    /// Id.
    #[schema(example = "req_019a5c6b7d8e7f0081828384858687aa")]
    pub(super) request_id: String,
    /// Admission time.
    #[schema(format = DateTime)]
    at: String,
    /// Settlement time.
    #[schema(format = DateTime)]
    settled_at: String,
    /// Key id; null if there was none.
    #[schema(required)]
    key_id: Option<i64>,
    /// Key name.
    #[schema(required)]
    key_name: Option<String>,
    /// Public name of the model or data set.
    model: String,
    /// Endpoint.
    endpoint: String,
    /// Outcome.
    #[schema(inline = false)]
    outcome: OutcomeName,
    /// Whether anything was charged.
    charged: bool,
    /// Charge to both wallets.
    #[schema(example = "0.000245")]
    cost_usd: String,
    /// Refunded amount.
    #[schema(example = "0")]
    refunded_usd: String,
    /// Time from admission to end.
    latency_ms: i64,
    /// Billed input: tokens, characters of speech or seconds of recordings.
    input_units: i64,
    /// Billed output.
    output_units: i64,
    /// Warning codes returned to the caller.
    warnings: Vec<String>,
    /// Whether usage was estimated because the upstream did not report it.
    estimated: bool,
}

/// Names of keys by their numbers.
pub(super) struct Names(BTreeMap<KeyId, String>);

/// Calls as lists show them.
pub(super) async fn rows(
    shared: &Shared,
    account: AccountId,
    calls: &[Call],
) -> Result<Vec<LogRow>, ApiError> {
    let names = Names::of(shared, account, calls.iter().filter_map(|call| call.key)).await?;
    Ok(calls.iter().map(|call| LogRow::of(call, &names)).collect())
}

// === impl Names ===

impl Names {
    pub(super) async fn of(
        shared: &Shared,
        account: AccountId,
        ids: impl Iterator<Item = KeyId>,
    ) -> Result<Self, ApiError> {
        let ids: Vec<KeyId> = ids.collect();
        let mut session = shared.people.session().await?;
        let names = keys::names(&mut session, account, &ids).await?;
        Ok(Self(names.into_iter().collect()))
    }

    pub(super) fn get(&self, key: KeyId) -> Option<String> {
        self.0.get(&key).cloned()
    }
}

// === impl LogRow ===

impl LogRow {
    pub(super) fn of(call: &Call, names: &Names) -> Self {
        let charged = call.charged();
        Self {
            request_id: call.request.to_string(),
            at: rfc3339(call.opened_at),
            settled_at: rfc3339(call.settled_at),
            key_id: call.key.map(KeyId::number),
            key_name: call.key.and_then(|key| names.get(key)),
            model: call.model.clone(),
            endpoint: call.endpoint.clone(),
            outcome: OutcomeName::of(call.outcome),
            charged: charged > Money::ZERO,
            cost_usd: charged.to_string(),
            refunded_usd: call.refunded.to_string(),
            latency_ms: call.latency_millis(),
            input_units: call.input_units,
            output_units: call.output_units,
            warnings: call.warnings.clone(),
            estimated: call.estimated,
        }
    }
}

// === impl OutcomeName ===

impl OutcomeName {
    pub(super) const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Complete => Self::Complete,
            Outcome::ClientGone => Self::ClientGone,
            Outcome::BalanceExhausted => Self::BalanceExhausted,
            Outcome::Accepted => Self::Accepted,
            Outcome::Refused => Self::Refused,
            Outcome::UpstreamFailed => Self::UpstreamFailed,
            Outcome::UpstreamTimeout => Self::UpstreamTimeout,
            Outcome::NoResult => Self::NoResult,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Expired => Self::Expired,
            Outcome::Drained => Self::Drained,
            Outcome::DatabaseAway => Self::DatabaseAway,
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_table() {
        for outcome in Outcome::ALL {
            let value = serde_json::to_value(OutcomeName::of(outcome)).unwrap();
            assert_eq!(value, outcome.as_str());
        }
    }
}

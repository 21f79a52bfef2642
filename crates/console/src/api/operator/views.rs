//! What resources of operators share: sums as they are shown, reasons, customers by their number.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use serde::Serialize;
use trunkline_ledger::installation::Sums;
use trunkline_store::accounts::{self, Account};
use trunkline_store::action_log::REASON_MAX_CHARACTERS;
use trunkline_types::{AccountId, Money};
use utoipa::ToSchema;

use crate::api::customer::query;
use crate::error::ApiError;
use crate::shared::Shared;

/// Tenths of a percent in a whole.
const TENTHS: i64 = 1_000;

/// Sums of calls.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperatorSums)]
pub(crate) struct SumsView {
    /// Charges less refunds of these days.
    #[schema(example = "120.5")]
    revenue_usd: String,
    /// What upstreams bill, where known.
    #[schema(example = "80.25")]
    cost_usd: String,
    /// Revenue less cost.
    #[schema(example = "40.25")]
    margin_usd: String,
    /// Margin in percent of revenue; null without revenue.
    #[schema(required, example = "33.4")]
    margin_percent: Option<String>,
    /// Calls.
    calls: i64,
    /// Calls that delivered nothing.
    failed_calls: i64,
    /// Failed calls in percent; null without calls.
    #[schema(required, example = "0.4")]
    error_percent: Option<String>,
    /// Refunds of these days.
    #[schema(example = "0")]
    refunded_usd: String,
}

// === impl SumsView ===

impl SumsView {
    pub(super) fn of(sums: &Sums) -> Self {
        Self {
            revenue_usd: sums.revenue().to_string(),
            cost_usd: sums.cost.to_string(),
            margin_usd: sums.margin().to_string(),
            margin_percent: percent(sums.margin().nanos(), sums.revenue().nanos()),
            calls: sums.calls,
            failed_calls: sums.failed,
            error_percent: percent(sums.failed, sums.calls),
            refunded_usd: sums.refunded.to_string(),
        }
    }
}

/// A part in percent, with one decimal, cut.
pub(super) fn percent(part: i64, whole: i64) -> Option<String> {
    if whole <= 0 {
        return None;
    }
    let tenths = i128::from(part)
        .checked_mul(i128::from(TENTHS))?
        .checked_div(i128::from(whole))?;
    let sign = if tenths < 0 { "-" } else { "" };
    let size = tenths.unsigned_abs();
    let (whole, rest) = (size.checked_div(10)?, size.checked_rem(10)?);
    Some(format!("{sign}{whole}.{rest}"))
}

/// Why something is done: a line that the log of actions keeps.
pub(super) fn reason(text: &str) -> Result<String, ApiError> {
    let line = text.replace(char::is_control, " ");
    let line = line.trim();
    if line.is_empty() || line.chars().count() > REASON_MAX_CHARACTERS {
        let text = format!("must have 1 to {REASON_MAX_CHARACTERS} characters");
        return Err(ApiError::invalid_param("reason", text));
    }
    Ok(line.to_owned())
}

pub(super) fn unknown_customer() -> ApiError {
    ApiError::not_found("customer")
}

pub(super) fn customer_id(id: Result<Path<i64>, PathRejection>) -> Result<AccountId, ApiError> {
    query::id(id, unknown_customer).map(AccountId::new)
}

/// A customer, or the error that there is none.
pub(super) async fn customer(shared: &Shared, id: AccountId) -> Result<Account, ApiError> {
    let mut session = shared.people.session().await?;
    let found = accounts::find(&mut session, id).await?;
    found.ok_or_else(unknown_customer)
}

/// The subject of an action on a customer.
pub(super) fn subject_of(account: &Account) -> String {
    format!("customer {} {}", account.id, account.name)
}

/// An amount of money that may be below zero.
pub(super) fn signed_usd(name: &'static str, text: &str) -> Result<Money, ApiError> {
    let words =
        "is an amount of USD such as \"12.5\" or \"-12.5\", with nine decimal places at most";
    text.parse::<Money>()
        .map_err(|_| ApiError::invalid_param(name, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_to_a_tenth_of_a_percent() {
        assert_eq!(percent(1, 3).as_deref(), Some("33.3"));
        assert_eq!(percent(-1, 3).as_deref(), Some("-33.3"));
        assert_eq!(percent(0, 3).as_deref(), Some("0.0"));
        assert_eq!(percent(i64::MAX, i64::MAX).as_deref(), Some("100.0"));
        assert_eq!(percent(1, 0), None);
    }
}

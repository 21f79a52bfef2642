//! What is asked for in a query: read strictly, with words that say what would do.

use axum::body::Body;
use axum::extract::Query;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::response::Response;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use trunkline_db::{DbError, from_sql_time};
use trunkline_ledger::usage_report::UtcDay;
use trunkline_types::{KeyId, Money, Timestamp};

use crate::error::{ApiError, ConsoleErrorCode};

/// Longest text of a filter.
pub(crate) const MAX_TEXT: usize = 200;
/// What a table is.
pub(crate) const CSV: &str = "text/csv; charset=utf-8";
/// Microseconds of the finest step of ids.
const ID_STEP_MICROS: i64 = 1_000;

/// A query whose names and types are right.
pub(crate) fn query<T>(params: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    let params =
        params.map_err(|wrong| ApiError::new(ConsoleErrorCode::Invalid, wrong.body_text()))?;
    Ok(params.0)
}

/// How many, within bounds.
pub(crate) fn limit(value: Option<u32>, usual: u32, most: u32) -> Result<u32, ApiError> {
    let limit = value.unwrap_or(usual);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::invalid_param(
        "limit",
        format!("must be from 1 to {most}"),
    ))
}

/// A text that is short enough, without zero bytes, which no table keeps.
pub(crate) fn text(name: &'static str, value: Option<String>) -> Result<Option<String>, ApiError> {
    let Some(text) = value else { return Ok(None) };
    if text.is_empty() || text.chars().count() > MAX_TEXT || text.contains('\0') {
        let words = format!("must have 1 to {MAX_TEXT} characters; leave it out instead");
        return Err(ApiError::invalid_param(name, words));
    }
    Ok(Some(text))
}

/// A key's number.
pub(crate) fn key(value: Option<i64>) -> Result<Option<KeyId>, ApiError> {
    match value {
        None => Ok(None),
        Some(number) if number > 0 => Ok(Some(KeyId::new(number))),
        Some(_) => Err(ApiError::invalid_param("key", "must be a key id")),
    }
}

/// An amount that is not below zero.
pub(crate) fn usd(name: &'static str, value: &str) -> Result<Money, ApiError> {
    let amount = value.parse::<Money>().ok();
    let amount = amount.filter(|amount| !amount.is_negative());
    let words = "is an amount of USD such as \"12.5\", with nine decimal places at most";
    amount.ok_or_else(|| ApiError::invalid_param(name, words))
}

/// The first moment of a range: a day begins at midnight UTC.
pub(crate) fn from(value: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = value else { return Ok(None) };
    if let Ok(day) = UtcDay::parse(text) {
        return Ok(Some(day.starts_at()));
    }
    moment("from", text).map(Some)
}

/// The first moment after a range that ends with this day or moment.
pub(crate) fn until(value: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = value else { return Ok(None) };
    if let Ok(day) = UtcDay::parse(text) {
        return Ok(Some(day.next().starts_at()));
    }
    let last = moment("to", text)?.micros();
    Ok(Some(Timestamp::from_micros(
        last.saturating_add(ID_STEP_MICROS),
    )))
}

/// A moment as it is written here.
pub(crate) fn moment(name: &'static str, text: &str) -> Result<Timestamp, ApiError> {
    let read = OffsetDateTime::parse(text, &Rfc3339).ok();
    let words = "is a moment such as 2026-11-16T12:00:00Z, or a day such as 2026-11-16";
    let read = read.ok_or_else(|| ApiError::invalid_param(name, words))?;
    Ok(from_sql_time(read))
}

/// A day of a report.
pub(crate) fn day(name: &'static str, value: Option<&str>) -> Result<Option<UtcDay>, ApiError> {
    let read = value.map(UtcDay::parse).transpose();
    read.map_err(|error| ApiError::invalid_param(name, format!("{error}, in UTC")))
}

/// A number in a path; what is no number names nothing.
pub(crate) fn id(
    value: Result<axum::extract::Path<i64>, PathRejection>,
    unknown: fn() -> ApiError,
) -> Result<i64, ApiError> {
    let id = value.map_err(|_| unknown())?;
    Ok(id.0)
}

/// The error of a change that the database did not confirm.
pub(crate) fn unwritten(error: DbError) -> ApiError {
    match error {
        DbError::UnknownCommit(_) => {
            tracing::warn!(%error, "commit outcome unknown");
            let text = "the outcome of this change is unknown because the database connection was lost; reload \
                        the page and check before you retry";
            ApiError::new(ConsoleErrorCode::Unavailable, text)
        }
        DbError::Unavailable(_)
        | DbError::Conflict(_)
        | DbError::Refused { .. }
        | DbError::Bug(_) => {
            tracing::warn!(%error, "database write failed");
            let text = "the database is temporarily unavailable; nothing was changed, try again";
            ApiError::new(ConsoleErrorCode::Unavailable, text)
        }
    }
}

/// A table to be saved under a name of ours.
pub(crate) fn table(name: &str, text: String) -> Response {
    let mut answered = Response::new(Body::from(text));
    let headers: &mut HeaderMap = answered.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(CSV));
    let saved = format!("attachment; filename=\"{name}.csv\"");
    if let Ok(value) = HeaderValue::from_str(&saved) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_of_days_or_of_moments_and_both_ends_are_in_it() {
        let seconds = |moment: Option<Timestamp>| moment.unwrap().seconds();
        assert_eq!(seconds(from(Some("2026-11-01")).unwrap()), 1_793_491_200);
        let ends = seconds(until(Some("2026-11-01")).unwrap());
        assert_eq!(ends, 1_793_491_200 + 86_400);
        let at = until(Some("2026-11-01T02:00:00+02:00")).unwrap().unwrap();
        assert_eq!(at.micros(), 1_793_491_200_001_000);
        for wrong in ["yesterday", "2026-02-30", "2026-11-01 00:00", ""] {
            assert_eq!(from(Some(wrong)).unwrap_err().param, Some("from"));
            assert_eq!(until(Some(wrong)).unwrap_err().param, Some("to"));
        }
    }

    #[test]
    fn an_amount_is_exact_and_not_below_zero() {
        assert_eq!(usd("x", "0.000000001").unwrap(), Money::NANO);
        for wrong in ["-1", "1e3", "", "0.0000000001", "NaN"] {
            assert_eq!(usd("x", wrong).unwrap_err().param, Some("x"), "{wrong}");
        }
    }
}

//! `GET /v1/usage`: sums of what the account used, and single calls, as JSON or CSV.
//!
//! The numbers are the ledger's own. A key sees what it and the keys below it used; one without a
//! parent sees the whole account.

mod csv;
mod params;
mod refund;
mod view;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use tokio::sync::mpsc;
use trunkline_db::DbError;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{FilePiece, Response, ResponseBody, bytes_of, json as answer};
use trunkline_ledger::usage_report::{
    self, CallsQuery, GroupKey, MAX_LINES, ReportRow, UsageFilter, UtcDay,
};

use self::params::{Detail, Shape, UsageQuery};
use super::{ApiRequest, receipts};
use crate::state::AccountApi;

/// Its name in a key's list of endpoints.
const WORD: &str = "usage";
/// Days that are shown if none are asked for.
const USUAL_DAYS: i64 = 30;
/// Most lines of one file.
const MAX_FILE_LINES: i64 = 100_000;
/// Pieces of a file that wait for their reader.
const PIECES: usize = 2;
const CSV: &str = "text/csv; charset=utf-8";
const JSON_LINES: &str = "application/x-ndjson";

pub(super) async fn handle(
    api: &Arc<AccountApi>,
    visit: ApiRequest<'_>,
) -> Result<Response, ApiError> {
    visit.caller.check_endpoint(WORD)?;
    if let [request, "receipt"] = visit.rest.as_slice() {
        return receipts::receipt(api, &visit.caller, request).await;
    }
    if let [request, _] = visit.rest.as_slice() {
        return refund::refund(api, &visit.caller, request).await;
    }
    let params = UsageQuery::read(visit.query, visit.headers)?;
    let seen = visibility(api, &visit.caller, &params).await?;
    match (params.detail, params.shape) {
        (Detail::Sums, Shape::Json) => totals(api, &seen, &params).await,
        (Detail::Sums, Shape::Csv) => {
            Box::pin(csv_file(api, seen, params, visit.method == Method::HEAD)).await
        }
        (Detail::Calls, shape) => call_lines(api, seen, &params, shape).await,
    }
}

/// What the caller may see of what it asks for.
async fn visibility(
    api: &AccountApi,
    caller: &Caller,
    params: &UsageQuery,
) -> Result<UsageFilter, ApiError> {
    let to = match params.to {
        Some(day) => day,
        None => usage_report::today(&api.data).await.map_err(unread)?,
    };
    let from = params.from.unwrap_or_else(|| {
        let days_before = USUAL_DAYS.saturating_sub(1);
        to.earlier(days_before)
    });
    check_days(from, to)?;
    Ok(UsageFilter {
        account: caller.account.id,
        below: caller.key.parent.map(|_| caller.key.id),
        key: params.key,
        model: params.model.clone(),
        from,
        to,
    })
}

async fn totals(
    api: &AccountApi,
    seen: &UsageFilter,
    params: &UsageQuery,
) -> Result<Response, ApiError> {
    let more = params.limit.saturating_add(1);
    let (by, after) = (params.by, params.after.as_ref());
    let read = usage_report::read(&api.data, seen, by, after, more).await;
    let mut found = read.map_err(unread)?;
    let most = usize::try_from(params.limit).unwrap_or(usize::MAX);
    let has_more = found.lines.len() > most;
    found.lines.truncate(most);
    let last = found.lines.last().filter(|_| has_more);
    let next = last.map(|line| params::cursor(&line.group_key));
    let body = view::page(seen, params.by, &found, next);
    Ok(answer(StatusCode::OK, &body))
}

/// A page of calls. The last one's id leads to the next page.
async fn call_lines(
    api: &AccountApi,
    seen: UsageFilter,
    params: &UsageQuery,
    shape: Shape,
) -> Result<Response, ApiError> {
    let query = CallsQuery {
        filter: seen,
        before: params.before,
        limit: params.limit,
    };
    let calls = usage_report::calls(&api.data, &query).await;
    let calls = calls.map_err(unread)?;
    let (text, content_type) = match shape {
        Shape::Json => (view::call_lines(&calls), JSON_LINES),
        Shape::Csv => (csv::calls(&calls), CSV),
    };
    Ok(bytes_of(StatusCode::OK, Bytes::from(text), content_type))
}

/// All sums as one file, page by page: no session waits for a slow reader, and a client that gets a
/// part of it sees that it broke off.
async fn csv_file(
    api: &Arc<AccountApi>,
    seen: UsageFilter,
    params: UsageQuery,
    head_only: bool,
) -> Result<Response, ApiError> {
    let first = usage_report::read(&api.data, &seen, params.by, None, MAX_LINES).await;
    let first = first.map_err(unread)?;
    if first.count > MAX_FILE_LINES {
        let text = format!(
            "this would be {} lines and a file has {MAX_FILE_LINES} at most; ask for fewer days, \
             for one key or model, or leave words out of `group_by`",
            first.count
        );
        return Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at("group_by"));
    }
    if head_only {
        return Ok(bytes_of(StatusCode::OK, Bytes::new(), CSV));
    }
    let (pieces, body) = mpsc::channel(PIECES);
    let owned = Arc::clone(api);
    api.tasks.spawn(Box::pin(async move {
        write_csv(&owned, seen, params, first.lines, pieces).await;
    }));
    let mut answered = Response::new(ResponseBody::File(body));
    let headers = answered.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(CSV));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(answered)
}

/// Without `End` the file breaks off.
async fn write_csv(
    api: &AccountApi,
    seen: UsageFilter,
    params: UsageQuery,
    mut lines: Vec<ReportRow>,
    pieces: mpsc::Sender<FilePiece>,
) {
    let wait = api.settings.reader_wait;
    let mut text = csv::head(params.by);
    loop {
        lines
            .iter()
            .for_each(|line| csv::line(&mut text, params.by, line));
        let piece = FilePiece::Bytes(Bytes::from(std::mem::take(&mut text)));
        if !sent(&pieces, piece, wait).await {
            return;
        }
        let full = usize::try_from(MAX_LINES).unwrap_or(usize::MAX);
        let last: Option<GroupKey> = (lines.len() >= full)
            .then(|| lines.pop())
            .flatten()
            .map(|line| line.group_key);
        let Some(last) = last else { break };
        let read = usage_report::read(&api.data, &seen, params.by, Some(&last), MAX_LINES);
        match read.await {
            Ok(found) => lines = found.lines,
            Err(error) => {
                tracing::warn!(%error, "usage export: aborted");
                return;
            }
        }
    }
    sent(&pieces, FilePiece::End, wait).await;
}

/// False if the reader has left or does not read.
pub(super) async fn sent(
    pieces: &mpsc::Sender<FilePiece>,
    piece: FilePiece,
    wait: Duration,
) -> bool {
    matches!(
        tokio::time::timeout(wait, pieces.send(piece)).await,
        Ok(Ok(()))
    )
}

fn check_days(from: UtcDay, to: UtcDay) -> Result<(), ApiError> {
    let wrong = usage_report::wrong_days(from, to);
    wrong.map_or(Ok(()), |text| {
        Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at("from"))
    })
}

/// PostgreSQL's error code for a statement that took too long.
const CANCELLED: &str = "57014";

fn unread(error: DbError) -> ApiError {
    match error {
        DbError::Unavailable(cause) if cause.code.as_deref() == Some(CANCELLED) => ApiError::new(
            ErrorCode::Unavailable,
            "the query took too long; request fewer days, or one key or model",
        ),
        DbError::Unavailable(_) => ApiError::unavailable(),
        DbError::Conflict(_)
        | DbError::UnknownCommit(_)
        | DbError::Refused { .. }
        | DbError::Bug(_) => {
            tracing::error!(%error, "usage report: query failed");
            ApiError::unavailable()
        }
    }
}

//! Bills that can be checked: receipts, statements, and the keys that sign them ([ADR 84]).
//!
//! [ADR 84]: ../../../../docs/adr/0084-signed-statements.md

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use trunkline_db::DbError;
use trunkline_edge::caller::Caller;
use trunkline_edge::error::{ApiError, ErrorCode};
use trunkline_edge::response::{FilePiece, Response, ResponseBody, bytes_of, json as answer};
use trunkline_ledger::chain::{self, ReceiptAnswer, StatementError, StatementReader};
use trunkline_ledger::usage_report::{self, UtcDay};
use trunkline_receipts::{PublicKey, Signer as _, SigningKey};
use trunkline_types::{AccountId, RequestId};

use super::usage::sent;
use crate::state::AccountApi;

const PLAIN: &str = "text/plain; charset=utf-8";
/// Pieces of a statement that wait for their reader.
const PIECES: usize = 2;
/// Days that a statement has if none are asked for.
const USUAL_DAYS: i64 = 30;

/// Why the job of the chain did not run.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error(transparent)]
    Db(#[from] DbError),
    #[error("the keyring's seed makes no key")]
    Key,
}

/// Enters what waits in accounts' hash chains and signs days that are over. True if there may be more to do.
pub async fn keep_chains(api: &AccountApi) -> Result<bool, ChainError> {
    let linked = chain::link(&api.data).await?;
    let seed = api.keyring.statement_seed();
    let key = SigningKey::from_seed(seed.reveal()).ok_or(ChainError::Key)?;
    let signed = chain::sign_days(&api.data, &key).await?;
    if linked.lines > 0 || signed.days > 0 {
        tracing::debug!(
            lines_count = linked.lines,
            days_count = signed.days,
            "hash chains: entered lines and signed days"
        );
    }
    if signed.broken > 0 {
        tracing::error!(
            days_count = signed.broken,
            "hash chains: days whose links are not their lines; they are not signed"
        );
    }
    Ok(linked.has_more || signed.has_more)
}

/// `GET /.well-known/trunkline-keys.json`: every key that has signed, and the one that signs next.
pub async fn published_keys(api: &AccountApi) -> Result<Response, ApiError> {
    let current = statement_key(api)?.public_key();
    if let Some(body) = api.published_keys.fresh(current).await {
        return Ok(answer(StatusCode::OK, &body));
    }
    let body = read_keys(api, current).await?;
    let answered = answer(StatusCode::OK, &body);
    api.published_keys.keep(current, body).await;
    Ok(answered)
}

async fn read_keys(api: &AccountApi, current: PublicKey) -> Result<Value, ApiError> {
    let used = chain::used_keys(&api.data).await?;
    let view = |key: PublicKey, first_used_at: Option<i64>| {
        json!({
            "public_key": key.to_string(),
            "algorithm": "Ed25519",
            "first_used_at": first_used_at,
            "current": key == current,
        })
    };
    let mut keys: Vec<Value> = used
        .iter()
        .map(|used| view(used.key, Some(used.first_used_at.seconds())))
        .collect();
    if !used.iter().any(|used| used.key == current) {
        keys.push(view(current, None));
    }
    Ok(json!({ "keys": keys }))
}

/// `GET /v1/usage/{request_id}/receipt`.
pub(crate) async fn receipt(
    api: &AccountApi,
    caller: &Caller,
    request: &str,
) -> Result<Response, ApiError> {
    let unknown = || {
        let text = "this account has no finished call with this id";
        ApiError::new(ErrorCode::NotFound, text).at("request_id")
    };
    let request: RequestId = request.parse().map_err(|_| unknown())?;
    match chain::receipt(&api.data, caller.account.id, request).await? {
        ReceiptAnswer::Unknown => Err(unknown()),
        ReceiptAnswer::NotSigned => {
            let text = "this call has no receipt: its day is not signed yet, which it is soon after midnight UTC, or \
                        the call is older than the gateway's chains";
            Err(ApiError::new(ErrorCode::NotFound, text).at("request_id"))
        }
        ReceiptAnswer::File(file) => Ok(bytes_of(StatusCode::OK, Bytes::from(file), PLAIN)),
    }
}

/// `GET /v1/statement?from=…&to=…`: the whole account's, so a sub-key gets none.
pub(crate) async fn statement(
    api: &Arc<AccountApi>,
    caller: &Caller,
    query: Option<&str>,
    head_only: bool,
) -> Result<Response, ApiError> {
    if caller.key.parent.is_some() {
        let text = "a statement is of the whole account and needs an API key without a parent";
        return Err(ApiError::new(ErrorCode::EndpointNotAllowed, text));
    }
    let (from, to) = days(api, caller.account.id, query.unwrap_or_default()).await?;
    let key = statement_key(api)?;
    let opened = StatementReader::open(&api.data, caller.account.id, from, to, &key).await;
    let reader = opened.map_err(refused)?;
    if head_only {
        return Ok(bytes_of(StatusCode::OK, Bytes::new(), PLAIN));
    }
    let (pieces, body) = mpsc::channel(PIECES);
    let wait = api.settings.reader_wait;
    api.tasks.spawn(Box::pin(write(reader, pieces, wait)));
    let mut answered = Response::new(ResponseBody::File(body));
    let headers = answered.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PLAIN));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(answered)
}

/// Without `End` the file breaks off.
async fn write(mut reader: StatementReader, pieces: mpsc::Sender<FilePiece>, wait: Duration) {
    loop {
        let piece = match reader.next_piece().await {
            Ok(Some(text)) if text.is_empty() => continue,
            Ok(Some(text)) => FilePiece::Bytes(Bytes::from(text)),
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "statement: aborted");
                return;
            }
        };
        if !sent(&pieces, piece, wait).await {
            return;
        }
    }
    sent(&pieces, FilePiece::End, wait).await;
}

/// The first and the last day; by default the 30 days before today, as far as their calls are kept.
async fn days(
    api: &AccountApi,
    account: AccountId,
    query: &str,
) -> Result<(UtcDay, UtcDay), ApiError> {
    let (mut from, mut to) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let day = || {
            UtcDay::parse(value).map_err(|error| {
                ApiError::new(ErrorCode::Invalid("invalid_request"), error.to_string()).at(name)
            })
        };
        match name {
            "from" => from = Some(day()?),
            "to" => to = Some(day()?),
            // A key in the query authenticates the caller.
            "key" => {}
            _ => {
                let text = "the parameters are from and to";
                return Err(ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(name));
            }
        }
    }
    let to = match to {
        Some(to) => to,
        None => usage_report::today(&api.data).await?.earlier(1),
    };
    let Some(from) = from else {
        let first = chain::first_day(&api.data, account).await?;
        let usual = to.earlier(USUAL_DAYS.saturating_sub(1));
        return Ok((usual.max(first.min(to)), to));
    };
    Ok((from, to))
}

fn statement_key(api: &AccountApi) -> Result<SigningKey, ApiError> {
    let seed = api.keyring.statement_seed();
    SigningKey::from_seed(seed.reveal()).ok_or_else(ApiError::unavailable)
}

fn refused(error: StatementError) -> ApiError {
    let invalid =
        |param| ApiError::new(ErrorCode::Invalid("invalid_request"), error.to_string()).at(param);
    match &error {
        StatementError::Order | StatementError::TooOld { .. } => invalid("from"),
        StatementError::NotOver => invalid("to"),
        StatementError::NotSigned => ApiError::new(ErrorCode::Unavailable, error.to_string()),
        StatementError::Db(cause) => ApiError::from(cause.clone()),
    }
}

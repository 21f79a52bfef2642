//! Waiting for the first call, and giving its answer again: the same status, headers and bytes, under the
//! first call's id, with nothing held and nothing charged.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::Receiver;
use tokio::time::{Instant, timeout};
use trunkline_edge::state::CompletedCall;
use trunkline_ledger::stored_responses::{self, Include};
use trunkline_ledger::usage;
use trunkline_types::{AccountId, Money, RequestId};

use crate::duplicate::Duplicate;
use crate::error::{ApiError, ErrorCode};
use crate::idempotency::key::conflict;
use crate::idempotency::stored_response;
use crate::in_flight::InFlightPermit;
use crate::operations::video::views;
use crate::response::{OriginalRequest, Response, ResponseBody};
use crate::services::Services;

/// Between two looks at a row: first, and at most.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// A task whose answer was lost with its node is shown as it is after this long.
const TASK_WAIT: Duration = Duration::from_secs(10);
const KEY: &str = "idempotency-key";

/// Answers that are read and opened at once, over all accounts: each is in memory three times meanwhile.
static READS: Semaphore = Semaphore::const_new(4);

/// The bytes of a replay, counted as memory of their account until the connection has taken them.
struct ReplayedBody {
    body: Bytes,
    _permit: InFlightPermit,
}

impl AsRef<[u8]> for ReplayedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// What a look at the row of a key came to.
enum Look {
    Answer(Box<Response>),
    /// The answer of this call is stored, so many bytes.
    Stored(RequestId, u64),
    /// This call is under way.
    Running(RequestId),
}

/// The answer of a call; of the first one, where this one is the same.
pub(crate) async fn or_replay(
    services: &Services,
    answered: Result<Response, ApiError>,
) -> Result<Response, ApiError> {
    match answered {
        Err(ApiError {
            kind: ErrorCode::SameCall(same),
            ..
        }) => Box::pin(replay(services, *same)).await,
        other @ (Ok(_) | Err(_)) => other,
    }
}

/// Waits for the first call and gives its answer.
async fn replay(services: &Services, same: Duplicate) -> Result<Response, ApiError> {
    // A waiting duplicate is a call in flight like others.
    let waiting = services.edge.acquire(same.account, 0)?;
    let mut ended = services.completed_calls();
    let began = Instant::now();
    let wait = services.settings.idempotency.wait;
    let mut pause = FIRST_LOOK;
    loop {
        let request = match look_up(services, &same, began.elapsed()).await? {
            Look::Answer(answer) => return Ok(*answer),
            Look::Stored(request, bytes) => {
                // One call, one permit: its own is for as many bytes as it has.
                drop(waiting);
                return stored_answer(services, &same, request, bytes).await;
            }
            Look::Running(request) => request,
        };
        let left = wait.saturating_sub(began.elapsed());
        if left.is_zero() || services.is_draining() {
            let text = "a call with this idempotency key is still under way; send it again \
                        and it waits for that one; nothing was charged twice";
            return Err(ApiError::new(ErrorCode::IdempotencyInFlight, text).at(KEY));
        }
        over(&mut ended, request, pause.min(left)).await;
        pause = pause.saturating_mul(2).min(LONGEST_LOOK);
    }
}

async fn look_up(
    services: &Services,
    same: &Duplicate,
    waited: Duration,
) -> Result<Look, ApiError> {
    let include = if same.task {
        Include::Any
    } else {
        Include::Charged
    };
    let found = stored_responses::find(&services.data, same.account, &same.key, include).await;
    let Some(row) = found? else {
        return Err(first_failed());
    };
    if row.body_hash != same.body_hash {
        return Err(conflict());
    }
    let (request, account) = (row.request, same.account);
    match row.answer_bytes {
        Some(bytes) => Ok(Look::Stored(request, bytes)),
        None if same.task => replay_task(services, request, account, waited).await,
        None if row.finished => {
            no_stored_response(services, request, account, "was not kept").await
        }
        None => Ok(Look::Running(row.request)),
    }
}

/// The answer as it was stored. Its memory is counted before it is read.
async fn stored_answer(
    services: &Services,
    same: &Duplicate,
    request: RequestId,
    bytes: u64,
) -> Result<Response, ApiError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let account = same.account;
    let mut permit = services.edge.acquire(account, bytes)?;
    let reads = READS.acquire().await;
    let sealed = stored_responses::answer(&services.data, account, &same.key, request).await?;
    let sealed = sealed.ok_or_else(first_failed)?;
    let stored = stored_response::open_record(services, request, account, sealed).await;
    let Some(stored) = stored else {
        tracing::error!(request.id = %request, "idempotency: the stored response cannot be unsealed");
        let text = "the answer of the first call cannot be read right now; nothing was charged \
                    again; GET /v1/usage tells what it cost";
        return Err(ApiError::new(ErrorCode::Unavailable, text));
    };
    drop(reads);
    let Some(body) = stored.body else {
        let most = services.settings.idempotency.most_bytes;
        let why = format!("has more than the {most} bytes that are stored");
        return no_stored_response(services, request, account, &why).await;
    };
    permit.shrink_to(body.len());
    let body = (!body.is_empty()).then(|| {
        Bytes::from_owner(ReplayedBody {
            body,
            _permit: permit,
        })
    });
    let mut answer = Response::new(ResponseBody::Whole(body));
    *answer.status_mut() = stored.status;
    *answer.headers_mut() = stored.headers;
    Ok(again_of(answer, request))
}

fn first_failed() -> ApiError {
    let text = "the first call with this idempotency key failed, and nothing was charged; \
                send it again";
    ApiError::new(ErrorCode::IdempotencyInFlight, text).at(KEY)
}

/// The call was charged and its answer is not here to be given again.
async fn no_stored_response<T>(
    services: &Services,
    request: RequestId,
    account: AccountId,
    why: &str,
) -> Result<T, ApiError> {
    let row = usage::find(&services.data, account, request).await?;
    let charged = row.and_then(|row| {
        let gross = row.paid.checked_add(row.trial).ok()?;
        gross.checked_sub(row.refunded).ok()
    });
    let charged = charged.unwrap_or(Money::ZERO);
    let text = format!(
        "the answer of the first call with this idempotency key, {request}, {why}; that call was \
         charged {charged} USD, and this one nothing; use a new key to call again"
    );
    Err(ApiError::new(ErrorCode::IdempotencyTooLarge, text)
        .at(KEY)
        .with("first_request_id", request.to_string())
        .with_money("first_charged_usd", charged))
}

/// A task whose answer is not there: it is being submitted, or its node died in between.
async fn replay_task(
    services: &Services,
    request: RequestId,
    account: AccountId,
    waited: Duration,
) -> Result<Look, ApiError> {
    if waited < TASK_WAIT.min(services.settings.idempotency.wait) {
        return Ok(Look::Running(request));
    }
    match views::find_task(services, account, request).await? {
        Some(answer) => Ok(Look::answer(again_of(answer, request))),
        None => Ok(Look::Running(request)),
    }
}

// === impl Look ===

impl Look {
    fn answer(answer: Response) -> Self {
        Self::Answer(Box::new(answer))
    }
}

fn again_of(mut answer: Response, request: RequestId) -> Response {
    let name = HeaderName::from_static("idempotent-replayed");
    let headers = answer.headers_mut();
    headers.insert(name, HeaderValue::from_static("true"));
    answer.extensions_mut().insert(OriginalRequest(request));
    answer
}

/// Waits until a call of this node ends, or the pause does: other nodes do not tell.
async fn over(ended: &mut Receiver<CompletedCall>, request: RequestId, pause: Duration) {
    let ended_here = async {
        loop {
            match ended.recv().await {
                Ok(line) if line.request == request => return,
                // A receiver that falls behind reads the row.
                Ok(_) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                Err(tokio::sync::broadcast::error::RecvError::Closed) => {
                    return std::future::pending().await;
                }
            }
        }
    };
    // Either way the next step is a look.
    let _early: Result<(), tokio::time::error::Elapsed> = timeout(pause, ended_here).await;
}

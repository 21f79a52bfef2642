//! Many pages by one request: `GET …/{capability}/pages`. Every page is a call of its own, with its own
//! id and its own charge; the cursor of each platform is carried from one to the next. The first page
//! decides how the request is answered, and a last line says why there are no more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use trunkline_social::{CheckedQuery, Data, Next, fingerprint, next, page_line};
use trunkline_types::Money;

use super::page_limits::Bounds;
use super::request::{self, Social, SocialExecution, SocialRoute};
use crate::authenticate::authenticate;
use crate::delivery::AckedSender;
use crate::detach::{detach, respond};
use crate::error::{ApiError, ErrorCode};
use crate::operation::Operation;
use crate::pipeline::{admit, price, run};
use crate::request_context::RequestContext;
use crate::response::{AckedBody, AckedChunk, Responder, Response, ResponseBody, set_warnings};
use crate::services::Services;

/// How often one page is asked for while its platform is busy, and the longest wait before that.
const BUSY_TRIES: u32 = 3;
const BUSY_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Sofar {
    pages: u64,
    charged: Money,
    seen: Vec<[u8; 32]>,
}

/// Why there are no more pages.
enum Stop {
    /// The platform has no more.
    End,
    Repeated,
    MaxPages,
    MaxUsd,
    /// The next page could not be had.
    Failed(ApiError),
}

pub(crate) struct PageSink {
    out: Arc<AckedSender>,
    opening: Arc<Opening>,
    number: u64,
    done: oneshot::Sender<PaidPage>,
}

/// The head of the response, until its first page opens it.
struct Opening(Mutex<Option<(Responder, mpsc::Receiver<AckedChunk>)>>);

impl Opening {
    fn take(&self) -> Option<(Responder, mpsc::Receiver<AckedChunk>)> {
        let mut opening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        opening.take()
    }
}

struct PaidPage {
    found: Data,
    charged: Money,
    delivered: bool,
}

enum PageEnd {
    Paid(PaidPage),
    Failed(ApiError),
    ClientGone,
}

/// Answers `GET /v1/social/{platform}/{capability}/pages`.
pub(crate) async fn pages(
    services: &Arc<Services>,
    context: &Arc<RequestContext>,
    route: SocialRoute,
    request: Request<Incoming>,
) -> Result<Response, ApiError> {
    // Many pages are many calls, each with a context of its own.
    let caller = authenticate(&services.edge, context, &request, Social::endpoint(&route))?;
    let received = Social::receive(services, &caller, &route, request).await?;
    let (bounds, query) = Bounds::of(&received.body, &received.headers)?;
    let operation = Social::parse(route, query)?;
    let first = price(services, context, caller, &received.headers, operation).await?;
    if !first.query.cell.has_pages() {
        let route = first.query.cell.route();
        let text = format!("{route} has one page; call it without /pages");
        return Err(ApiError::new(ErrorCode::NotFound, text));
    }
    bounds.check_first(&first)?;
    let (owned, context) = (Arc::clone(services), Arc::clone(context));
    let run = move |responder| async move {
        turn_pages(&owned, first, bounds, &context, responder).await;
    };
    detach(services, received.permit, run).await
}

async fn turn_pages(
    services: &Arc<Services>,
    mut execution: SocialExecution,
    bounds: Bounds,
    context: &RequestContext,
    responder: Responder,
) {
    let (pieces, coming) = mpsc::channel(1);
    let out = Arc::new(AckedSender {
        pieces,
        watch: context.watch.clone(),
        patience: services.settings.accept.reader_wait,
    });
    let opening = Arc::new(Opening(Mutex::new(Some((responder, coming)))));
    let mut sofar = Sofar::default();
    loop {
        let paid = match page(
            services,
            &mut execution,
            context,
            &out,
            &opening,
            sofar.pages,
        )
        .await
        {
            PageEnd::Paid(paid) => paid,
            PageEnd::ClientGone => return,
            PageEnd::Failed(error) => match opening.take() {
                Some((responder, _)) => return respond(responder, Err(error)),
                None => return broken(&out, &sofar, error, &execution.query).await,
            },
        };
        if !paid.delivered {
            return;
        }
        let print = fingerprint(&execution.query, &paid.found);
        sofar.pages = sofar.pages.saturating_add(1);
        let charged = sofar.charged.checked_add(paid.charged);
        sofar.charged = charged.unwrap_or(Money::MAX);
        let repeated = sofar.seen.contains(&print);
        sofar.seen.push(print);
        let (stop, following) = follows(&execution, &paid.found, &sofar, repeated, bounds);
        if let Some(stop) = stop {
            return end(&out, &sofar, stop, following.as_ref()).await;
        }
        let Some(following) = following else { return };
        execution.query = following;
        execution.call.id = services.request_id();
    }
}

/// One page. A busy platform is waited for, a little; each try is a call of its own, and none is begun
/// that would be refused by itself.
async fn page(
    services: &Arc<Services>,
    execution: &mut SocialExecution,
    context: &RequestContext,
    out: &Arc<AckedSender>,
    opening: &Arc<Opening>,
    before: u64,
) -> PageEnd {
    let mut tries = 0_u32;
    loop {
        tries = tries.saturating_add(1);
        if let Err(error) = request::check_continuation(services, execution) {
            return PageEnd::Failed(error);
        }
        let page = Arc::new(context.execution(execution.call.id));
        page.set_model(execution.call.endpoint, &execution.call.model, false);
        // Every page is a request. The first one's limits are told in the head of the response.
        let admitted = admit(services, &page, &HeaderMap::new(), execution).await;
        page.limits_of(context);
        if let Err(error) = admitted {
            return PageEnd::Failed(error);
        }
        let (done, mut paid) = oneshot::channel();
        let (responder, mut failed) = oneshot::channel();
        let sink = PageSink {
            out: Arc::clone(out),
            opening: Arc::clone(opening),
            number: before.saturating_add(1),
            done,
        };
        let one = SocialExecution {
            call: execution.call.clone(),
            query: execution.query.clone(),
            price: execution.price.clone(),
            page: Some(sink),
        };
        run(Arc::clone(services), page, Box::new(one), responder).await;
        if let Ok(paid) = paid.try_recv() {
            return PageEnd::Paid(paid);
        }
        let wait = match failed.try_recv() {
            Ok(Err(error)) if is_busy(&error) && tries < BUSY_TRIES => {
                Duration::from_secs(error.retry_after.unwrap_or(1)).min(BUSY_WAIT)
            }
            Ok(Err(error)) => return PageEnd::Failed(error),
            Ok(Ok(_)) | Err(_) => return PageEnd::ClientGone,
        };
        tokio::time::sleep(wait).await;
        if context.watch.is_gone() {
            return PageEnd::ClientGone;
        }
        execution.call.id = services.request_id();
    }
}

impl SocialExecution {
    /// Hands over a page as a line; the first one opens the response.
    pub(super) async fn deliver_page(&mut self, found: Data, charged: Money) -> bool {
        let Some(sink) = self.page.take() else {
            return false;
        };
        let line = line(self, &found, charged, sink.number);
        let opened = match sink.opening.take() {
            Some((responder, coming)) => responder.send(Ok(opened(self, coming))).is_ok(),
            None => true,
        };
        let delivered = opened && sink.out.hand(line).await;
        let paid = PaidPage {
            found,
            charged,
            delivered,
        };
        drop(sink.done.send(paid));
        delivered
    }
}

fn is_busy(error: &ApiError) -> bool {
    error
        .extras
        .get("reason")
        .is_some_and(|reason| reason == "busy")
}

/// Why it stops behind a page, if it does, and the question that would follow.
fn follows(
    execution: &SocialExecution,
    found: &Data,
    sofar: &Sofar,
    repeated: bool,
    bounds: Bounds,
) -> (Option<Stop>, Option<CheckedQuery>) {
    let following = match next(&execution.query, found) {
        Next::End => return (Some(Stop::End), None),
        Next::Repeated => return (Some(Stop::Repeated), None),
        Next::Page(_) if repeated => return (Some(Stop::Repeated), None),
        Next::Page(following) => following,
    };
    let after = sofar
        .charged
        .checked_add(execution.price.amount)
        .unwrap_or(Money::MAX);
    let stop = if sofar.pages >= bounds.pages {
        Some(Stop::MaxPages)
    } else if bounds.usd.is_some_and(|most| after > most) {
        Some(Stop::MaxUsd)
    } else {
        None
    };
    (stop, Some(following))
}

/// One page as a line.
fn line(execution: &SocialExecution, found: &Data, charged: Money, number: u64) -> Bytes {
    let about = [
        ("page", Value::from(number)),
        ("request_id", Value::from(execution.call.id.to_string())),
        ("cost_usd", Value::from(charged.to_string())),
    ];
    Bytes::from(page_line(&execution.query.cell, found, &about))
}

/// A page behind the first could not be had. One that is empty is how platforms that count their pages
/// say that there are no more.
async fn broken(out: &AckedSender, sofar: &Sofar, error: ApiError, query: &CheckedQuery) {
    let (stop, following) = if error.kind == ErrorCode::SocialNoResult {
        (Stop::End, None)
    } else {
        (Stop::Failed(error), Some(query))
    };
    end(out, sofar, stop, following).await;
}

/// The last line: how many pages there were, what they cost, why there are no more, and how to go on.
async fn end(out: &AckedSender, sofar: &Sofar, stop: Stop, following: Option<&CheckedQuery>) {
    let (reason, error) = match stop {
        Stop::End => ("end", None),
        Stop::Repeated => ("repeated_page", None),
        Stop::MaxPages => ("max_pages", None),
        Stop::MaxUsd => ("max_usd", None),
        Stop::Failed(error) => ("error", Some(error)),
    };
    let following = following.map(|query| {
        let given = query.given();
        let given = given.map(|(param, value)| (param.name.clone(), Value::from(value)));
        given.collect::<Map<String, Value>>()
    });
    let error = error.map(|error| {
        json!({
            "code": error.kind.code(),
            "message": error.message,
            "retryable": error.kind.is_retryable(),
            "retry_after": error.retry_after,
            "charged": false,
        })
    });
    let line = json!({
        "object": "social.end",
        "reason": reason,
        "pages": sofar.pages,
        "cost_usd": sofar.charged.to_string(),
        "next": following,
        "error": error,
    });
    out.hand(Bytes::from(format!("{line}\n"))).await;
}

fn opened(execution: &SocialExecution, coming: mpsc::Receiver<AckedChunk>) -> Response {
    let mut answer = Response::new(ResponseBody::Acked(AckedBody::open(coming)));
    let headers = answer.headers_mut();
    let lines = HeaderValue::from_static("application/x-ndjson; charset=utf-8");
    headers.insert(CONTENT_TYPE, lines);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    set_warnings(headers, &execution.call.warnings());
    answer
}

//! Many pages by one request: `GET …/{capability}/pages`. Every page is a call of its own, with its own
//! id and its own charge; the cursor of each platform is carried from one to the next. The first page
//! decides how the request is answered, and a last line says why there are no more.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use trunkline_social::{Asked, Found, Next, fingerprint, next, page_line};
use trunkline_terms::Money;

use super::handler::Bought;
use super::page_limits::Bounds;
use super::request::Wanted;
use crate::caller::Caller;
use crate::calling::Responder;
use crate::delivery::Out;
use crate::error::{ApiError, ErrorCode};
use crate::rate_limit::Load;
use crate::request_context::RequestContext;
use crate::response::{AckedBody, AckedChunk, Response, ResponseBody, set_warnings};
use crate::services::Services;

/// How often one page is asked for while its platform is busy, and the longest wait before that.
const BUSY_TRIES: u32 = 3;
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// What has been delivered.
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
    /// The platform repeats itself.
    Repeated,
    MaxPages,
    MaxUsd,
    /// The next page could not be had.
    Failed(ApiError),
}

impl Services {
    /// Answers `GET /v1/social/{platform}/{capability}/pages`.
    pub(crate) async fn social_pages(
        &self,
        context: &Arc<RequestContext>,
        caller: Caller,
        pair: (&str, &str),
        (query, headers): (&str, &HeaderMap),
    ) -> Result<Response, ApiError> {
        let account = caller.account.id;
        let (bounds, query) = Bounds::of(query, headers)?;
        let asked = (context.id, caller);
        let wanted = self.want_social(asked, pair, &query, headers).await?;
        if !wanted.asked.cell.has_pages() {
            let route = wanted.asked.cell.route();
            let text = format!("{route} has one page; call it without /pages");
            return Err(ApiError::new(ErrorCode::NotFound, text));
        }
        bounds.check_first(&wanted)?;
        let place = self.place(account, 0)?;
        let (head, answer) = oneshot::channel();
        let (services, context) = (self.clone(), Arc::clone(context));
        self.inner.tasks.spawn(Box::pin(async move {
            services.turn_pages(wanted, bounds, &context, head).await;
            drop(place);
        }));
        answer
            .await
            .unwrap_or_else(|_| Err(ApiError::unavailable()))
    }

    async fn turn_pages(
        &self,
        mut wanted: Wanted,
        bounds: Bounds,
        context: &RequestContext,
        head: Responder,
    ) {
        let (pieces, coming) = mpsc::channel(1);
        let out = Out {
            pieces,
            watch: context.watch.clone(),
            patience: self.inner.settings.reader_wait,
        };
        let mut head = Some((head, coming));
        let mut sofar = Sofar::default();
        loop {
            let (bought, page) = match self.page(&mut wanted, context).await {
                Ok(Some(bought)) => bought,
                Ok(None) => return,
                Err(fault) => match head.take() {
                    Some((head, _)) => return drop(head.send(Err(fault))),
                    None => return broken(&out, &sofar, fault, &wanted.asked).await,
                },
            };
            let print = fingerprint(&wanted.asked, &bought.found);
            let line = line(&wanted, &bought, &sofar);
            let opened = match head.take() {
                Some((head, coming)) => head.send(Ok(opened(&wanted, coming))).is_ok(),
                None => true,
            };
            let handed = opened && out.hand(line).await;
            self.close(&wanted, &page, bought.charged, handed).await;
            if !handed {
                return;
            }
            sofar.pages = sofar.pages.saturating_add(1);
            sofar.charged = sofar
                .charged
                .checked_add(bought.charged)
                .unwrap_or(Money::MAX);
            let repeated = sofar.seen.contains(&print);
            sofar.seen.push(print);
            let (stop, following) = follows(&wanted, &bought.found, &sofar, (repeated, bounds));
            if let Some(stop) = stop {
                return end(&out, &sofar, stop, following.as_ref()).await;
            }
            let Some(following) = following else { return };
            wanted.asked = following;
            wanted.id = self.request_id();
        }
    }

    /// One page. A busy platform is waited for, a little; each try is a call of its own, and none is
    /// begun that would be refused by itself.
    async fn page(
        &self,
        wanted: &mut Wanted,
        context: &RequestContext,
    ) -> Result<Option<(Bought, RequestContext)>, ApiError> {
        let mut tries = 0_u32;
        loop {
            tries = tries.saturating_add(1);
            self.check_going_on(wanted)?;
            let page = context.page(wanted.id, &wanted.asked.cell.model);
            // Every page is a request. The first one's limits are told in the head of the answer.
            let load = Load::Platform(&wanted.asked.cell.platform.key);
            if let Err(fault) = self.limit(&page, &wanted.caller, load).await {
                page.limits_of(context);
                return Err(fault);
            }
            page.limits_of(context);
            let wait = match self.buy(wanted, &page).await {
                Ok(bought) => return Ok(bought.map(|bought| (bought, page))),
                Err(fault) if is_busy(&fault) && tries < BUSY_TRIES => {
                    Duration::from_secs(fault.retry_after.unwrap_or(1)).min(BUSY_WAIT)
                }
                Err(fault) => return Err(fault),
            };
            tokio::time::sleep(wait).await;
            if context.watch.is_gone() {
                return Ok(None);
            }
            wanted.id = self.request_id();
        }
    }
}

fn is_busy(fault: &ApiError) -> bool {
    fault
        .extras
        .get("reason")
        .is_some_and(|reason| reason == "busy")
}

/// Why it stops behind a page, if it does, and the question that would follow.
fn follows(
    wanted: &Wanted,
    found: &Found,
    sofar: &Sofar,
    (repeated, bounds): (bool, Bounds),
) -> (Option<Stop>, Option<Asked>) {
    let following = match next(&wanted.asked, found) {
        Next::End => return (Some(Stop::End), None),
        Next::Again => return (Some(Stop::Repeated), None),
        Next::Page(_) if repeated => return (Some(Stop::Repeated), None),
        Next::Page(following) => following,
    };
    let after = sofar
        .charged
        .checked_add(wanted.price)
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
fn line(wanted: &Wanted, bought: &Bought, sofar: &Sofar) -> Bytes {
    let cell = &wanted.asked.cell;
    let about = [
        ("page", Value::from(sofar.pages.saturating_add(1))),
        ("request_id", Value::from(wanted.id.to_string())),
        ("cost_usd", Value::from(bought.charged.to_string())),
    ];
    Bytes::from(page_line(cell, &bought.found, &about))
}

/// A page behind the first could not be had. One that is empty is how platforms that count their pages
/// say that there are no more.
async fn broken(out: &Out, sofar: &Sofar, fault: ApiError, asked: &Asked) {
    let (stop, following) = if fault.kind == ErrorCode::SocialNoResult {
        (Stop::End, None)
    } else {
        (Stop::Failed(fault), Some(asked))
    };
    end(out, sofar, stop, following).await;
}

/// The last line: how many pages there were, what they cost, why there are no more, and how to go on.
async fn end(out: &Out, sofar: &Sofar, stop: Stop, following: Option<&Asked>) {
    let (reason, fault) = match stop {
        Stop::End => ("end", None),
        Stop::Repeated => ("repeated_page", None),
        Stop::MaxPages => ("max_pages", None),
        Stop::MaxUsd => ("max_usd", None),
        Stop::Failed(fault) => ("error", Some(fault)),
    };
    let following = following.map(|asked| {
        let given = asked.given();
        let given = given.map(|(param, value)| (param.name.clone(), Value::from(value)));
        given.collect::<Map<String, Value>>()
    });
    let error = fault.map(|fault| {
        json!({
            "code": fault.kind.code(),
            "message": fault.message,
            "retryable": fault.kind.is_retryable(),
            "retry_after": fault.retry_after,
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

fn opened(wanted: &Wanted, coming: mpsc::Receiver<AckedChunk>) -> Response {
    let mut answer = Response::new(ResponseBody::AckedChunk(AckedBody::open(coming)));
    let headers = answer.headers_mut();
    let lines = HeaderValue::from_static("application/x-ndjson; charset=utf-8");
    headers.insert(CONTENT_TYPE, lines);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    set_warnings(headers, &wanted.warnings);
    answer
}

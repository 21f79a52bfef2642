//! Answers that come in one piece: read, metered, charged, then handed over.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use http::StatusCode;
use trunkline_ledger::Outcome;
use trunkline_types::Money;
use trunkline_upstream::UpstreamResponse;
use trunkline_wire::canonical::{Meter, ReportedUsage, Response as CanonicalResponse};
use trunkline_wire::read_response_facts;
use trunkline_wire::{
    Cost, Format, ResponseError, ToolCallCounter, UpstreamError, passthrough_with_cost,
    read_response, response_with_cost, response_with_cost_at, rewrite_response, scan_response,
    write_response,
};

use super::Quoted;
use super::execution::{AnswerUsage, Answering, ChatRelayed, Upstream, failed, failure_of};
use super::sold_tools::tool_costs;
use crate::delivery;
use crate::detach::respond;
use crate::error::{ApiError, ErrorCode};
use crate::failover::{Exhausted, upstream_refusal};
use crate::idempotency::StoredResponse;
use crate::operation::{RelayEnd, Settled};
use crate::priced_call::Price;
use crate::request_context::RequestContext;
use crate::response::{self, Responder, Response, set_cost, set_dropped, set_ending, set_warnings};
use crate::services::Services;

pub(super) const BROKE_OFF: &str = "the upstream ended its answer early; nothing was charged";

/// An answer that is here, and not charged yet.
pub(crate) struct Buffered {
    responder: Responder,
    upstream: Upstream,
    parsed: Option<Parsed>,
    /// As the upstream sent it.
    pub(super) body: Bytes,
    /// Where the usage stands in it; none where that is not known, or not any more.
    usage_at: Option<Range<usize>>,
    /// Usage of an answer that was cut where the money ended: the answer does not have it.
    cut_usage: Option<AnswerUsage>,
    /// What it used and what that costs, once it is metered.
    counted: Option<(ReportedUsage, Cost)>,
    response: Option<Response>,
}

enum Parsed {
    /// In the caller's own format: only what money needs.
    Same {
        counted: Option<ReportedUsage>,
        written: u64,
        id: String,
        usage_at: Option<Range<usize>>,
    },
    /// In another one: all of it.
    Canonical(CanonicalResponse),
}

impl Answering<'_> {
    pub(super) async fn buffer(
        self,
        mut answer: UpstreamResponse,
        mut responder: Responder,
    ) -> RelayEnd<ChatRelayed> {
        let most = self.services.settings.max_answer_bytes;
        let read = tokio::select! {
            read = answer.whole(most) => read,
            () = responder.closed(), if self.quoted.call.idempotency.is_none() => {
                drop(answer);
                return RelayEnd::ClientGone;
            }
        };
        self.context.upstream_ended();
        let body = match read {
            Ok(body) => body,
            Err(error) => {
                self.upstream_failed();
                let (code, outcome) = failure_of(&error);
                let relayed = ChatRelayed::Unsent(responder);
                return RelayEnd::Failed(relayed, failed(code, outcome, BROKE_OFF));
            }
        };
        self.received(body, None, responder)
    }

    /// The whole answer is here. One that was cut where the money ended brings its own usage.
    pub(super) fn received(
        mut self,
        body: Bytes,
        cut_usage: Option<AnswerUsage>,
        responder: Responder,
    ) -> RelayEnd<ChatRelayed> {
        let parsed = match self.quoted.parse(&self.upstream, &body) {
            Ok(parsed) => parsed,
            Err(error) => {
                let refusal = match &error {
                    ResponseError::Upstream(refusal) => Some(refusal),
                    ResponseError::Invalid => None,
                };
                let exhausted = self.failed_in_200(refusal);
                return RelayEnd::Failed(ChatRelayed::Unsent(responder), exhausted);
            }
        };
        self.upstream.channel.health.record_success();
        if let Some(tier) = &mut self.upstream.tier {
            tier.read(&body);
        }
        if let Some(tools) = &mut self.upstream.tools {
            tools.read(&body);
        }
        if self.context.is_traced() && self.upstream.to == Format::OpenaiChat {
            self.note_facts(read_response_facts(&body));
        }
        let channel = std::sync::Arc::clone(&self.upstream.channel);
        let outcome = match &cut_usage {
            Some(_) => Outcome::BalanceExhausted,
            None => Outcome::Complete,
        };
        let buffered = Buffered {
            responder,
            upstream: self.upstream,
            parsed: Some(parsed),
            body,
            usage_at: None,
            cut_usage,
            counted: None,
            response: None,
        };
        let relayed = ChatRelayed::Buffered(Box::new(buffered));
        RelayEnd::charge(relayed, channel, outcome)
    }

    /// A good status, and no answer behind it.
    fn failed_in_200(&self, refusal: Option<&UpstreamError>) -> Exhausted {
        if let Some(exhausted) = blamed(self.services, refusal) {
            return exhausted;
        }
        self.upstream_failed();
        failed(
            ErrorCode::UpstreamFailed,
            Outcome::UpstreamFailed,
            BROKE_OFF,
        )
    }
}

/// What the caller is told when an upstream blames the request under a good status; none if it blames
/// itself.
pub(super) fn blamed(services: &Services, refusal: Option<&UpstreamError>) -> Option<Exhausted> {
    let refusal = refusal.filter(|refusal| refusal.blames_the_request())?;
    Some(Exhausted {
        error: upstream_refusal(services, StatusCode::BAD_REQUEST, refusal),
        outcome: Outcome::Refused,
    })
}

// === impl Parsed ===

impl Parsed {
    /// Where the usage stands, as long as the answer is as the upstream sent it.
    fn usage_at(self) -> Option<Range<usize>> {
        match self {
            Self::Same { usage_at, .. } => usage_at,
            Self::Canonical(_) => None,
        }
    }
}

// === impl Buffered ===

impl Buffered {
    /// What the upstream reported, and what we count.
    pub(super) fn usage(&self, quoted: &Quoted) -> AnswerUsage {
        if let Some(cut_usage) = &self.cut_usage {
            return cut_usage.clone();
        }
        let (reported, written) = match &self.parsed {
            Some(Parsed::Same {
                counted, written, ..
            }) => (counted.clone(), *written),
            Some(Parsed::Canonical(answer)) => (
                answer.reported.clone(),
                Meter::of_response(answer).written(),
            ),
            None => (None, 0),
        };
        AnswerUsage {
            reported,
            counted: quoted.estimate(None, written),
        }
    }

    /// The tier that the answer names.
    pub(super) fn served_tier(&self) -> Option<&str> {
        self.upstream.tier.as_ref()?.as_str()
    }

    /// Calls of vendor-run tools that are sold, by tool.
    pub(super) fn tool_calls(&self) -> BTreeMap<String, u64> {
        let tools = self.upstream.tools.as_ref();
        tools.map(ToolCallCounter::calls).unwrap_or_default()
    }

    /// What the answer came to.
    pub(super) fn metered(&mut self, counted: ReportedUsage, price: &Price, saving: Option<Money>) {
        let cost = Cost {
            total: price.amount,
            tier: price.tier.clone(),
            units: price.units.clone(),
            cache_saving: saving,
            tools: tool_costs(&price.tools),
        };
        self.counted = Some((counted, cost));
    }

    /// The response, before its charge is known to be written.
    fn response(&mut self, services: &Services, quoted: &Quoted, amount: Money) -> Response {
        if let Some(mut parsed) = self.parsed.take() {
            let counted = self.counted.as_ref().map(|(counted, _)| counted);
            match quoted.shown_body(services, &self.upstream, &mut parsed, &self.body, counted) {
                Some(changed) => self.body = changed,
                None => self.usage_at = parsed.usage_at(),
            }
        }
        self.tell_cost(quoted, amount);
        let body = self.body.clone();
        let mut response = response::bytes_of(StatusCode::OK, body, "application/json");
        let headers = response.headers_mut();
        set_cost(headers, amount);
        set_warnings(headers, &quoted.call.warnings());
        set_dropped(headers, &quoted.call.report);
        set_ending(headers, quoted.call.sale.model.entry());
        response
    }

    /// Writes the cost into the usage, where a stream has it as well.
    fn tell_cost(&mut self, quoted: &Quoted, amount: Money) {
        let Some((counted, cost)) = &mut self.counted else {
            return;
        };
        cost.total = amount;
        let priced = match (quoted.endpoint.passthrough, self.usage_at.take()) {
            (Some(_), _) => passthrough_with_cost(&self.body, cost),
            (None, Some(usage_at)) => response_with_cost_at(&self.body, usage_at, cost),
            (None, None) => response_with_cost(quoted.format(), &self.body, counted, cost),
        };
        self.body = priced.unwrap_or_else(|| self.body.clone());
    }

    pub(super) fn stored(
        &mut self,
        services: &Services,
        quoted: &Quoted,
        amount: Money,
    ) -> Option<StoredResponse> {
        let response = self.response(services, quoted, amount);
        let stored = quoted.call.idempotency.as_ref().map(|_| {
            let account = quoted.call.caller.account.id;
            let (status, headers) = (response.status(), response.headers());
            let mut stored = StoredResponse::begin(services, account, status, headers);
            stored.add(&self.body);
            stored
        });
        self.response = Some(response);
        stored
    }

    /// False if the client took nothing of it.
    pub(super) async fn deliver(
        mut self,
        services: &Services,
        context: &RequestContext,
        quoted: &Quoted,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        let settled = match settled {
            Ok(settled) => settled,
            Err(error) => {
                respond(self.responder, Err(error));
                return true;
            }
        };
        let mut response = match self.response.take() {
            Some(response) => response,
            None => self.response(services, quoted, settled.charged),
        };
        // A settlement that was written before may be of another amount, and that is the one that counts.
        let reported = self.counted.as_ref().map(|(_, cost)| cost.total);
        if reported != Some(settled.charged) {
            if reported.is_some() && !settled.is_stored {
                self.tell_cost(quoted, settled.charged);
            }
            set_cost(response.headers_mut(), settled.charged);
        }
        context.waited_for_ledger(settled.in_ledger);
        // What is stored is there for a client that comes back: nothing of it is refunded.
        if settled.is_stored {
            respond(self.responder, Ok(response));
            return true;
        }
        delivery::send_acked(services, context, self.responder, response, self.body).await
    }
}

impl Quoted {
    fn parse(&self, upstream: &Upstream, body: &Bytes) -> Result<Parsed, ResponseError> {
        if self.is_same(upstream) {
            let whole = match self.endpoint.passthrough {
                Some(kind) => kind.scan_response(body)?,
                None => scan_response(upstream.to, body)?,
            };
            let written = match (&whole.reported, self.endpoint.passthrough) {
                (Some(_), _) | (None, Some(_)) => whole.written,
                // The upstream reported no usage: its output is counted, as a stream's would be.
                (None, None) => read_response(upstream.to, body).map_or(whole.written, |answer| {
                    Meter::of_response(&answer).written()
                }),
            };
            return Ok(Parsed::Same {
                counted: whole.reported,
                written,
                id: whole.id,
                usage_at: whole.usage_at,
            });
        }
        let answer = read_response(upstream.to, body)?;
        Ok(Parsed::Canonical(upstream.state.restore(answer)))
    }

    /// The answer as the caller gets it; none if that is as it came.
    fn shown_body(
        &self,
        services: &Services,
        upstream: &Upstream,
        parsed: &mut Parsed,
        body: &Bytes,
        counted: Option<&ReportedUsage>,
    ) -> Option<Bytes> {
        match parsed {
            Parsed::Same { id, .. } => {
                let mut rewrite = self.rewrite(upstream);
                rewrite.id = self.sealed_id(services, upstream, id, self.request.facts.stores);
                rewrite_response(upstream.to, body, &rewrite)
            }
            Parsed::Canonical(answer) => {
                // Where the upstream reported nothing, the caller sees what it pays for.
                if answer.reported.is_none() {
                    answer.reported = counted.cloned();
                }
                let meta = self.response_meta(services, upstream);
                Some(Bytes::from(write_response(self.format(), answer, &meta)))
            }
        }
    }
}

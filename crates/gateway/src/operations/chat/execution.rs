//! A turn that a channel is answering: relayed, metered, stored, delivered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use trunkline_ledger::Outcome;
use trunkline_types::{Money, Side, Usage};
use trunkline_upstream::BodyError;
use trunkline_wire::ResponseFacts;
use trunkline_wire::canonical::{ReportedUsage, TranslationState};
use trunkline_wire::{Format, ResponseMeta, Rewrite, ToolCallCounter};

use super::Quoted;
use super::attempt::ChatAnswer;
use super::buffered::Buffered;
use super::outbound::field_note;
use super::relay::Relay;
use super::served_tier::{ServedPrice, TierWatch};
use super::unlisted::DroppedField;
use crate::channels::Channel;
use crate::detach::respond;
use crate::error::{ApiError, ErrorCode};
use crate::failover::{Exhausted, Served};
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::StoredResponse;
use crate::operation::{Execution, HoldPolicy, Metered, PricedOperation, RelayEnd, Settled};
use crate::priced_call::PricedCall;
use crate::rate_limit::Cost;
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::{NotHeld, Reservation, Shortfall};
use crate::response::Responder;
use crate::response_id::{self, PREFIX, SealedResponseId};
use crate::scrub::without_secrets;
use crate::services::Services;

/// The channel that answers, and what its answer needs to be understood.
pub(super) struct Upstream {
    pub(super) channel: Arc<Channel>,
    /// The number of the credential that was used.
    pub(super) credential: i64,
    pub(super) to: Format,
    pub(super) state: TranslationState,
    /// Its tier, where the price depends on it.
    pub(super) tier: Option<TierWatch>,
    /// Calls of vendor-run tools, where some are sold.
    pub(super) tools: Option<ToolCallCounter>,
}

/// One turn while it is answered.
pub(super) struct Answering<'a> {
    pub(super) services: &'a Services,
    pub(super) context: &'a Arc<RequestContext>,
    pub(super) reservation: &'a mut Reservation,
    pub(super) quoted: &'a mut Quoted,
    pub(super) upstream: Upstream,
}

/// What an answer used.
#[derive(Debug, Clone)]
pub(super) struct AnswerUsage {
    /// By the upstream's word.
    pub(super) reported: Option<ReportedUsage>,
    /// As we count it, for when there is none.
    pub(super) counted: Usage,
}

/// What is left of an answer when its charge is due.
pub(crate) enum ChatRelayed {
    Unsent(Responder),
    Buffered(Box<Buffered>),
    /// The end of a stream.
    Stream(Box<Relay>),
}

impl PricedOperation for Quoted {
    fn call(&self) -> &PricedCall {
        &self.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.call
    }

    fn streams(&self) -> bool {
        self.request.facts.stream
    }

    fn load(&self) -> Cost<'_> {
        Cost::Model(self.request.model(), Some(self.input.fair))
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        self.bound(self.most_output())
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        self.check_bound(most)
    }

    fn most_input(&self) -> u64 {
        Self::most_input(self)
    }
}

impl Execution for Quoted {
    type Relayed = ChatRelayed;

    async fn fit_to_funds(&mut self, services: &Services) -> Result<(), ApiError> {
        Box::pin(self.fit_default(services)).await
    }

    /// A stream is charged for what came of it.
    fn is_acked(&self) -> bool {
        !self.request.facts.stream
    }

    fn hold_policy(&self, _services: &Services) -> Result<HoldPolicy, ApiError> {
        self.bound_policy()
    }

    fn input_alone(&self) -> Option<Metered> {
        let usage = self.estimate_left(None, 0);
        let price = self.exact(&usage).ok()?;
        let tokens = Tokens {
            input: price.units.total_of(Side::Input),
            output: 0,
        };
        Some(Metered {
            price,
            dearer_tier: None,
            usage,
            estimated: true,
            tokens,
        })
    }

    async fn smaller_hold(
        &mut self,
        services: &Services,
        shortfall: Shortfall,
    ) -> Result<Option<Money>, ApiError> {
        Box::pin(self.fitted_hold(services, shortfall)).await
    }

    async fn not_held(&self, _services: &Services, not_held: NotHeld, required: Money) -> ApiError {
        self.short_of(not_held, required)
    }

    async fn relay(
        &mut self,
        services: &Services,
        context: &Arc<RequestContext>,
        reservation: &mut Reservation,
        served: Served<ChatAnswer>,
        responder: Responder,
    ) -> RelayEnd<ChatRelayed> {
        let ChatAnswer {
            answer,
            early,
            to,
            state,
            notes,
            dropped,
            aggregates,
        } = served.answer;
        if aggregates {
            self.lift_cap();
        }
        for note in notes.all() {
            self.call.report.add(field_note(note));
        }
        let names: Vec<&str> = dropped.iter().map(|one| one.pattern.as_str()).collect();
        context.fields_dropped(&served.channel.provider.name, &names);
        for DroppedField { note, .. } in dropped {
            self.call.report.add(note);
        }
        let stream = self.request.facts.stream;
        let tier = self.tier_watch(to, &answer.headers);
        let tools = self.tool_counter(to);
        let answering = Answering {
            services,
            context,
            reservation,
            quoted: self,
            upstream: Upstream {
                channel: served.channel,
                credential: served.credential,
                to,
                state,
                tier,
                tools,
            },
        };
        if stream {
            // In a box: a stream's future is larger than that of a whole answer, and lives long.
            Box::pin(answering.stream(answer, early, responder)).await
        } else if aggregates {
            Box::pin(answering.aggregate(answer, early, responder)).await
        } else {
            answering.buffer(answer, responder).await
        }
    }

    fn answer_excerpt<'a>(&'a self, relayed: &'a ChatRelayed) -> AnswerExcerpt<'a> {
        match relayed {
            ChatRelayed::Unsent(_) => AnswerExcerpt::Held(Cow::Borrowed(&[])),
            ChatRelayed::Buffered(buffered) => AnswerExcerpt::Held(Cow::Borrowed(&buffered.body)),
            ChatRelayed::Stream(relay) => AnswerExcerpt::Sent(Cow::Borrowed(&relay.excerpt)),
        }
    }

    fn meter(&mut self, relayed: &mut ChatRelayed, outcome: Outcome) -> Result<Metered, ApiError> {
        let AnswerUsage { reported, counted } = match relayed {
            ChatRelayed::Unsent(_) => AnswerUsage {
                reported: None,
                counted: Usage::unknown(),
            },
            ChatRelayed::Buffered(buffered) => buffered.usage(self),
            ChatRelayed::Stream(relay) => self.stream_usage(relay, outcome),
        };
        let estimated = reported.is_none();
        let mut counted = reported.unwrap_or(ReportedUsage {
            usage: counted,
            reasoning: None,
        });
        for (tool, calls) in relayed.tool_calls() {
            counted.usage = counted.usage.with_tool_calls(&tool, calls);
        }
        let served = relayed.served_tier();
        let ServedPrice { price, dearer } = self.exact_as_served(&counted.usage, served)?;
        if outcome == Outcome::BalanceExhausted {
            self.call.late_warnings.push("balance_exhausted");
        }
        let side = |side| price.units.total_of(side);
        let tokens = Tokens {
            input: side(Side::Input),
            output: side(Side::Output),
        };
        let usage = counted.usage.clone();
        let saving = self.cache_saving(&usage, price.amount);
        match relayed {
            ChatRelayed::Unsent(_) => {}
            ChatRelayed::Buffered(buffered) => {
                if estimated {
                    self.call.late_warnings.push("usage_estimated");
                }
                buffered.metered(counted, &price, saving);
            }
            ChatRelayed::Stream(relay) => {
                let wants_usage = self.request.facts.wants_usage;
                relay.ends_with(counted, &price, saving, outcome, wants_usage);
            }
        }
        Ok(Metered {
            price,
            dearer_tier: dearer,
            usage,
            estimated,
            tokens,
        })
    }

    fn stored(
        &mut self,
        services: &Services,
        relayed: &mut ChatRelayed,
        metered: &Metered,
    ) -> Option<StoredResponse> {
        let amount = metered.price.amount;
        match relayed {
            ChatRelayed::Unsent(_) => None,
            ChatRelayed::Buffered(buffered) => buffered.stored(services, self, amount),
            ChatRelayed::Stream(relay) => relay.stored(amount),
        }
    }

    async fn deliver(
        &mut self,
        services: &Services,
        context: &RequestContext,
        relayed: ChatRelayed,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        match (relayed, settled) {
            (ChatRelayed::Unsent(responder), Ok(_)) => {
                respond(responder, Err(ApiError::unavailable()));
            }
            (ChatRelayed::Unsent(responder), Err(error)) => respond(responder, Err(error)),
            (ChatRelayed::Buffered(buffered), settled) => {
                return buffered.deliver(services, context, self, settled).await;
            }
            (ChatRelayed::Stream(mut relay), Ok(settled)) => relay.finish(settled.charged).await,
            (ChatRelayed::Stream(mut relay), Err(error)) => relay.abort_with_error(&error).await,
        }
        true
    }
}

// === impl ChatRelayed ===

impl ChatRelayed {
    /// The tier that the answer names.
    fn served_tier(&self) -> Option<&str> {
        match self {
            Self::Unsent(_) => None,
            Self::Buffered(buffered) => buffered.served_tier(),
            Self::Stream(relay) => relay.follow.served_tier(),
        }
    }

    /// Calls of vendor-run tools that are sold, by tool.
    fn tool_calls(&self) -> BTreeMap<String, u64> {
        match self {
            Self::Unsent(_) => BTreeMap::new(),
            Self::Buffered(buffered) => buffered.tool_calls(),
            Self::Stream(relay) => relay.follow.tool_calls(),
        }
    }
}

// === impl Answering ===

impl Answering<'_> {
    /// The answer that had begun did not end as one.
    pub(super) fn upstream_failed(&self) {
        let account = self.quoted.call.caller.account.id;
        let health = &self.upstream.channel.health;
        health.failed(account, self.services.now());
        self.context
            .attempt_finished(|attempt| attempt.error = Some("broke_off"));
    }

    /// Notes what the answer says about itself, for the trace alone.
    pub(super) fn note_facts(&self, facts: ResponseFacts) {
        let secrets = self.services.channels.load_full().secrets();
        let model = without_secrets(&facts.model, &secrets);
        self.context.set_response_facts(model, facts.finishes);
    }
}

// === impl Quoted ===

impl Quoted {
    /// What the upstream reported of a stream, and what we count.
    pub(super) fn stream_usage(&self, relay: &Relay, outcome: Outcome) -> AnswerUsage {
        let follow = &relay.follow;
        let input = follow.reported_input();
        let counted = match outcome {
            Outcome::ClientGone | Outcome::BalanceExhausted => match relay.fair_output {
                Some(output) => self.estimate(input, output),
                None => {
                    let least = follow.least_written().min(self.most_output());
                    self.estimate_left(input, least)
                }
            },
            Outcome::Complete
            | Outcome::Accepted
            | Outcome::Refused
            | Outcome::UpstreamFailed
            | Outcome::UpstreamTimeout
            | Outcome::NoResult
            | Outcome::Interrupted
            | Outcome::Expired
            | Outcome::Drained
            | Outcome::DatabaseAway
            | Outcome::Cancelled => self.estimate(input, follow.written()),
        };
        AnswerUsage {
            reported: follow.reported(),
            counted,
        }
    }

    /// Whether the upstream speaks the caller's format.
    pub(super) fn is_same(&self, upstream: &Upstream) -> bool {
        upstream.to == self.format()
    }

    /// What is changed in an answer of the caller's own format. The id is known when the upstream's is.
    pub(super) fn rewrite(&self, upstream: &Upstream) -> Rewrite {
        let public_model = self.request.requested_model();
        let renamed = upstream.channel.upstream_model(self.request.model()) != public_model;
        Rewrite {
            model: renamed.then(|| public_model.to_owned()),
            id: None,
            previous: self.request.facts.previous.clone(),
            channel: Some(upstream.channel.mark.clone()),
        }
    }

    /// The id that the caller gets for an answer, in the format that can be continued by it.
    pub(super) fn sealed_id(
        &self,
        services: &Services,
        upstream: &Upstream,
        id: &str,
        stored: bool,
    ) -> Option<String> {
        if self.format() != Format::OpenaiResponses {
            return None;
        }
        let contents = SealedResponseId {
            channel: upstream.channel.row.id.number(),
            credential: upstream.credential,
            upstream: id.to_owned(),
            minted: services.now().seconds(),
            // What it was given and the longest answer to that.
            tokens: self.most_input().saturating_add(self.most_output()),
            stored,
        };
        response_id::seal_response(services, self.call.caller.account.id, &contents)
    }

    /// What an answer that is translated is written with.
    pub(super) fn response_meta(&self, services: &Services, upstream: &Upstream) -> ResponseMeta {
        let request = self.call.id.to_string();
        let sealed = self.sealed_id(services, upstream, &request, false);
        let id = sealed.as_deref().and_then(|id| id.strip_prefix(PREFIX));
        let request_body = match self.format() {
            Format::OpenaiResponses => serde_json::from_slice(self.request.body()).ok(),
            Format::OpenaiChat | Format::ClaudeMessages | Format::Gemini => None,
        };
        ResponseMeta {
            model: self.request.requested_model().to_owned(),
            id: id.unwrap_or(&request).to_owned(),
            created: services.now().seconds(),
            wants_usage: self.request.facts.wants_usage,
            channel: Some(upstream.channel.mark.clone()),
            request_body,
        }
    }
}

/// An upstream that failed while it answered.
pub(super) fn failed(code: ErrorCode, outcome: Outcome, text: &str) -> Exhausted {
    Exhausted {
        error: ApiError::new(code, text),
        outcome,
    }
}

/// What the caller and the usage row call a body that did not end well.
pub(super) const fn failure_of(error: &BodyError) -> (ErrorCode, Outcome) {
    match error {
        BodyError::Stalled => (ErrorCode::UpstreamTimeout, Outcome::UpstreamTimeout),
        BodyError::Broken(_) | BodyError::TooLarge(_) => {
            (ErrorCode::UpstreamFailed, Outcome::UpstreamFailed)
        }
    }
}

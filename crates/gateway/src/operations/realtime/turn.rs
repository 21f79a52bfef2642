//! One turn of a connection from its money to its charge: a response, or a transcription of what the user said. Money
//! is held before anything can begin it; the connection reports its end.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Method, StatusCode, Uri};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::protocol::Role;
use trunkline_catalog::FieldReport;
use trunkline_ledger::Outcome;
use trunkline_types::{Bucket, Money, RequestId, Usage};
use trunkline_upstream::{
    Ask, Format as ProviderFormat, Outgoing, Protocol, SendError, Task, UpstreamResponse,
};
use trunkline_wire::{Format, read_error};

use super::request::{TokenBound, TurnKind};
use super::turn_bound::LEAST_OUTPUT;
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, Served, Tally, To,
    refused_by, upstream_refusal,
};
use crate::guardrail::AnswerExcerpt;
use crate::idempotency::StoredResponse;
use crate::operation::{Execution, HoldPolicy, Metered, PricedOperation, RelayEnd, Settled};
use crate::operations::exact_price::Priced;
use crate::priced_call::PricedCall;
use crate::rate_limit::Cost;
use crate::request_context::{RequestContext, Tokens};
use crate::reservation::{Reservation, Shortfall, free_balance};
use crate::response::Responder;
use crate::sending::{headers, send_as};
use crate::services::Services;
use crate::websocket::{self, Socket};

/// Longest handshake with an upstream.
const OPEN_WAIT: Duration = Duration::from_secs(20);
/// Bytes of a refusal that are read.
const MAX_ERROR_BYTES: usize = 65_536;
/// A connection's responses may be as long as this part of what is free pays for, so that a conversation of many turns
/// fits a small balance.
const FREE_SHARE: i64 = 10;
/// Commands under way to a turn.
const COMMANDS: usize = 4;

/// One turn with its price.
pub(crate) struct TurnExecution {
    pub(super) priced: Priced,
    pub(super) kind: TurnKind,
    pub(super) bound: TokenBound,
    pub(super) link: TurnLink,
}

/// The way from a turn to its connection.
#[derive(Default)]
pub(crate) struct TurnLink {
    /// Told when its money is held and its channel is there.
    pub(super) begun: Option<oneshot::Sender<Begun>>,
    /// The channel of the connection; none for the turn that opens it.
    pub(super) open: Option<OpenChannel>,
}

/// The channel of a connection that is open.
pub(super) struct OpenChannel {
    pub(super) channel: Arc<Channel>,
    /// The number of the credential that was used.
    pub(super) credential: i64,
}

/// A turn whose money is held.
pub(super) struct Begun {
    pub(super) id: RequestId,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) kind: TurnKind,
    /// What the hold covers.
    pub(super) bound: TokenBound,
    /// The connection that it opened.
    pub(super) socket: Option<Socket>,
    pub(super) channel: Arc<Channel>,
    pub(super) credential: i64,
    /// The public name of the model.
    pub(super) model: String,
    /// The record has a price for time.
    pub(super) bills_time: bool,
}

impl Begun {
    pub(super) fn open_channel(&self) -> OpenChannel {
        OpenChannel {
            channel: Arc::clone(&self.channel),
            credential: self.credential,
        }
    }
}

/// In boxes: a channel has capacity for many commands of the largest size.
pub(super) enum Command {
    Cover(Box<Cover>),
    End(Box<TurnEnd>),
}

/// The hold must cover more.
pub(super) struct Cover {
    /// This, and some input ahead of it.
    pub(super) needed: TokenBound,
    /// Told what it covers.
    pub(super) covered: oneshot::Sender<Result<TokenBound, ApiError>>,
}

/// How a turn ended.
pub(super) struct TurnEnd {
    /// What it used; none if it failed.
    pub(super) used: Option<Usage>,
    /// The upstream reported nothing, and we counted.
    pub(super) estimated: bool,
    pub(super) outcome: Outcome,
    pub(super) report: FieldReport,
    /// The beginning of what was said, where the guardrail is shown it.
    pub(super) words: String,
    /// Told what was charged, when that is written.
    pub(super) done: oneshot::Sender<Result<Money, ApiError>>,
}

impl TurnExecution {
    async fn refused(
        services: &Services,
        to: To<'_>,
        mut answer: UpstreamResponse,
    ) -> Classified<Option<Socket>> {
        let body = answer.whole(MAX_ERROR_BYTES).await.unwrap_or_default();
        let refusal = read_error(&body);
        let seconds = answer.headers.get(RETRY_AFTER);
        let seconds = seconds.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let codes = [refusal.code.as_deref(), refusal.kind.as_deref()];
        let status = answer.status.as_u16();
        if answer.status.is_success() || answer.status == StatusCode::SWITCHING_PROTOCOLS {
            return Classified::Failed;
        }
        let classified = refused_by(to, &answer.headers, status, codes, seconds);
        classified.unwrap_or_else(|| {
            Classified::RequestRejected(upstream_refusal(services, answer.status, &refusal))
        })
    }
}

impl Attempts for TurnExecution {
    type Outbound = Uri;
    type Accepted = Option<Socket>;

    /// A connection that may have been taken is not opened twice.
    fn candidates(&self, services: &Services) -> Candidates {
        self.priced.candidates(services, AfterSent::Stop)
    }

    fn connected(&mut self) -> Option<Served<Option<Socket>>> {
        let open = self.link.open.take()?;
        Some(Served {
            channel: open.channel,
            credential: open.credential,
            answer: None,
        })
    }

    async fn build(&mut self, _services: &Services, channel: &Arc<Channel>) -> Built<Uri> {
        let question = Ask {
            format: ProviderFormat::OpenaiRealtime,
            task: Task::Generate,
            model: match self.kind {
                // The session names it.
                TurnKind::Transcription => "",
                TurnKind::Response { .. } | TurnKind::Time { .. } => {
                    channel.upstream_model(&self.priced.call.model)
                }
            },
            stream: true,
            id: None,
        };
        let address = channel.provider.address(&channel.base, &question);
        address.map_or(Built::Skip, Built::Ready)
    }

    async fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        uri: Uri,
    ) -> Classified<Option<Socket>> {
        let mut sent = headers(to.channel, Format::OpenaiChat, false);
        sent.remove(ACCEPT);
        sent.remove(CONTENT_TYPE);
        let Some(accept) = websocket::offer(&mut sent) else {
            return Classified::Failed;
        };
        let call = Outgoing {
            method: Method::GET,
            uri,
            headers: sent,
            body: Bytes::new().into(),
            deadlines: to.channel.deadlines(OPEN_WAIT, OPEN_WAIT),
            proxy: to.channel.proxy.as_ref(),
            protocol: Protocol::Http1,
        };
        let answer = match send_as(services, call, to.credential).await {
            Ok(answer) => answer,
            Err(error) => return Classified::Lost(error),
        };
        log.answered(answer.status);
        let switches = answer.status == StatusCode::SWITCHING_PROTOCOLS;
        if !switches || !websocket::is_accepted(&answer.headers, &accept) {
            return Self::refused(services, to, answer).await;
        }
        match answer.upgraded().await {
            Ok(connection) => {
                Classified::Accepted(Some(websocket::socket(connection, Role::Client)))
            }
            Err(error) => Classified::Lost(SendError::Broken(error.to_string())),
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        tally.exhausted(&self.priced.call.model)
    }
}

impl PricedOperation for TurnExecution {
    fn call(&self) -> &PricedCall {
        &self.priced.call
    }

    fn call_mut(&mut self) -> &mut PricedCall {
        &mut self.priced.call
    }

    fn streams(&self) -> bool {
        true
    }

    /// The connection says when its client has gone.
    fn outlives_client(&self) -> bool {
        true
    }

    fn load(&self) -> Cost<'_> {
        let input = self.bound.input.saturating_add(self.bound.text);
        Cost::Model(&self.priced.call.model, Some(input))
    }

    fn maximum(&self) -> Result<Money, ApiError> {
        self.most(self.bound)
    }

    fn check_max_cost(&self, most: Money) -> Result<(), ApiError> {
        self.priced.check_max_cost(most)
    }
}

/// What a turn leaves for its charge.
pub(crate) struct TurnRelayed {
    end: TurnEnd,
}

impl Execution for TurnExecution {
    type Relayed = TurnRelayed;

    /// The turn that opens a connection chooses how long its responses may be.
    async fn fit_to_funds(&mut self, services: &Services) -> Result<(), ApiError> {
        let is_response = matches!(self.kind, TurnKind::Response { .. });
        if self.link.open.is_some() || !is_response {
            return Ok(());
        }
        let account = self.priced.call.caller.account.id;
        let Some(free) = free_balance(services, account).await? else {
            return Ok(());
        };
        let share = Money::from_nanos(free.nanos().div_euclid(FREE_SHARE));
        let output = self.affordable(share)?;
        if (LEAST_OUTPUT..self.bound.output).contains(&output) {
            self.shorten(
                output,
                "a tenth of the free balance pays for a response of this length",
            );
        }
        Ok(())
    }

    fn hold_policy(&self, _services: &Services) -> Result<HoldPolicy, ApiError> {
        Ok(HoldPolicy::exact(self.most(self.bound)?))
    }

    /// A shorter response, where that can be paid.
    async fn smaller_hold(
        &mut self,
        _services: &Services,
        shortfall: Shortfall,
    ) -> Result<Option<Money>, ApiError> {
        if self.kind == TurnKind::Transcription {
            return Ok(None);
        }
        let output = self.affordable(shortfall.fits)?;
        if let TurnKind::Time { .. } = self.kind {
            if !(1..self.bound.seconds).contains(&output) {
                return Ok(None);
            }
            self.bound = self.bound_of(output);
            return self.most(self.bound).map(Some);
        }
        if !(LEAST_OUTPUT..self.bound.output).contains(&output) {
            return Ok(None);
        }
        self.shorten(output, "the balance does not cover a longer response");
        self.most(self.bound).map(Some)
    }

    /// Waits for the end of the turn, and raises the hold meanwhile.
    async fn relay(
        &mut self,
        services: &Services,
        context: &Arc<RequestContext>,
        reservation: &mut Reservation,
        served: Served<Option<Socket>>,
        _responder: Responder,
    ) -> RelayEnd<TurnRelayed> {
        let (sender, mut commands) = mpsc::channel(COMMANDS);
        let begun = Begun {
            id: self.priced.call.id,
            commands: sender,
            kind: self.kind,
            bound: self.bound,
            socket: served.answer,
            channel: Arc::clone(&served.channel),
            credential: served.credential,
            model: self.priced.call.model.clone(),
            bills_time: self.bills_time(),
        };
        let link = self.link.begun.take();
        if link.is_none_or(|link| link.send(begun).is_err()) {
            return RelayEnd::ClientGone;
        }
        loop {
            let end = match commands.recv().await {
                None => return RelayEnd::ClientGone,
                Some(Command::Cover(cover)) => {
                    // In a box: what waits for its next command keeps no space for it.
                    let covered = Box::pin(self.cover(services, reservation, cover.needed));
                    drop(cover.covered.send(covered.await));
                    continue;
                }
                Some(Command::End(end)) => *end,
            };
            context.upstream_ended();
            for note in end.report.notes() {
                self.priced.call.report.add(note.clone());
            }
            let outcome = end.outcome;
            let relayed = TurnRelayed { end };
            if relayed.end.used.is_some() {
                served.channel.health.record_success();
                return RelayEnd::charge(relayed, served.channel, outcome);
            }
            if outcome == Outcome::UpstreamFailed {
                self.priced.failed_at(services, &served.channel);
            }
            let text = "the upstream did not finish the response; nothing was charged";
            let error = ApiError::new(ErrorCode::UpstreamFailed, text);
            return RelayEnd::Failed(relayed, Exhausted { error, outcome });
        }
    }

    /// Its events went to the client as they came.
    fn answer_excerpt<'a>(&'a self, relayed: &'a TurnRelayed) -> AnswerExcerpt<'a> {
        AnswerExcerpt::Sent(Cow::Borrowed(relayed.end.words.as_bytes()))
    }

    fn meter(&mut self, relayed: &mut TurnRelayed, _outcome: Outcome) -> Result<Metered, ApiError> {
        let usage = relayed.end.used.clone().unwrap_or_default();
        let sum = |buckets: &[Bucket]| {
            let counts = buckets.iter().filter_map(|bucket| usage.reported(*bucket));
            counts.fold(0_u64, u64::saturating_add)
        };
        let tokens = Tokens {
            input: sum(&[
                Bucket::PlainInput,
                Bucket::AudioInput,
                Bucket::ImageInput,
                Bucket::CacheRead,
                Bucket::CachedAudio,
            ]),
            output: sum(&[Bucket::PlainOutput, Bucket::AudioOutput]),
        };
        let price = self.priced.call.price(&usage)?;
        Ok(Metered {
            estimated: relayed.end.estimated,
            ..Metered::known(price, usage, tokens)
        })
    }

    fn stored(
        &mut self,
        _services: &Services,
        _relayed: &mut TurnRelayed,
        _metered: &Metered,
    ) -> Option<StoredResponse> {
        None
    }

    /// The connection passes the event on now that it is charged.
    async fn deliver(
        &mut self,
        _services: &Services,
        _context: &RequestContext,
        relayed: TurnRelayed,
        settled: Result<Settled, ApiError>,
    ) -> bool {
        let charged = settled.map(|settled| settled.charged);
        relayed.end.done.send(charged).is_ok()
    }
}

//! One turn at one channel: which channels, what is sent, and what the answer means.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::RETRY_AFTER;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_types::Defect;
use trunkline_upstream::UpstreamResponse;
use trunkline_wire::canonical::{Notes, TranslationState};
use trunkline_wire::gemini::retry_delay;
use trunkline_wire::openai_responses::previous_not_found;
use trunkline_wire::read_error;
use trunkline_wire::{Format, FrameKind, Frames, Tap};

use super::Quoted;
use super::outbound::OutboundRequest;
use super::send::send;
use super::unlisted::DroppedField;
use crate::channels::{Channel, ChannelQuery};
use crate::failover::{
    AfterSent, AttemptLog, Attempts, Built, Candidates, Classified, Exhausted, RetryPolicy, Tally,
    To, refused_by, upstream_refusal,
};
use crate::response_id::{YOUNG_SECONDS, not_found};
use crate::services::Services;

/// Bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 65_536;
/// What a stream begins with before it says anything.
const OPENINGS: [&str; 3] = [
    "response.created",
    "response.in_progress",
    "response.queued",
];
/// Bytes of a stream that are read before it is passed on.
const MAX_EARLY_BYTES: usize = 65_536;
/// How long a response that an upstream does not know yet is asked for.
const HEAL_FOR: Duration = Duration::from_secs(20);
const HEAL_PAUSE: Duration = Duration::from_millis(250);
const HEAL_PAUSE_MAX: Duration = Duration::from_secs(2);

pub(crate) struct ChatAnswer {
    pub(crate) answer: UpstreamResponse,
    /// What of the answer was read already.
    pub(crate) early: Vec<Bytes>,
    /// The format that the channel was asked in.
    pub(crate) to: Format,
    /// What its answer needs to be understood.
    pub(crate) state: TranslationState,
    /// What could not be said to it.
    pub(crate) notes: Notes,
    /// What is on no list and was not sent to it.
    pub(crate) dropped: Vec<DroppedField>,
    /// It is a stream that a whole answer is assembled from.
    pub(crate) aggregates: bool,
}

enum Judged {
    Answer(UpstreamResponse, Vec<Bytes>),
    /// It does not have the response that is continued, yet.
    NotThere,
    Other(Classified<ChatAnswer>),
}

impl Attempts for Quoted {
    type Outbound = OutboundRequest;
    type Accepted = ChatAnswer;

    fn candidates(&self, services: &Services) -> Candidates {
        let seed = self.seed();
        Candidates {
            channels: self.order(services, seed),
            model: self.request.model().to_owned(),
            account: self.call.caller.account.id,
            seed,
            // Another credential may belong to another account of the upstream.
            credential: self
                .continues
                .as_ref()
                .map(|sealed_id| sealed_id.credential),
            policy: RetryPolicy {
                attempts: services.settings.max_attempts,
                after_sent: AfterSent::AskNext,
            },
        }
    }

    async fn build(
        &mut self,
        _services: &Services,
        channel: &Arc<Channel>,
    ) -> Built<OutboundRequest> {
        match self.for_channel(channel) {
            Some(Ok(outbound)) => Built::Ready(outbound),
            // Another channel may speak a format in which it can be said.
            Some(Err(error)) => Built::Unsendable(error),
            None => Built::Skip,
        }
    }

    /// Asks once, or as often as a response that the upstream does not know yet is worth.
    async fn attempt(
        &mut self,
        services: &Services,
        log: AttemptLog<'_>,
        to: To<'_>,
        outbound: OutboundRequest,
    ) -> Classified<ChatAnswer> {
        let began = Instant::now();
        let mut pause = HEAL_PAUSE;
        loop {
            let answer = match send(services, self, &outbound, to).await {
                Ok(answer) => answer,
                Err(error) => return Classified::Lost(error),
            };
            log.answered(answer.status);
            match self.judge(services, to, answer, outbound.aggregates).await {
                Judged::Answer(answer, early) => {
                    return Classified::Accepted(ChatAnswer {
                        answer,
                        early,
                        to: outbound.to,
                        state: outbound.state,
                        notes: outbound.notes,
                        dropped: outbound.dropped,
                        aggregates: outbound.aggregates,
                    });
                }
                Judged::Other(classified) => return classified,
                Judged::NotThere => {}
            }
            let young = self.continues.as_ref().is_some_and(|sealed_id| {
                let now = services.now().seconds();
                now.saturating_sub(sealed_id.minted) <= YOUNG_SECONDS
            });
            if !young || began.elapsed() > HEAL_FOR {
                return not_there();
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(HEAL_PAUSE_MAX);
            log.restarted(to.channel);
        }
    }

    fn exhausted(&self, tally: Tally) -> Exhausted {
        tally.exhausted(self.request.model())
    }
}

impl Quoted {
    /// The channels to ask, in their order: one alone for a response that is continued; otherwise those
    /// that serve the model, and before all others the one that signed the conversation's reasoning.
    pub(super) fn order(&self, services: &Services, seed: u64) -> Vec<Arc<Channel>> {
        let registry = services.channels.load_full();
        let caller = &self.call.caller;
        let query = ChannelQuery {
            model: self.request.model(),
            account: caller.account.id,
            now: services.now(),
        };
        if let Some(sealed_id) = &self.continues {
            let channel = registry.channel(sealed_id.channel).into_iter();
            return channel
                .filter(|channel| channel.row.models.contains_key(query.model))
                .filter(|channel| channel.qualifies(&caller.key.policy))
                .collect();
        }
        let mut order = registry.order(query, self.call.route_rules(), seed);
        let sticky = self.sticky_channel();
        let index = sticky.and_then(|mark| order.iter().position(|one| one.mark == mark));
        if let Some(index) = index {
            let first = order.remove(index);
            order.insert(0, first);
        }
        order
    }

    async fn judge(
        &self,
        services: &Services,
        to: To<'_>,
        mut answer: UpstreamResponse,
        aggregates: bool,
    ) -> Judged {
        let status = match answer.status.as_u16() {
            429 if Defect::Swallowed429.is_on() => 500,
            status => status,
        };
        match status {
            200..=299 => self.begun(answer, aggregates).await,
            400..=499 => self.refused(services, to, &mut answer).await,
            _ => {
                let classified = refused_by(to, &answer.headers, status, [None, None], None);
                Judged::Other(classified.unwrap_or(Classified::Failed))
            }
        }
    }

    /// An answer has begun. A stream that continues a response may still say that it is not there, before
    /// it says anything else; that is looked at while nothing has been sent on.
    async fn begun(&self, mut answer: UpstreamResponse, aggregates: bool) -> Judged {
        let streams = self.request.facts.stream || aggregates;
        if self.continues.is_none() || !streams {
            return Judged::Answer(answer, Vec::new());
        }
        let (mut frames, mut tap) = (Frames::default(), Tap::new(Format::OpenaiResponses));
        let (mut early, mut bytes) = (Vec::new(), 0_usize);
        while bytes < MAX_EARLY_BYTES {
            let Ok(Some(piece)) = answer.piece().await else {
                break;
            };
            bytes = bytes.saturating_add(piece.len());
            frames.push(&piece);
            early.push(piece);
            while let Ok(Some(frame)) = frames.take() {
                let seen = tap.observe(&frame);
                if let FrameKind::Error(error) = &seen
                    && previous_not_found(error)
                {
                    return Judged::NotThere;
                }
                let opening = frame
                    .event
                    .as_deref()
                    .is_some_and(|it| OPENINGS.contains(&it));
                if !opening && seen != FrameKind::Empty {
                    return Judged::Answer(answer, early);
                }
            }
        }
        Judged::Answer(answer, early)
    }

    /// The upstream refused the call: what that is about, and its message if it is about the request.
    async fn refused(
        &self,
        services: &Services,
        to: To<'_>,
        answer: &mut UpstreamResponse,
    ) -> Judged {
        let body = answer.whole(MAX_ERROR_BYTES).await.unwrap_or_default();
        let refusal = read_error(&body);
        if self.continues.is_some() && previous_not_found(&refusal) {
            return Judged::NotThere;
        }
        let seconds = retry_after(&answer.headers).or_else(|| retry_delay(&body));
        let codes = [refusal.code.as_deref(), refusal.kind.as_deref()];
        let status = answer.status.as_u16();
        let classified = refused_by(to, &answer.headers, status, codes, seconds);
        Judged::Other(classified.unwrap_or_else(|| {
            Classified::RequestRejected(upstream_refusal(services, answer.status, &refusal))
        }))
    }

    /// The same for every turn of a conversation: its account, its model and how it began.
    pub(super) fn seed(&self) -> u64 {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        const BEGINNING: usize = 1_024;
        let account = self.call.caller.account.id.number().to_be_bytes();
        let model = self.request.model().as_bytes();
        // The caller's own name for a cache goes before how a conversation begins: several may share one.
        let named = self.request.prompt_cache_key();
        let opening = named.unwrap_or_else(|| self.request.prompt_prefix(BEGINNING));
        // Eight bytes at a time: every call is drawn for.
        let words = [account.as_slice(), model, opening];
        let words = words.into_iter().flat_map(|part| part.chunks(8));
        words.fold(OFFSET, |hash, word| {
            let mut bytes = [0; 8];
            bytes
                .iter_mut()
                .zip(word)
                .for_each(|(to, from)| *to = *from);
            let mixed = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(PRIME);
            mixed ^ (mixed >> 29)
        })
    }
}

fn not_there() -> Classified<ChatAnswer> {
    Classified::Stop(Exhausted {
        error: not_found("the upstream no longer has this response, or does not have it yet"),
        outcome: Outcome::Refused,
    })
}

fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

//! Answers that come in pieces. Pieces pass as they come; money is held ahead of them; the charge is
//! durable before the terminal frame leaves.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_upstream::{BodyError, UpstreamResponse};
use trunkline_wire::gemini::ArrayFrames;
use trunkline_wire::{Frame, FrameKind, Frames, UpstreamError, heartbeat};

use super::buffered::{BROKE_OFF, blamed};
use super::execution::{Answering, ChatRelayed, failed, failure_of};
use super::relay::{
    End, IdleEvent, IdleTimer, Relay, end_of, next_frame, reader_gone, ready_frame,
};
use crate::error::{ApiError, ErrorCode};
use crate::failover::Exhausted;
use crate::guardrail::Guardrail;
use crate::idempotency::StoredResponse;
use crate::operation::{PricedOperation as _, RelayEnd};
use crate::reservation::Extended;
use crate::response::{self, Responder, Response, set_dropped, set_ending, set_warnings};
use crate::stream_history::Streamed;

/// How an upstream that broke off is told and recorded.
const UPSTREAM_FAILED: ErrorCode = ErrorCode::UpstreamFailed;
const FAILED: Outcome = Outcome::UpstreamFailed;
/// Pieces that may wait for a reader before the upstream is no longer read.
const WAITING_PIECES: usize = 8;
/// What is ready goes to the reader in one piece, up to about so many bytes.
const GATHERED_BYTES: usize = 16_384;
/// How long a stream waits for more money while the ledger cannot be reached.
const BOOKS_WAIT: Duration = Duration::from_secs(10);
const BOOKS_PAUSE: Duration = Duration::from_millis(200);

/// A frame of the upstream, and what it is.
pub(super) struct ReadFrame {
    kind: FrameKind,
    frame: Frame,
}

impl Answering<'_> {
    pub(super) async fn stream(
        mut self,
        mut answer: UpstreamResponse,
        early: Vec<Bytes>,
        mut responder: Responder,
    ) -> RelayEnd<ChatRelayed> {
        let mut frames = Frames::default();
        early.iter().for_each(|piece| frames.push(piece));
        let (pieces, receiver) = mpsc::channel(WAITING_PIECES);
        let mut relay = self.open_relay(Some(pieces), &answer);
        let outlives = self.quoted.outlives_client();
        let waiting = (!outlives).then_some(&mut responder);
        let first = match self
            .first(&mut answer, &mut frames, &mut relay, waiting)
            .await
        {
            Ok(Some(first)) => first,
            Ok(None) => return RelayEnd::ClientGone,
            Err(exhausted) => return RelayEnd::Failed(ChatRelayed::Unsent(responder), exhausted),
        };
        let response = self.head(receiver);
        relay.record = self.stored_head(&response);
        relay.gone = responder.send(Ok(response)).is_err();
        if relay.gone && !outlives {
            return RelayEnd::ClientGone;
        }
        let mut end = self
            .relay(&mut answer, &mut frames, Some(first), &mut relay)
            .await;
        if let End::ClientGone = end {
            end = self
                .after_leaving(&mut answer, &mut frames, &mut relay)
                .await;
        }
        // Whatever the upstream would still do is not wanted any more.
        drop(answer);
        self.context.upstream_ended();
        if self.context.is_traced() {
            self.note_facts(relay.follow.facts());
        }
        self.note_end(&mut relay, &end);
        self.relayed(relay, end)
    }

    /// The first frame, which decides whether this is an answer at all: until then a failure still has a status
    /// of its own. None when the reader leaves before it comes.
    pub(super) async fn first(
        &self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
        waiting: Option<&mut Responder>,
    ) -> Result<Option<ReadFrame>, Exhausted> {
        let first = first_frame(answer, frames, &mut relay.patience, waiting).await;
        let frame = match first {
            None => return Ok(None),
            Some(Ok(Some(frame))) => frame,
            Some(Ok(None)) => return Err(self.fail_early(UPSTREAM_FAILED, FAILED, None)),
            Some(Err(error)) => {
                let (code, outcome) = failure_of(&error);
                return Err(self.fail_early(code, outcome, None));
            }
        };
        let kind = relay.follow.observe(&frame);
        if let FrameKind::Error(_) | FrameKind::Invalid = &kind {
            return Err(self.fail_early(UPSTREAM_FAILED, FAILED, kind.error()));
        }
        Ok(Some(ReadFrame { kind, frame }))
    }

    /// What the end of a stream says: how fast its channel is, or that its account ran out of money so often
    /// that the operator bears no more of what is not told.
    pub(super) fn note_end(&self, relay: &mut Relay, end: &End) {
        match (end, relay.follow.reported()) {
            (End::Done, Some(reported)) => {
                let streamed = Streamed {
                    output: reported.output(),
                    thoughts: reported.reasoning.unwrap_or(0),
                    took: self.context.attempt_time(),
                };
                let streams = &self.upstream.channel.health.streams;
                streams.record(self.quoted.request.model(), &streamed);
            }
            (End::Exhausted, None) if !self.bears_untold(relay) => {
                relay.fair_output = Some(self.fair_output(relay));
            }
            (
                End::Done | End::ClientGone | End::Exhausted | End::Failed(..) | End::Unavailable,
                _,
            ) => {}
        }
    }

    /// Without a reader its frames are assembled.
    pub(super) fn open_relay(
        &self,
        pieces: Option<mpsc::Sender<Bytes>>,
        answer: &UpstreamResponse,
    ) -> Relay {
        let quoted = &self.quoted;
        let guardrail = self.services.guardrail.as_ref();
        let most = self.services.settings.max_answer_bytes;
        let follow = match &pieces {
            Some(_) => quoted.adapter(self.services, &self.upstream),
            None => quoted.assembling_adapter(&self.upstream, most),
        };
        Relay {
            pieces,
            context: Arc::clone(self.context),
            reader_wait: self.services.settings.accept.reader_wait,
            follow,
            request: quoted.call.id,
            list: quoted.as_json_array.then(ArrayFrames::default),
            gathered: Vec::new(),
            gathered_bytes: 0,
            patience: IdleTimer::with(answer),
            excerpt: Vec::new(),
            excerpt_most: guardrail.map_or(0, Guardrail::max_bytes),
            record: None,
            gone: false,
            finishes: quoted.call.finishes_streams(),
            fair_output: None,
            ending: None,
            last: None,
        }
    }

    fn head(&self, receiver: mpsc::Receiver<Bytes>) -> Response {
        let mut response = if self.quoted.as_json_array {
            response::pieces(receiver, "application/json; charset=utf-8")
        } else {
            response::events(receiver)
        };
        set_warnings(response.headers_mut(), &self.quoted.call.warnings());
        set_dropped(response.headers_mut(), &self.quoted.call.report);
        set_ending(response.headers_mut(), self.quoted.call.sale.model.entry());
        response
    }

    fn stored_head(&self, response: &Response) -> Option<StoredResponse> {
        let call = &self.quoted.call;
        call.idempotency.as_ref()?;
        let account = call.caller.account.id;
        let (status, headers) = (response.status(), response.headers());
        Some(StoredResponse::begin(
            self.services,
            account,
            status,
            headers,
        ))
    }

    /// Nothing has been sent yet, so there is a status for it.
    fn fail_early(
        &self,
        code: ErrorCode,
        outcome: Outcome,
        refusal: Option<&UpstreamError>,
    ) -> Exhausted {
        if let Some(exhausted) = blamed(self.services, refusal) {
            return exhausted;
        }
        self.upstream_failed();
        let text = "the upstream failed before its answer began; nothing was charged";
        failed(code, outcome, text)
    }

    /// What the end of the stream means for its charge.
    fn relayed(&self, relay: Relay, end: End) -> RelayEnd<ChatRelayed> {
        let relayed = ChatRelayed::Stream(Box::new(relay));
        let outcome = match self.outcome_of(end) {
            Ok(outcome) => outcome,
            Err(exhausted) => return RelayEnd::Failed(relayed, *exhausted),
        };
        self.upstream.channel.health.record_success();
        let channel = Arc::clone(&self.upstream.channel);
        RelayEnd::charge(relayed, channel, outcome)
    }

    /// The outcome that an end is charged with, or why it is not charged.
    pub(super) fn outcome_of(&self, end: End) -> Result<Outcome, Box<Exhausted>> {
        match end {
            End::Done => Ok(Outcome::Complete),
            End::Exhausted => Ok(Outcome::BalanceExhausted),
            End::ClientGone => Ok(Outcome::ClientGone),
            End::Failed(code, outcome) => {
                self.upstream_failed();
                Err(Box::new(failed(code, outcome, BROKE_OFF)))
            }
            End::Unavailable => Err(Box::new(Exhausted {
                error: ApiError::unavailable(),
                outcome: Outcome::DatabaseAway,
            })),
        }
    }

    /// Passes frames on until there is a reason to stop. A frame that was read before comes first.
    pub(super) async fn relay(
        &mut self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        first: Option<ReadFrame>,
        relay: &mut Relay,
    ) -> End {
        let mut next = first;
        loop {
            if let Some(read) = next
                && let Some(end) = self.pass_on(&read, relay)
            {
                return relay.end(end).await;
            }
            let written = relay.follow.written();
            if relay.gathered_bytes >= GATHERED_BYTES || self.must_hold_more(written) {
                if !relay.flush().await {
                    return End::ClientGone;
                }
                if let Some(end) = self.extend_hold(written).await {
                    return end;
                }
            }
            let frame = match self.gather_or_wait(answer, frames, relay).await {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    // Some upstreams end without a terminal frame; a reason to stop is as good.
                    let (fine, rest) = relay.follow.may_end();
                    relay.gather(rest);
                    let failed = End::Failed(ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);
                    let end = if fine { End::Done } else { failed };
                    return relay.end(end).await;
                }
                Err(end) => return end,
            };
            let kind = relay.follow.observe(&frame);
            next = Some(ReadFrame { kind, frame });
        }
    }

    /// Gathers what the reader gets of a frame. Some end if it is the last.
    fn pass_on(&self, read: &ReadFrame, relay: &mut Relay) -> Option<End> {
        self.assign_public_id(relay);
        let out = relay.follow.out(&read.frame, &read.kind);
        out.into_iter().for_each(|bytes| relay.gather(bytes));
        let failed = End::Failed(ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);
        if relay.follow.is_overfull() {
            return Some(failed);
        }
        match &read.kind {
            FrameKind::Done | FrameKind::Last => Some(End::Done),
            FrameKind::Error(_) | FrameKind::Invalid => Some(failed),
            FrameKind::Held | FrameKind::Empty | FrameKind::Content => None,
        }
    }

    /// The caller's id of the answer, as soon as the upstream's is known.
    fn assign_public_id(&self, relay: &mut Relay) {
        if self.upstream.to != trunkline_wire::Format::OpenaiResponses {
            return;
        }
        let Some(upstream) = relay.follow.unnamed() else {
            return;
        };
        let stores = self.quoted.request.facts.stores;
        let quoted = &self.quoted;
        let id = quoted.sealed_id(self.services, &self.upstream, upstream, stores);
        relay.follow.name(id);
    }

    /// The next frame. What was gathered goes out before anything is waited for; what is ready, or
    /// becomes so while others have their turn, joins it first: a write for each event is what costs
    /// most when many streams run.
    async fn gather_or_wait(
        &self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
    ) -> Result<Option<Frame>, End> {
        if relay.gathered_bytes > 0 {
            if let Some(next) = ready_frame(answer, frames).await {
                return match next {
                    Ok(next) => Ok(next),
                    Err(error) => Err(relay.end(end_of(&error)).await),
                };
            }
            if !relay.flush().await {
                return Err(End::ClientGone);
            }
        }
        self.next_or_heartbeat(answer, frames, relay).await
    }

    async fn next_or_heartbeat(
        &self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
    ) -> Result<Option<Frame>, End> {
        relay.patience.hear();
        loop {
            let outlives = relay.outlives();
            let next = tokio::select! {
                next = next_frame(answer, frames) => Ok(next),
                silence = relay.patience.end() => Err(silence),
                () = reader_gone(relay.pieces.as_ref()), if !outlives => return Err(End::ClientGone),
            };
            match next {
                Ok(next) => return next.map_err(|error| end_of(&error)),
                Err(IdleEvent::Overdue) => return Err(end_of(&BodyError::Stalled)),
                Err(IdleEvent::Heartbeat) => {
                    if !relay
                        .send(Bytes::from_static(heartbeat(relay.follow.caller())))
                        .await
                    {
                        return Err(End::ClientGone);
                    }
                }
            }
        }
    }

    /// Whether the hold is no longer far enough ahead of what was written.
    fn must_hold_more(&self, written: u64) -> bool {
        let margin = self.services.settings.tranche_tokens.max(1).div_euclid(4);
        self.quoted.held_output_tokens < self.quoted.most_output()
            && written.saturating_add(margin) >= self.quoted.held_output_tokens
    }

    /// Keeps the hold ahead of what was written. Some end if that is not possible any more.
    async fn extend_hold(&mut self, written: u64) -> Option<End> {
        let tranche = self.services.settings.tranche_tokens.max(1);
        let most = self.quoted.most_output();
        if !self.must_hold_more(written) {
            return None;
        }
        let began = Instant::now();
        loop {
            let output_tokens = self
                .quoted
                .held_output_tokens
                .saturating_add(tranche)
                .min(most);
            let Ok(total) = self.quoted.bound(output_tokens) else {
                return Some(End::Exhausted);
            };
            match self.reservation.extend(total).await {
                Extended::Whole => {
                    self.quoted.held_output_tokens = output_tokens;
                    return None;
                }
                Extended::Short(_) => {
                    let tokens = self.quoted.affordable(self.reservation.held).unwrap_or(0);
                    self.quoted.held_output_tokens = self.quoted.held_output_tokens.max(tokens);
                    return (written >= self.quoted.held_output_tokens).then_some(End::Exhausted);
                }
                Extended::Unknown if written < self.quoted.held_output_tokens => return None,
                Extended::Unknown if began.elapsed() > BOOKS_WAIT => return Some(End::Unavailable),
                Extended::Unknown => tokio::time::sleep(BOOKS_PAUSE).await,
            }
        }
    }
}

/// The first frame; none when the reader leaves before it comes.
async fn first_frame(
    answer: &mut UpstreamResponse,
    frames: &mut Frames,
    patience: &mut IdleTimer,
    mut responder: Option<&mut Responder>,
) -> Option<Result<Option<Frame>, BodyError>> {
    loop {
        // A client whose call goes on without it is not waited for.
        let closed = async {
            match &mut responder {
                Some(responder) => responder.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            first = next_frame(answer, frames) => return Some(first),
            silence = patience.end() => match silence {
                IdleEvent::Overdue => return Some(Err(BodyError::Stalled)),
                // There is no stream yet that could show a sign of life.
                IdleEvent::Heartbeat => {}
            },
            () = closed => return None,
        }
    }
}

//! Answers that come in pieces. Pieces pass as they come; money is held ahead of them; the charge is
//! durable before the terminal frame leaves.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_terms::Money;
use trunkline_upstream::{Answer, BodyError};
use trunkline_wire::gemini::ArrayFrames;
use trunkline_wire::{Cost, Ending, Frame, Frames, Seen, UpstreamError, heartbeat};

use super::relay::{End, Patience, Relay, Silence, end_of, next_frame, ready_frame};
use super::{Call, FAILED, Responder, fault_of, tell};
use crate::error::{ApiError, ErrorCode};
use crate::failover::blamed;
use crate::reservation::Extended;
use crate::response::{self, set_ending, set_warnings};

/// Pieces that may wait for a reader before the upstream is no longer read.
const WAITING_PIECES: usize = 8;
/// What is ready goes to the reader in one piece, up to about so many bytes.
const GATHERED_BYTES: usize = 16_384;
/// How long a stream waits for more money while the books cannot be reached.
const BOOKS_WAIT: Duration = Duration::from_secs(10);
const BOOKS_PAUSE: Duration = Duration::from_millis(200);

impl Call {
    pub(super) async fn stream(
        mut self,
        mut answer: Answer,
        early: Vec<Bytes>,
        mut head: Responder,
    ) {
        let mut frames = Frames::default();
        early.iter().for_each(|piece| frames.push(piece));
        let (pieces, receiver) = mpsc::channel(WAITING_PIECES);
        let mut relay = Relay {
            pieces,
            context: Arc::clone(&self.context),
            reader_wait: self.services.inner.settings.reader_wait,
            follow: self.follow(),
            request: self.quoted.id,
            list: self.quoted.in_a_list.then(ArrayFrames::default),
            gathered: Vec::new(),
            gathered_bytes: 0,
            patience: Patience::with(&answer),
            record: None,
            gone: false,
        };
        let outlives = self.quoted.named.is_some();
        // The first frame decides whether this is an answer at all; until then a failure still has a
        // status of its own.
        let waits = (&mut relay.patience, (!outlives).then_some(&mut head));
        let first = match first_frame(&mut answer, &mut frames, waits).await {
            None => {
                drop(answer);
                return self.void(Outcome::Cancelled).await;
            }
            Some(Ok(Some(frame))) => (relay.follow.see(&frame), frame),
            Some(Ok(None)) => return self.fail_early(head, FAILED, None).await,
            Some(Err(error)) => return self.fail_early(head, fault_of(&error), None).await,
        };
        if let (Seen::Failed(_) | Seen::Garbage, _) = &first {
            return self.fail_early(head, FAILED, first.0.said()).await;
        }
        let mut reply = if self.quoted.in_a_list {
            response::pieces(receiver, "application/json; charset=utf-8")
        } else {
            response::events(receiver)
        };
        set_warnings(reply.headers_mut(), &self.quoted.warnings());
        set_ending(reply.headers_mut(), self.quoted.sale.model.entry());
        relay.record = self.record((reply.status(), reply.headers()));
        relay.gone = head.send(Ok(reply)).is_err();
        if relay.gone && !outlives {
            drop(answer);
            return self.void(Outcome::Cancelled).await;
        }
        let end = self
            .relay(&mut answer, &mut frames, first, &mut relay)
            .await;
        // Whatever the upstream would still do is not wanted any more.
        drop(answer);
        self.context.upstream_ended();
        if self.context.is_traced() {
            self.note_told(relay.follow.about());
        }
        self.finish(relay, end).await;
    }

    /// Nothing has been sent yet, so there is a status for it.
    async fn fail_early(
        self,
        head: Responder,
        (kind, outcome): (ErrorCode, Outcome),
        said: Option<&UpstreamError>,
    ) {
        if let Some(fault) = said.and_then(|said| blamed(&self.services, said)) {
            self.void(Outcome::Refused).await;
            return tell(head, Err(fault));
        }
        self.upstream_failed();
        self.void(outcome).await;
        let text = "the upstream failed before its answer began; nothing was charged";
        tell(head, Err(ApiError::new(kind, text)));
    }

    /// Passes frames on until there is a reason to stop.
    async fn relay(
        &mut self,
        answer: &mut Answer,
        frames: &mut Frames,
        first: (Seen, Frame),
        relay: &mut Relay,
    ) -> End {
        let (mut seen, mut frame) = first;
        loop {
            self.give_name(relay);
            let out = relay.follow.out(&frame, &seen);
            out.into_iter().for_each(|bytes| relay.gather(bytes));
            match seen {
                Seen::Done | Seen::Last => return relay.end(End::Done).await,
                Seen::Failed(_) | Seen::Garbage => {
                    let end = End::Failed(ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);
                    return relay.end(end).await;
                }
                Seen::Held if relay.follow.is_overfull() => {
                    let end = End::Failed(ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);
                    return relay.end(end).await;
                }
                Seen::Held | Seen::Nothing | Seen::Piece => {}
            }
            let written = relay.follow.written();
            if relay.gathered_bytes >= GATHERED_BYTES || self.must_hold_more(written) {
                if !relay.flush().await {
                    return End::ClientGone;
                }
                if let Some(end) = self.hold_ahead(written).await {
                    return end;
                }
            }
            let next = self.gather_or_wait(answer, frames, relay).await;
            frame = match next {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    // Some upstreams end without a word; a reason to stop is as good.
                    let (fine, rest) = relay.follow.may_end();
                    relay.gather(rest);
                    let failed = End::Failed(ErrorCode::UpstreamFailed, Outcome::UpstreamFailed);
                    let end = if fine { End::Done } else { failed };
                    return relay.end(end).await;
                }
                Err(end) => return end,
            };
            seen = relay.follow.see(&frame);
        }
    }

    /// The caller's id of the answer, as soon as the upstream's is known.
    fn give_name(&self, relay: &mut Relay) {
        if self.to != trunkline_wire::Format::OpenaiResponses {
            return;
        }
        let Some(upstream) = relay.follow.unnamed() else {
            return;
        };
        let id = self.sealed_id(upstream, self.quoted.request.facts.stores);
        relay.follow.name(id);
    }

    /// The next frame. What was gathered goes out before anything is waited for; what is ready, or
    /// becomes so while others have their turn, joins it first: a write for each event is what costs
    /// most when many streams run.
    async fn gather_or_wait(
        &self,
        answer: &mut Answer,
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
        answer: &mut Answer,
        frames: &mut Frames,
        relay: &mut Relay,
    ) -> Result<Option<Frame>, End> {
        relay.patience.hear();
        loop {
            let outlives = relay.outlives();
            let next = tokio::select! {
                next = next_frame(answer, frames) => Ok(next),
                silence = relay.patience.end() => Err(silence),
                () = relay.pieces.closed(), if !outlives => return Err(End::ClientGone),
            };
            match next {
                Ok(next) => return next.map_err(|error| end_of(&error)),
                Err(Silence::Overdue) => return Err(end_of(&BodyError::Stalled)),
                Err(Silence::Heartbeat) => {
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
        let margin = self
            .services
            .inner
            .settings
            .tranche_tokens
            .max(1)
            .div_euclid(4);
        self.quoted.covered < self.quoted.most_output()
            && written.saturating_add(margin) >= self.quoted.covered
    }

    /// Keeps the hold ahead of what was written. Some end if that is not possible any more.
    async fn hold_ahead(&mut self, written: u64) -> Option<End> {
        let tranche = self.services.inner.settings.tranche_tokens.max(1);
        let most = self.quoted.most_output();
        if !self.must_hold_more(written) {
            return None;
        }
        let began = Instant::now();
        loop {
            let wanted = self.quoted.covered.saturating_add(tranche).min(most);
            let Ok(total) = self.quoted.bound(wanted) else {
                return Some(End::Exhausted);
            };
            match self.reservation.extend(total).await {
                Extended::To(_) => {
                    self.quoted.covered = wanted;
                    return None;
                }
                Extended::Fits(fits) => {
                    self.take_the_rest(fits).await;
                    return (written >= self.quoted.covered).then_some(End::Exhausted);
                }
                Extended::Unknown if written < self.quoted.covered => return None,
                Extended::Unknown if began.elapsed() > BOOKS_WAIT => return Some(End::Unavailable),
                Extended::Unknown => tokio::time::sleep(BOOKS_PAUSE).await,
            }
        }
    }

    async fn take_the_rest(&mut self, fits: Money) {
        let Some(tokens) = self.quoted.affordable(fits) else {
            return;
        };
        if tokens <= self.quoted.covered {
            return;
        }
        if let Ok(total) = self.quoted.bound(tokens)
            && let Extended::To(_) = self.reservation.extend(total).await
        {
            self.quoted.covered = tokens;
        }
    }

    /// Meters, settles, and says the last words.
    async fn finish(mut self, mut relay: Relay, end: End) {
        let outcome = match end {
            End::Done => Outcome::Complete,
            End::Exhausted => {
                self.quoted.later.push("balance_exhausted");
                Outcome::BalanceExhausted
            }
            End::ClientGone => Outcome::ClientGone,
            End::Failed(kind, outcome) => {
                self.upstream_failed();
                self.void(outcome).await;
                let text =
                    "the upstream broke off in the middle of its answer; nothing was charged";
                return relay.break_off(&ApiError::new(kind, text)).await;
            }
            End::Unavailable => {
                self.void(Outcome::DatabaseAway).await;
                return relay.break_off(&ApiError::unavailable()).await;
            }
        };
        self.channel.went_well();
        let follow = &relay.follow;
        let counted = self.quoted.estimate(follow.told_input(), follow.written());
        let mut metered = match self.meter(follow.told(), counted) {
            Ok(metered) => metered,
            Err(fault) => {
                self.void(Outcome::UpstreamFailed).await;
                return relay.break_off(&fault).await;
            }
        };
        let wants_usage = self.quoted.request.facts.wants_usage;
        let counted = metered.counted.clone();
        let (tier, units) = (metered.price.tier.clone(), metered.price.units.clone());
        self.make_certain(&mut metered).await;
        let total = metered.price.amount;
        let mut ending = Ending {
            counted,
            cost: Cost { total, tier, units },
            exhausted: outcome == Outcome::BalanceExhausted,
            wants_usage,
        };
        // What is kept has its last words before the charge; nobody hears them before it is durable.
        let record = relay.record.take();
        let last = record.map(|mut record| {
            let last = relay.last_words(&ending);
            record.add(&last);
            (last, record)
        });
        let (last, record) = last.unzip();
        match (self.settle(metered, outcome, record).await, last) {
            (Ok(_), Some(last)) => {
                relay.pass(last).await;
            }
            (Ok(total), None) => {
                ending.cost.total = total;
                relay.say_goodbye(&ending).await;
            }
            (Err(fault), _) => relay.break_off(&fault).await,
        }
    }
}

/// The first frame; none when the reader leaves before it comes.
async fn first_frame(
    answer: &mut Answer,
    frames: &mut Frames,
    (patience, mut head): (&mut Patience, Option<&mut Responder>),
) -> Option<Result<Option<Frame>, BodyError>> {
    loop {
        // Nobody is waited for whose call goes on without them.
        let closed = async {
            match &mut head {
                Some(head) => head.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            first = next_frame(answer, frames) => return Some(first),
            silence = patience.end() => match silence {
                Silence::Overdue => return Some(Err(BodyError::Stalled)),
                // There is no stream yet that could show a sign of life.
                Silence::Heartbeat => {}
            },
            () = closed => return None,
        }
    }
}

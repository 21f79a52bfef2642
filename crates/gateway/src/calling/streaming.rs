//! Answers that come in pieces. Pieces pass as they come; money is held ahead of them; the charge is
//! durable before the terminal frame leaves.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;
use trunkline_ledger::Outcome;
use trunkline_terms::{Money, Usage};
use trunkline_upstream::{Answer, BodyError};
use trunkline_wire::openai_chat::{Cost, Seen, Tap, Told};
use trunkline_wire::{Frame, Frames};

use super::{Call, Head, tell};
use crate::admitted::Extended;
use crate::asking::blamed;
use crate::fault::{Fault, Kind};
use crate::reply::{self, set_warnings};
use crate::story::Story;

/// Frames that may wait for a reader before the upstream is no longer read.
const WAITING_FRAMES: usize = 64;
/// A sign of life while the upstream thinks.
const HEARTBEAT: Duration = Duration::from_secs(15);
const WAITING: &[u8] = b": waiting\n\n";
/// How long a stream waits for more money while the books cannot be reached.
const BOOKS_WAIT: Duration = Duration::from_secs(10);
const BOOKS_PAUSE: Duration = Duration::from_millis(200);

/// Why the reading of a stream ended.
enum End {
    /// The upstream said that it was done, or at least why it stopped.
    Done,
    /// The money did not reach further.
    Exhausted,
    /// The reader has gone.
    ClientGone,
    /// The upstream failed.
    Failed(Kind, Outcome),
    /// Our books cannot be reached.
    Unavailable,
}

/// The way to the reader, and what is kept for the end.
struct Relay {
    pieces: mpsc::Sender<Bytes>,
    story: Arc<Story>,
    reader_wait: Duration,
    tap: Tap,
    rename: Option<String>,
    /// The frame with usage, for those who asked.
    usage_frame: Option<Frame>,
}

impl Call {
    pub(super) async fn stream(mut self, mut answer: Answer, mut head: Head) {
        let mut frames = Frames::default();
        let (pieces, receiver) = mpsc::channel(WAITING_FRAMES);
        let mut relay = Relay {
            pieces,
            story: Arc::clone(&self.story),
            reader_wait: self.gateway.inner.settings.reader_wait,
            tap: Tap::default(),
            rename: self.rename(),
            usage_frame: None,
        };
        // The first frame decides whether this is an answer at all; until then a failure still has a
        // status of its own.
        let first = tokio::select! {
            first = next_frame(&mut answer, &mut frames) => first,
            () = head.closed() => {
                drop(answer);
                return self.void(Outcome::Cancelled).await;
            }
        };
        let first = match first.map(|frame| frame.map(|frame| (relay.tap.see(&frame), frame))) {
            Ok(Some((Seen::Failed(said), _))) => {
                if let Some(fault) = blamed(&self.gateway, &said) {
                    self.void(Outcome::Refused).await;
                    return tell(head, Err(fault));
                }
                return self
                    .fail_early(head, Kind::UpstreamFailed, Outcome::UpstreamFailed)
                    .await;
            }
            Ok(Some((Seen::Garbage, _)) | None)
            | Err(BodyError::Broken(_) | BodyError::TooLarge(_)) => {
                return self
                    .fail_early(head, Kind::UpstreamFailed, Outcome::UpstreamFailed)
                    .await;
            }
            Err(BodyError::Stalled) => {
                return self
                    .fail_early(head, Kind::UpstreamTimeout, Outcome::UpstreamTimeout)
                    .await;
            }
            Ok(Some((seen, frame))) => (seen, frame),
        };
        let mut reply = reply::events(receiver);
        set_warnings(reply.headers_mut(), &self.quoted.warnings);
        if head.send(Ok(reply)).is_err() {
            drop(answer);
            return self.void(Outcome::Cancelled).await;
        }
        let end = self
            .relay(&mut answer, &mut frames, first, &mut relay)
            .await;
        // Whatever the upstream would still do is not wanted any more.
        drop(answer);
        self.story.upstream_ended();
        if self.story.is_traced() {
            self.note_told(Told {
                model: relay.tap.model().to_owned(),
                finishes: relay.tap.finishes().to_vec(),
            });
        }
        self.finish(relay, end).await;
    }

    async fn fail_early(self, head: Head, kind: Kind, outcome: Outcome) {
        self.upstream_failed();
        self.void(outcome).await;
        let text = "the upstream failed before its answer began; nothing was charged";
        tell(head, Err(Fault::new(kind, text)));
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
            match seen {
                Seen::Done => return End::Done,
                Seen::Failed(_) | Seen::Garbage => {
                    return End::Failed(Kind::UpstreamFailed, Outcome::UpstreamFailed);
                }
                Seen::UsageOnly => relay.usage_frame = Some(frame),
                // What stands in a comment is the upstream's own business; that it lives is not.
                Seen::Nothing => {
                    if !relay.send(Bytes::from_static(WAITING)).await {
                        return End::ClientGone;
                    }
                }
                Seen::Piece => {
                    if !relay.pass(&frame).await {
                        return End::ClientGone;
                    }
                    if let Some(end) = self.hold_ahead(relay.tap.written()).await {
                        return end;
                    }
                }
            }
            let next = self.next_or_heartbeat(answer, frames, relay).await;
            frame = match next {
                Ok(Some(frame)) => frame,
                // Some upstreams end without a word; a reason to stop is as good.
                Ok(None) if relay.tap.finished() => return End::Done,
                Ok(None) => return End::Failed(Kind::UpstreamFailed, Outcome::UpstreamFailed),
                Err(end) => return end,
            };
            seen = relay.tap.see(&frame);
        }
    }

    async fn next_or_heartbeat(
        &self,
        answer: &mut Answer,
        frames: &mut Frames,
        relay: &Relay,
    ) -> Result<Option<Frame>, End> {
        let idle = self.gateway.inner.settings.stream_idle;
        let began = Instant::now();
        loop {
            let gone = relay.pieces.closed();
            let next = tokio::select! {
                next = tokio::time::timeout(HEARTBEAT, next_frame(answer, frames)) => next,
                () = gone => return Err(End::ClientGone),
            };
            match next {
                Ok(Ok(frame)) => return Ok(frame),
                Ok(Err(BodyError::Stalled)) => {
                    return Err(End::Failed(Kind::UpstreamTimeout, Outcome::UpstreamTimeout));
                }
                Ok(Err(BodyError::Broken(_) | BodyError::TooLarge(_))) => {
                    return Err(End::Failed(Kind::UpstreamFailed, Outcome::UpstreamFailed));
                }
                Err(_) if began.elapsed() >= idle => {
                    return Err(End::Failed(Kind::UpstreamTimeout, Outcome::UpstreamTimeout));
                }
                Err(_) => {
                    if !relay.send(Bytes::from_static(WAITING)).await {
                        return Err(End::ClientGone);
                    }
                }
            }
        }
    }

    /// Keeps the hold ahead of what was written. Some end if that is not possible any more.
    async fn hold_ahead(&mut self, written: u64) -> Option<End> {
        let tranche = self.gateway.inner.settings.tranche_tokens.max(1);
        let most = self.quoted.most_output();
        let margin = tranche.div_euclid(4);
        if self.quoted.covered >= most || written.saturating_add(margin) < self.quoted.covered {
            return None;
        }
        let began = Instant::now();
        loop {
            let wanted = self.quoted.covered.saturating_add(tranche).min(most);
            let Ok(total) = self.quoted.bound(wanted) else {
                return Some(End::Exhausted);
            };
            match self.admitted.extend(total).await {
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
            && let Extended::To(_) = self.admitted.extend(total).await
        {
            self.quoted.covered = tokens;
        }
    }

    /// Meters, settles, and says the last words.
    async fn finish(mut self, mut relay: Relay, end: End) {
        let outcome = match end {
            End::Done => Outcome::Complete,
            End::Exhausted => {
                self.quoted.warnings.push("balance_exhausted");
                Outcome::BalanceExhausted
            }
            End::ClientGone => Outcome::ClientGone,
            End::Failed(kind, outcome) => {
                self.upstream_failed();
                self.void(outcome).await;
                let text =
                    "the upstream broke off in the middle of its answer; nothing was charged";
                return relay.break_off(&Fault::new(kind, text)).await;
            }
            End::Unavailable => {
                self.void(Outcome::DatabaseAway).await;
                return relay.break_off(&Fault::unavailable()).await;
            }
        };
        self.live.went_well();
        let counted = self
            .quoted
            .estimate(relay.tap.told_input(), relay.tap.written());
        let metered = match self.meter(relay.tap.told(), counted) {
            Ok(metered) => metered,
            Err(fault) => {
                self.void(Outcome::UpstreamFailed).await;
                return relay.break_off(&fault).await;
            }
        };
        let wants_usage = self.quoted.request.wants_usage;
        let model = self.quoted.request.model.clone();
        let usage = metered.usage.clone();
        let (tier, units) = (metered.price.tier.clone(), metered.price.units.clone());
        match self.settle(metered, outcome).await {
            Ok(total) => {
                let exhausted = outcome == Outcome::BalanceExhausted;
                let usage = wants_usage.then_some(usage);
                let cost = Cost { total, tier, units };
                relay.say_goodbye(&model, exhausted, usage, &cost).await;
            }
            Err(fault) => relay.break_off(&fault).await,
        }
    }
}

// === impl Relay ===

impl Relay {
    async fn pass(&self, frame: &Frame) -> bool {
        let bytes = match &self.rename {
            Some(model) => frame.with_model(model),
            None => frame.raw.clone(),
        };
        self.send(bytes).await
    }

    /// False when the reader has gone, or takes nothing for too long.
    async fn send(&self, bytes: Bytes) -> bool {
        let length = u64::try_from(bytes.len()).unwrap_or(0);
        let sent = self.pieces.send_timeout(bytes, self.reader_wait).await;
        if sent.is_ok() {
            self.story.sent(length);
        }
        sent.is_ok()
    }

    /// The format's own error, then the end.
    async fn break_off(&mut self, fault: &Fault) {
        self.story.faulted(fault);
        let body = json!({
            "error": {
                "message": fault.message,
                "type": fault.kind.family(),
                "param": fault.param,
                "code": fault.kind.code(),
                "charged": false,
                "retryable": fault.kind.is_retryable(),
            }
        });
        self.send(Frame::of_data(body.to_string().as_bytes()).raw)
            .await;
    }

    /// Everything after the last piece, now that the charge is durable.
    async fn say_goodbye(
        &mut self,
        model: &str,
        exhausted: bool,
        usage: Option<Usage>,
        cost: &Cost,
    ) {
        let mut last = Vec::new();
        if exhausted {
            last.extend_from_slice(&self.tap.length_frame(model));
        }
        if let Some(usage) = usage {
            let frame = self
                .tap
                .usage_frame(self.usage_frame.as_ref(), model, &usage, cost);
            last.extend_from_slice(&frame);
        }
        last.extend_from_slice(format!(": trunkline-cost-usd={}\n\n", cost.total).as_bytes());
        last.extend_from_slice(b"data: [DONE]\n\n");
        self.send(Bytes::from(last)).await;
    }
}

async fn next_frame(answer: &mut Answer, frames: &mut Frames) -> Result<Option<Frame>, BodyError> {
    loop {
        match frames.take() {
            Ok(Some(frame)) => return Ok(Some(frame)),
            Ok(None) => {}
            Err(error) => return Err(BodyError::Broken(error.to_string())),
        }
        match answer.piece().await? {
            Some(piece) => frames.push(&piece),
            None => return Ok(std::mem::take(frames).rest()),
        }
    }
}

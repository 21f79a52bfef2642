//! A stream whose client has left. The upstream is cancelled at once, unless it thinks without showing it:
//! then its usage is worth a bounded wait, because nothing else tells what it did. Or unless its account left
//! so often that the operator bears no more of it.

use tokio::time::{Instant, timeout_at};
use trunkline_types::{Bucket, Money, Usage};
use trunkline_upstream::UpstreamResponse;
use trunkline_wire::{FrameKind, Frames};

use super::execution::Answering;
use super::relay::{End, Relay, next_frame};

impl Answering<'_> {
    /// Reads what is worth it of a stream whose client has left. What the upstream has not told is estimated by
    /// the least that it can be, and the operator bears the difference up to a limit for each account and hour.
    /// Above it the stream is read to its end, which costs what staying would have cost.
    pub(super) async fn after_leaving(
        &mut self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
    ) -> End {
        let has_ended = self.read_on(answer, frames, relay).await;
        if self.bears_untold(relay) || has_ended {
            return End::ClientGone;
        }
        relay.gone = true;
        relay.finishes = true;
        match self.relay(answer, frames, None, relay).await {
            End::Done | End::ClientGone => End::ClientGone,
            other @ (End::Exhausted | End::Failed(..) | End::Unavailable) => other,
        }
    }

    /// Reads a stream whose client has left to its usage, where that is worth it and within its bounds. True if
    /// nothing more comes.
    async fn read_on(
        &self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
    ) -> bool {
        // An upstream that has said why it stopped writes nothing more but its usage.
        let is_worth_it = self.thinks_unseen() || relay.follow.is_finished();
        if !is_worth_it || relay.follow.reported().is_some() {
            return false;
        }
        let settings = &self.services.settings;
        let Some(until) = Instant::now().checked_add(settings.read_on) else {
            return false;
        };
        let before = relay.follow.written();
        loop {
            let frame = match timeout_at(until, next_frame(answer, frames)).await {
                Ok(Ok(Some(frame))) => frame,
                Ok(Ok(None) | Err(_)) => return true,
                Err(_elapsed) => return false,
            };
            let seen = relay.follow.observe(&frame);
            match seen {
                FrameKind::Done | FrameKind::Last | FrameKind::Error(_) | FrameKind::Invalid => {
                    return true;
                }
                FrameKind::Held | FrameKind::Empty | FrameKind::Content => {}
            }
            // Nothing of it goes anywhere.
            drop(relay.follow.out(&frame, &seen));
            if relay.follow.reported().is_some() || relay.follow.is_overfull() {
                return true;
            }
            let written = relay.follow.written().saturating_sub(before);
            if self.output_price(written) > settings.read_on_usd {
                return false;
            }
        }
    }

    /// Whether the operator bears what the upstream has not told, for this account too.
    pub(super) fn bears_untold(&self, relay: &Relay) -> bool {
        let untold = self.untold(relay);
        untold.is_none_or(|amount| self.bears(amount))
    }

    /// By how much the least that a stream can have used is below a fair guess at it; none where the upstream
    /// told all of it.
    fn untold(&self, relay: &Relay) -> Option<Money> {
        let follow = &relay.follow;
        if follow.reported().is_some() {
            return None;
        }
        let quoted = &self.quoted;
        let price = |usage: &Usage| quoted.exact(usage).ok().map(|price| price.amount);
        let input = follow.reported_input();
        let fair = price(&quoted.estimate(input.clone(), self.fair_output(relay)))?;
        let least = price(&quoted.estimate_left(input, follow.least_written()))?;
        let untold = fair.checked_sub(least).ok()?;
        (untold > Money::ZERO).then_some(untold)
    }

    /// Output tokens by a fair guess. What is thought unseen is guessed by the channel's median speed, which may
    /// be above the truth: this bounds what the operator bears, and is no estimate of what a client that left
    /// has used.
    pub(super) fn fair_output(&self, relay: &Relay) -> u64 {
        let written = relay.follow.written();
        let thought = if self.thinks_unseen() {
            let streams = &self.upstream.channel.health.streams;
            streams.tokens_in(self.context.attempt_time())
        } else {
            0
        };
        written.max(thought).min(self.quoted.most_output())
    }

    /// Whether the operator bears this amount for the account too.
    fn bears(&self, amount: Money) -> bool {
        let services = self.services;
        let account = self.quoted.call.caller.account.id;
        let most = services.settings.cancelled_input_usd;
        let borne = &services.cancelled_input;
        borne.bears(account, amount, most, services.now())
    }

    /// Whether the model thinks and does not show it, by its record or by what its channel told before.
    pub(super) fn thinks_unseen(&self) -> bool {
        let model = self.quoted.request.model();
        self.quoted.call.sale.model.entry().reasons()
            || self.upstream.channel.health.streams.is_reasoner(model)
    }

    /// What so many tokens of output cost, at most.
    fn output_price(&self, tokens: u64) -> Money {
        let usage = Usage::unknown().with(Bucket::PlainOutput, tokens);
        let price = self.quoted.exact(&usage);
        price.map_or(Money::MAX, |price| price.amount)
    }
}

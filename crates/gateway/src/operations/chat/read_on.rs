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
    /// Reads what is worth it of a stream whose client has left. Input that the upstream has not told is
    /// estimated in the caller's favour, and the operator bears the difference up to a limit for each account
    /// and hour. Above it the stream is read to its end, which costs what staying would have cost.
    pub(super) async fn after_leaving(
        &mut self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
    ) -> End {
        let has_ended = self.read_on(answer, frames, relay).await;
        let untold = self.untold_input(relay);
        if untold.is_none_or(|amount| self.bears(amount)) || has_ended {
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

    /// By how much the estimate of the input is below a fair guess at it; none where the upstream told it.
    fn untold_input(&self, relay: &Relay) -> Option<Money> {
        let follow = &relay.follow;
        if follow.reported().is_some() || follow.reported_input().is_some() {
            return None;
        }
        let quoted = &self.quoted;
        let price = |usage: &Usage| quoted.exact(usage).ok().map(|price| price.amount);
        let fair = price(&quoted.estimate(None, 0))?;
        let least = price(&quoted.estimate_left(None, 0))?;
        let untold = fair.checked_sub(least).ok()?;
        (untold > Money::ZERO).then_some(untold)
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

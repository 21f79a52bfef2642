//! A stream whose client has left. The upstream is cancelled at once, unless it thinks without showing it:
//! then its usage is worth a bounded wait, because nothing else tells what it did.

use tokio::time::{Instant, timeout_at};
use trunkline_types::{Bucket, Money, Usage};
use trunkline_upstream::UpstreamResponse;
use trunkline_wire::{FrameKind, Frames};

use super::execution::Answering;
use super::relay::{Relay, next_frame};

impl Answering<'_> {
    /// Reads a stream whose client has left to its usage, where that is worth it.
    pub(super) async fn read_on(
        &self,
        answer: &mut UpstreamResponse,
        frames: &mut Frames,
        relay: &mut Relay,
    ) {
        // An upstream that has said why it stopped writes nothing more but its usage.
        let is_worth_it = self.thinks_unseen() || relay.follow.is_finished();
        if !is_worth_it || relay.follow.reported().is_some() {
            return;
        }
        let settings = &self.services.settings;
        let began = Instant::now();
        let Some(until) = began.checked_add(settings.read_on) else {
            return;
        };
        let before = relay.follow.written();
        loop {
            let Ok(Ok(Some(frame))) = timeout_at(until, next_frame(answer, frames)).await else {
                return;
            };
            match relay.follow.observe(&frame) {
                FrameKind::Done | FrameKind::Last | FrameKind::Error(_) | FrameKind::Invalid => {
                    return;
                }
                FrameKind::Held | FrameKind::Empty | FrameKind::Content => {}
            }
            // Nothing of it goes anywhere.
            drop(relay.follow.out(&frame, &FrameKind::Content));
            if relay.follow.reported().is_some() {
                return;
            }
            let written = relay.follow.written().saturating_sub(before);
            if self.output_price(written) > settings.read_on_usd {
                return;
            }
        }
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

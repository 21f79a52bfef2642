//! Limits of channels over all nodes: what an upstream allows us, so that it does not have to refuse.

use trunkline_limits::{
    CounterCost, CounterGroup, CounterKey, CounterKind as Counted, Grant, ScopeId,
};

use crate::channels::Channel;
use crate::limit_headers::seconds;
use crate::limit_rules::positive;
use crate::services::Services;

const CHANNEL: &str = "channel";

/// A place at a channel, held as long as the upstream works for us.
#[derive(Debug)]
pub(crate) struct ChannelPermit(pub(crate) Option<Grant>);

/// A channel has no place, and may have one in so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Saturated(pub(crate) u64);

/// A place at a channel for one call.
pub(crate) async fn channel_permit(
    services: &Services,
    channel: &Channel,
) -> Result<ChannelPermit, Saturated> {
    let requests = channel.row.requests_per_minute.and_then(positive);
    let at_once = channel.row.concurrent_calls.and_then(positive);
    if requests.is_none() && at_once.is_none() {
        return Ok(ChannelPermit(None));
    }
    let number = channel.row.id.number();
    let want = |kind, limit| CounterCost {
        key: CounterKey {
            scope: CHANNEL,
            id: ScopeId::Number(number),
            kind,
        },
        limit,
        amount: 1,
    };
    let wants = [
        requests.map(|limit| want(Counted::Requests, limit)),
        at_once.map(|limit| want(Counted::Concurrent, limit)),
    ];
    let wants = wants.into_iter().flatten().collect();
    match services
        .edge
        .limits
        .take(CounterGroup::new(CHANNEL, number), wants)
        .await
    {
        Ok(grant) => Ok(ChannelPermit(Some(grant))),
        Err(refused) => Err(Saturated(seconds(refused.retry_after))),
    }
}

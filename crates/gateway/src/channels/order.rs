//! In which order channels and their credentials are asked.
//!
//! Equals are drawn by rendezvous hashing: each has its own number for a seed, and the best one is first. So
//! every node draws the same without asking another one, and when one leaves, only its own calls move: a
//! conversation stays with the credential whose prompt cache it warmed.

use std::sync::Arc;

use trunkline_store::{Policy, RoutePolicy};

use super::{Channel, ChannelCredential, ChannelQuery, ChannelRegistry};
use crate::splitmix::mix;

/// Binary places of a logarithm.
const FRACTION: u32 = 20;

/// What of a caller decides about routes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteRules<'a> {
    /// The group that is charged.
    pub(crate) group: &'a str,
    /// The key's.
    pub(crate) policy: &'a Policy,
}

/// A channel with its rank: the lowest is asked first, equals are drawn by weight.
struct Ranked<'a> {
    channel: &'a Arc<Channel>,
    rank: (u64, i32),
    draw: u64,
}

impl ChannelRegistry {
    /// The channels of a model that have what a key demands, in the order in which they are to be asked: by
    /// the key's policy, then by priority, then drawn by weight. Those that calls of other accounts had to
    /// leave come after them, and those that are skipped for what other accounts met come last.
    pub(crate) fn order(
        &self,
        query: ChannelQuery<'_>,
        rules: RouteRules<'_>,
        seed: u64,
    ) -> Vec<Arc<Channel>> {
        let serving = self.by_model.get(query.model).into_iter().flatten();
        let usable = serving
            .filter(|channel| channel.row.serves(rules.group) && channel.qualifies(rules.policy))
            .filter_map(|channel| Some((channel, channel.credential(query, seed, &[])?)));
        let (mut good, mut doubted, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (channel, credential) in usable {
            let ranked = Ranked {
                channel,
                rank: rank(channel, query, rules),
                draw: weighted(seed, channel.row.id.number(), channel.row.weight),
            };
            if !channel.health.is_open(query) {
                if channel.health.is_last_resort(query) {
                    last.push(ranked);
                }
            } else if credential.is_doubted(query) || channel.health.is_left_alone(query.now) {
                doubted.push(ranked);
            } else {
                good.push(ranked);
            }
        }
        let mut ordered = Vec::with_capacity(good.len().saturating_add(doubted.len()));
        for mut part in [good, doubted, last] {
            part.sort_by_key(|it| (it.rank, it.draw));
            ordered.extend(part.into_iter().map(|it| Arc::clone(it.channel)));
        }
        ordered
    }
}

impl Channel {
    /// A credential that may be used for a call and was not tried for it; which one is drawn by the seed,
    /// first among those that no call had to leave.
    pub(crate) fn credential(
        &self,
        query: ChannelQuery<'_>,
        seed: u64,
        tried: &[i64],
    ) -> Option<&ChannelCredential> {
        let usable = self
            .credentials
            .iter()
            .filter(|credential| !tried.contains(&credential.id.number()))
            .filter(|credential| credential.is_usable(query));
        usable.min_by_key(|credential| {
            let draw = rendezvous(seed.rotate_left(17), credential.id.number());
            (credential.is_doubted(query), draw)
        })
    }
}

fn rank(channel: &Channel, query: ChannelQuery<'_>, rules: RouteRules<'_>) -> (u64, i32) {
    let first = match rules.policy.fields().policy.unwrap_or_default() {
        RoutePolicy::Priority => 0,
        RoutePolicy::Cheapest => cost(channel, query.model),
        RoutePolicy::Fastest => channel.health.speeds.rank(query.model, query.now),
    };
    (first, channel.row.priority)
}

/// What a channel bills us. One that does not tell is dearer than all that do.
fn cost(channel: &Channel, model: &str) -> u64 {
    let upstream = channel.upstream_model(model);
    let book = channel.cost.as_ref();
    let cost = book.and_then(|book| book.compared_usd(upstream));
    cost.map_or(u64::MAX, |cost| u64::try_from(cost.nanos()).unwrap_or(0))
}

/// The number of one of several equals for a seed.
fn rendezvous(seed: u64, id: i64) -> u64 {
    let own = mix(&mut id.cast_unsigned());
    mix(&mut (seed ^ own))
}

/// The same, so that the lowest of all is one's own as often as its weight says: the time until the first
/// event of a process with that rate.
fn weighted(seed: u64, id: i64, weight: u32) -> u64 {
    let time = below_one(rendezvous(seed, id)).wrapping_shl(FRACTION);
    time.checked_div(u64::from(weight.max(1))).unwrap_or(time)
}

/// The negative binary logarithm of a number as a part of 2^64, in units of 2^-20, without a float.
fn below_one(number: u64) -> u64 {
    let number = number | 1;
    let top = number.ilog2();
    // From one to below two, with 31 places behind the point; each square yields a place of the logarithm.
    let mut mantissa = number.wrapping_shl(63_u32.saturating_sub(top)) >> 32;
    let mut log = u64::from(top);
    for _ in 0..FRACTION {
        mantissa = mantissa.saturating_mul(mantissa) >> 31;
        let place = mantissa >> 32;
        log = (log << 1) | place;
        if place == 1 {
            mantissa >>= 1;
        }
    }
    64_u64.wrapping_shl(FRACTION).saturating_sub(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_are_drawn_by_weight_and_only_the_calls_of_one_that_leaves_move() {
        let first = |seed: u64, ids: &[(i64, u32)]| {
            let draws = ids.iter();
            let best = draws.min_by_key(|(id, weight)| weighted(seed, *id, *weight));
            best.unwrap().0
        };
        let all = [(1, 1), (2, 3), (3, 4)];
        let mut counts = [0; 4];
        for seed in 0..8_000 {
            let drawn = first(seed, &all);
            counts[usize::try_from(drawn).unwrap()] += 1;
            let rest = first(seed, &all[..2]);
            assert!(drawn == 3 || drawn == rest, "seed {seed}");
        }
        assert!((800..1_200).contains(&counts[1]), "{counts:?}");
        assert!((2_800..3_200).contains(&counts[2]), "{counts:?}");
        assert!((3_800..4_200).contains(&counts[3]), "{counts:?}");
    }
}

//! Random bytes of the operating system, made into what commands need.

use trunkline_keyring::{RandomError, RandomSource as _, SystemRandom};
use trunkline_types::{RANDOM_BYTES, RequestId, SHARDS, Shard, Timestamp};

pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    SystemRandom.fill(&mut bytes)?;
    Ok(bytes)
}

/// A fresh id of a moment.
pub(crate) fn request(at: Timestamp) -> Result<RequestId, RandomError> {
    Ok(RequestId::new(at, bytes::<RANDOM_BYTES>()?))
}

/// Any shard, all of them equally likely but for one part in a million million.
pub(crate) fn shard() -> anyhow::Result<Shard> {
    let number = u64::from_be_bytes(bytes()?).rem_euclid(u64::from(SHARDS));
    Ok(Shard::new(u16::try_from(number)?)?)
}

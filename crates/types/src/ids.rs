//! Typed ids. Rows that grow with traffic have a UUID v7 made here, so that a request id determines the partition
//! of its ledger rows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid, Version};

use crate::Timestamp;

/// Random bytes an id takes beside its time.
pub const RANDOM_BYTES: usize = 10;

/// Why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not the prefix and form of this kind of id.
    #[error("not an id of this kind")]
    Shape,
}

/// Identifies one call, its hold, its usage row and its transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Uuid);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(i64);

/// Names one running node of the data plane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(String);

/// A UUID v7 of a given time and given random bytes: pure, so tests can name their ids.
#[must_use]
pub fn uuid_v7(at: Timestamp, random: [u8; RANDOM_BYTES]) -> Uuid {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

// === impl RequestId ===

impl RequestId {
    #[must_use]
    pub fn new(at: Timestamp, random: [u8; RANDOM_BYTES]) -> Self {
        Self(uuid_v7(at, random))
    }

    /// The id as the database stores it.
    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.0
    }

    /// When the id was made, to the millisecond: its first 48 bits.
    #[must_use]
    pub fn made_at(self) -> Timestamp {
        let millis = self.0.as_u128().wrapping_shr(80);
        let micros = i64::try_from(millis).unwrap_or(0).saturating_mul(1_000);
        Timestamp::from_micros(micros)
    }

    /// An id from the database or a client; only UUID v7 is accepted.
    pub fn from_uuid(uuid: Uuid) -> Result<Self, IdError> {
        match uuid.get_version() {
            Some(Version::SortRand) => Ok(Self(uuid)),
            Some(_) | None => Err(IdError::Shape),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "req_{}", self.0.simple())
    }
}

impl FromStr for RequestId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("req_").ok_or(IdError::Shape)?;
        let one_form = hex.len() == 32
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !one_form {
            return Err(IdError::Shape);
        }
        Uuid::try_parse(hex)
            .map_err(|_| IdError::Shape)
            .and_then(Self::from_uuid)
    }
}

// === impl AccountId ===

impl AccountId {
    /// The id as the database stores it.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number in the database.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

// === impl KeyId ===

impl KeyId {
    /// The id as the database stores it.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number in the database.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

// === impl NodeId ===

impl NodeId {
    pub const MAX_CHARACTERS: usize = 64;

    /// A name of letters, digits, `-`, `_` and `.`.
    pub fn new(name: &str) -> Result<Self, IdError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > Self::MAX_CHARACTERS || !name.bytes().all(legal) {
            return Err(IdError::Shape);
        }
        Ok(Self(name.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_a_uuid_v7_in_exactly_one_spelling() {
        let id = RequestId::new(
            Timestamp::from_micros(1_700_000_000_000_000),
            [7; RANDOM_BYTES],
        );
        let text = id.to_string();
        assert!(text.starts_with("req_018bcfe56800"), "{text}");
        assert_eq!(text.parse(), Ok(id));
        assert_eq!(id.made_at(), Timestamp::from_micros(1_700_000_000_000_000));
        assert_eq!(
            text.to_uppercase().parse::<RequestId>(),
            Err(IdError::Shape)
        );
        assert_eq!(
            text.replace("req_", "task_").parse::<RequestId>(),
            Err(IdError::Shape)
        );
        assert_eq!(
            id.uuid().to_string().parse::<RequestId>(),
            Err(IdError::Shape)
        );
        assert_eq!(RequestId::from_uuid(Uuid::nil()), Err(IdError::Shape));
        let hex_of_v4 = format!("req_{}", "4b1dd3b4f5c94d3f8a6a1f1d2c3b4a59");
        assert_eq!(hex_of_v4.parse::<RequestId>(), Err(IdError::Shape));
    }

    #[test]
    fn ids_made_later_sort_later() {
        let early = RequestId::new(Timestamp::from_micros(1_000_000), [255; RANDOM_BYTES]);
        let late = RequestId::new(Timestamp::from_micros(2_000_000), [0; RANDOM_BYTES]);
        assert!(early < late && early.uuid() < late.uuid());
    }

    #[test]
    fn a_node_name_is_short_and_plain() {
        assert_eq!(NodeId::new("edge-1.eu_a").unwrap().as_str(), "edge-1.eu_a");
        for wrong in ["", "a b", "a/b", "é", &"a".repeat(65)] {
            assert_eq!(NodeId::new(wrong), Err(IdError::Shape), "{wrong:?}");
        }
        assert!(NodeId::new(&"a".repeat(64)).is_ok());
    }
}

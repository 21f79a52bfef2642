//! Tokens written to a prompt cache, under every name that vendors have for them. They are dearer than plain input,
//! so each name has its fixture (`crates/gateway/tests/providers`).

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::serde_helpers::count;

/// Writes by how long they live, as Anthropic and Alibaba tell them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct CacheLifetimes {
    #[serde(default, deserialize_with = "count")]
    ephemeral_5m_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    ephemeral_1h_input_tokens: Option<u64>,
}

/// The names that stand in the usage of OpenAI's formats, or in its details of the input. A vendor may use several
/// for the same tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct CacheWriteNames {
    /// OpenAI, OpenRouter.
    #[serde(default, deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
    /// Alibaba; servers that pass Anthropic's usage on.
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    /// LiteLLM.
    #[serde(default, deserialize_with = "count")]
    cache_creation_tokens: Option<u64>,
    /// New API and its relatives.
    #[serde(default, deserialize_with = "count")]
    cached_creation_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lifetimes")]
    cache_creation: Option<CacheLifetimes>,
}

impl CacheLifetimes {
    /// Writes of five minutes and of an hour. The sum is the upstream's; what it does not put to the hour are the
    /// five minutes of its default.
    pub(crate) fn of(self, total: Option<u64>) -> (Option<u64>, Option<u64>) {
        let hour = self.ephemeral_1h_input_tokens;
        match total {
            Some(total) => {
                let hour = hour.map(|hour| hour.min(total));
                (Some(total.saturating_sub(hour.unwrap_or(0))), hour)
            }
            None => (self.ephemeral_5m_input_tokens, hour),
        }
    }
}

impl CacheWriteNames {
    /// Writes of five minutes and of an hour; none if no name is there.
    pub(crate) fn writes(&self) -> Option<(u64, u64)> {
        let total = self
            .cache_write_tokens
            .or(self.cache_creation_input_tokens)
            .or(self.cache_creation_tokens)
            .or(self.cached_creation_tokens);
        let split = self.cache_creation.unwrap_or_default();
        match split.of(total) {
            (None, None) => None,
            (five_minutes, hour) => Some((five_minutes.unwrap_or(0), hour.unwrap_or(0))),
        }
    }
}

/// An object of lifetimes; anything else was not reported.
fn lifetimes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<CacheLifetimes>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_writes_are_found_under_every_name_of_a_vendor_and_counted_once() {
        for (usage, expected) in [
            (r#"{"cache_write_tokens":7}"#, Some((7, 0))),
            (r#"{"cache_creation_tokens":7}"#, Some((7, 0))),
            (r#"{"cached_creation_tokens":7}"#, Some((7, 0))),
            (r#"{"cache_creation_input_tokens":7}"#, Some((7, 0))),
            (
                r#"{"cache_creation":{"ephemeral_5m_input_tokens":7}}"#,
                Some((7, 0)),
            ),
            (
                r#"{"cache_creation_input_tokens":7,"cache_write_tokens":7,"cache_type":"ephemeral",
                    "cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":3}}"#,
                Some((4, 3)),
            ),
            (
                r#"{"cache_creation_input_tokens":2,"cache_creation":{"ephemeral_1h_input_tokens":9}}"#,
                Some((0, 2)),
            ),
            (r#"{"cache_write_tokens":0}"#, Some((0, 0))),
            (r#"{"cache_write_tokens":-1,"cache_creation":5}"#, None),
            (r#"{"cached_tokens":7}"#, None),
        ] {
            let names: CacheWriteNames = serde_json::from_str(usage).unwrap();
            assert_eq!(names.writes(), expected, "{usage}");
        }
    }
}

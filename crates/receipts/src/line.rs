//! The text of a line: JSON of fixed fields in a fixed order. It is hashed as it is, so a version of this program
//! that writes it in another way needs a new type of root.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A call. Amounts are what the wallets gained, so a charge is negative.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallLine {
    /// Its number in the account's chain, from 1.
    pub n: u64,
    pub kind: &'static str,
    pub id: String,
    /// When it was settled, to the microsecond.
    pub at: String,
    pub key: Option<i64>,
    pub model: String,
    pub endpoint: String,
    pub group: String,
    pub outcome: String,
    pub estimated: bool,
    pub tier: Option<String>,
    /// Billed units by face, in the order of their names.
    pub units: BTreeMap<String, Value>,
    /// The version of the prices, in hexadecimal.
    pub prices: String,
    pub paid_nanos: i64,
    pub trial_nanos: i64,
}

/// Money that moved otherwise: a payment, a refund, a correction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferLine {
    pub n: u64,
    pub kind: String,
    pub id: String,
    pub at: String,
    pub paid_nanos: i64,
    pub trial_nanos: i64,
}

/// What checking reads of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineFacts {
    pub(crate) n: u64,
    pub(crate) paid: i64,
    pub(crate) trial: i64,
}

/// Digits of a number in a line; more would not fit into what adds them up.
const MAX_DIGITS: usize = 18;

// === impl CallLine ===

impl CallLine {
    pub const KIND: &'static str = "charge";

    #[must_use]
    pub fn text(&self) -> String {
        // Strings and numbers cannot fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

// === impl TransferLine ===

impl TransferLine {
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

// === impl LineFacts ===

impl LineFacts {
    /// By its first field and its last two; no JSON parser is needed, so two verifiers cannot read it differently.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let numbered = text.strip_prefix(b"{\"n\":")?;
        let comma = numbered.iter().position(|byte| *byte == b',')?;
        let n = digits(numbered.get(..comma)?)?;
        let (rest, trial) = last_number(text.strip_suffix(b"}")?)?;
        let (rest, paid) = last_number(rest.strip_suffix(b",\"trial_nanos\":")?)?;
        rest.strip_suffix(b",\"paid_nanos\":")?;
        Some(Self { n, paid, trial })
    }
}

/// What stands before the number at the end, and the number.
fn last_number(text: &[u8]) -> Option<(&[u8], i64)> {
    let digits_from_end = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let length = digits_from_end.count();
    let (before, number) = text.split_at_checked(text.len().checked_sub(length)?)?;
    let value = i64::try_from(digits(number)?).ok()?;
    match before.strip_suffix(b"-") {
        Some(before) => Some((before, value.checked_neg()?)),
        None => Some((before, value)),
    }
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > MAX_DIGITS || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

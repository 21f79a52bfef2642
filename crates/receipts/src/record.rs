//! What is signed: the root of a day, and the end of a statement. A record is JSON of fixed fields in a fixed order;
//! the signature and the head are of its bytes.

use serde::{Deserialize, Serialize};

use crate::{Hash, PublicKey};

const DAY_TYPE: &str = "trunkline-root-v1";
const END_TYPE: &str = "trunkline-statement-v1";

/// An account's lines of a day, and the head that they follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayRecord {
    pub account: i64,
    /// The UTC day, `YYYY-MM-DD`.
    pub day: String,
    /// The number of its first line.
    pub first: u64,
    /// How many lines it has; at least one.
    pub lines: u64,
    pub root: Hash,
    /// The head of the day before it that has lines; [`Hash::ZERO`] for the first.
    pub previous: Hash,
    pub key: PublicKey,
}

/// What a statement says of itself: which days, and that there are no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndRecord {
    pub account: i64,
    pub from: String,
    pub to: String,
    pub days: u64,
    pub lines: u64,
    /// The head of its last day, or of the last one before it.
    pub head: Hash,
    pub key: PublicKey,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DayText {
    r#type: String,
    account: i64,
    day: String,
    first: u64,
    lines: u64,
    root: String,
    previous: String,
    key: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndText {
    r#type: String,
    account: i64,
    from: String,
    to: String,
    days: u64,
    lines: u64,
    head: String,
    key: String,
}

// === impl DayRecord ===

impl DayRecord {
    #[must_use]
    pub fn text(&self) -> String {
        let text = DayText {
            r#type: DAY_TYPE.to_owned(),
            account: self.account,
            day: self.day.clone(),
            first: self.first,
            lines: self.lines,
            root: self.root.to_string(),
            previous: self.previous.to_string(),
            key: self.key.to_string(),
        };
        serde_json::to_string(&text).unwrap_or_default()
    }

    #[must_use]
    pub fn head(&self) -> Hash {
        Hash::of_record(self.text().as_bytes())
    }

    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let read: DayText = serde_json::from_slice(text).ok()?;
        (read.r#type == DAY_TYPE).then_some(())?;
        Some(Self {
            account: read.account,
            day: read.day,
            first: read.first,
            lines: read.lines,
            root: Hash::parse(read.root.as_bytes())?,
            previous: Hash::parse(read.previous.as_bytes())?,
            key: PublicKey::parse(read.key.as_bytes())?,
        })
    }
}

// === impl EndRecord ===

impl EndRecord {
    #[must_use]
    pub fn text(&self) -> String {
        let text = EndText {
            r#type: END_TYPE.to_owned(),
            account: self.account,
            from: self.from.clone(),
            to: self.to.clone(),
            days: self.days,
            lines: self.lines,
            head: self.head.to_string(),
            key: self.key.to_string(),
        };
        serde_json::to_string(&text).unwrap_or_default()
    }

    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let read: EndText = serde_json::from_slice(text).ok()?;
        (read.r#type == END_TYPE).then_some(())?;
        Some(Self {
            account: read.account,
            from: read.from,
            to: read.to,
            days: read.days,
            lines: read.lines,
            head: Hash::parse(read.head.as_bytes())?,
            key: PublicKey::parse(read.key.as_bytes())?,
        })
    }
}

//! Paths of objects and of link targets.
//!
//! An object's path is `<day>/<shard>/<account>/<random id>.<extension>`: the day first, so that retention works on
//! whole days and never on one object's date. Every path has exactly one spelling; any other is invalid.

use std::fmt;

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, OffsetDateTime};
use trunkline_types::{AccountId, Shard, Timestamp};

use crate::ContentType;

/// Random bytes of an object's name, which make it unguessable and unique.
pub const PATH_RANDOM_BYTES: usize = 16;
/// Characters of a task's name behind `task_`.
pub const TASK_CHARACTERS: usize = 32;

/// Longest text that is read as a name: all parts at their longest have fewer.
const MAX_PATH_CHARACTERS: usize = 128;
const MAX_ENDING_CHARACTERS: usize = 8;
const DAY_FORMAT: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
const TASK_PREFIX: &str = "task_";
const TASK_WORD: &str = "task";

/// A day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(Date);

/// The name of a stored object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectPath {
    day: Day,
    shard: Shard,
    account: AccountId,
    id: [u8; PATH_RANDOM_BYTES],
    ending: String,
}

/// The name of a task, as customers see it: `task_` and 32 letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskName(String);

/// A task and its account: the target of a link before (and after) there is an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskPath {
    pub shard: Shard,
    /// The account of the task.
    pub account: AccountId,
    pub task: TaskName,
}

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MediaPath {
    /// An object of this store.
    Object(ObjectPath),
    /// The result of a task; the gateway knows where it is stored.
    Task(TaskPath),
}

/// Why a text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Not the form of such a name.
    #[error(
        "not a name of media: <day>/<shard>/<account>/<id>.<ending>, or task_ and 32 characters"
    )]
    Shape,
}

// === impl Day ===

impl Day {
    /// The day of a timestamp, clamped to the calendar.
    pub(crate) fn of(at: Timestamp) -> Self {
        let date = OffsetDateTime::from_unix_timestamp(at.seconds()).map(OffsetDateTime::date);
        Self(date.unwrap_or(if at.seconds() < 0 {
            Date::MIN
        } else {
            Date::MAX
        }))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let day = Self(Date::parse(text, DAY_FORMAT).ok()?);
        (day.to_string() == text).then_some(day)
    }

    /// The start of the next day.
    pub(crate) fn end(self) -> Timestamp {
        let next = self.0.next_day().unwrap_or(Date::MAX);
        let seconds = next.midnight().assume_utc().unix_timestamp();
        Timestamp::from_micros(seconds.saturating_mul(1_000_000))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.0.to_calendar_date();
        write!(formatter, "{year:04}-{:02}-{day:02}", u8::from(month))
    }
}

// === impl ObjectPath ===

impl ObjectPath {
    /// A new name. Mint it when the writing begins: from its day follows when the object is swept,
    /// and when an unfinished put counts as given up.
    #[must_use]
    pub fn mint(
        at: Timestamp,
        shard: Shard,
        account: AccountId,
        random: [u8; PATH_RANDOM_BYTES],
        content_type: &ContentType,
    ) -> Self {
        Self {
            day: Day::of(at),
            shard,
            account,
            id: random,
            ending: content_type.ending().to_owned(),
        }
    }

    /// Reads a name as [`fmt::Display`] writes it, from a database row for example.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > MAX_PATH_CHARACTERS {
            return Err(PathError::Shape);
        }
        let mut parts = text.split('/');
        let (Some(day), Some(shard), Some(account), Some(name), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return Err(PathError::Shape);
        };
        Self::from_parts(day, shard, account, name).ok_or(PathError::Shape)
    }

    #[must_use]
    pub const fn shard(&self) -> Shard {
        self.shard
    }

    /// The account of the object.
    #[must_use]
    pub const fn account(&self) -> AccountId {
        self.account
    }

    pub(crate) const fn day(&self) -> Day {
        self.day
    }

    pub(crate) fn from_parts(day: &str, shard: &str, account: &str, name: &str) -> Option<Self> {
        let (id, ending) = name.split_once('.')?;
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_ending = (1..=MAX_ENDING_CHARACTERS).contains(&ending.len());
        if !is_ending || !ending.bytes().all(legal) {
            return None;
        }
        Some(Self {
            day: Day::parse(day)?,
            shard: read_shard(shard)?,
            account: read_account(account)?,
            id: read_hex(id)?,
            ending: ending.to_owned(),
        })
    }

    /// The last part of the name.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", hex(&self.id), self.ending)
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, shard, account) = (self.day, self.shard.number(), self.account);
        write!(formatter, "{day}/{shard}/{account}/{}", self.name())
    }
}

// === impl TaskName ===

impl TaskName {
    /// Reads the name of a task.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let rest = text.strip_prefix(TASK_PREFIX).ok_or(PathError::Shape)?;
        let legal = rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if rest.len() != TASK_CHARACTERS || !legal {
            return Err(PathError::Shape);
        }
        Ok(Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// === impl MediaPath ===

impl MediaPath {
    #[must_use]
    pub const fn shard(&self) -> Shard {
        match self {
            Self::Object(object) => object.shard,
            Self::Task(task) => task.shard,
        }
    }

    #[must_use]
    pub const fn account(&self) -> AccountId {
        match self {
            Self::Object(object) => object.account,
            Self::Task(task) => task.account,
        }
    }

    /// The file name of a download. The extension of a task's file depends on its content type.
    #[must_use]
    pub fn file_name(&self, kind: &ContentType) -> String {
        match self {
            Self::Object(object) => object.name(),
            Self::Task(task) => format!("{}.{}", task.task.as_str(), kind.ending()),
        }
    }

    /// What follows shard and account in a link.
    pub(crate) fn rest(&self) -> String {
        match self {
            Self::Object(object) => format!("{}/{}", object.day, object.name()),
            Self::Task(task) => format!("{TASK_WORD}/{}", task.task.as_str()),
        }
    }

    /// Reads `<shard>/<account>/<rest>`.
    pub(crate) fn from_link(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (shard, account) = (parts.next()?, parts.next()?);
        let (kind, name) = (parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        if kind != TASK_WORD {
            return ObjectPath::from_parts(kind, shard, account, name).map(Self::Object);
        }
        Some(Self::Task(TaskPath {
            shard: read_shard(shard)?,
            account: read_account(account)?,
            task: TaskName::parse(name).ok()?,
        }))
    }
}

fn read_shard(text: &str) -> Option<Shard> {
    let shard = Shard::new(text.parse().ok()?).ok()?;
    (shard.number().to_string() == text).then_some(shard)
}

fn read_account(text: &str) -> Option<AccountId> {
    let account = AccountId::new(text.parse().ok()?);
    (account.to_string() == text).then_some(account)
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads exactly what [`hex`] writes.
pub(crate) fn read_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let legal = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != N.saturating_mul(2) || !text.as_bytes().iter().all(legal) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;

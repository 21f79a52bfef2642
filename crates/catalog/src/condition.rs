//! Conditions of a tier, and the region of situations in which all of them hold.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hour_of_week::{HourOfWeek, WeekHours};
use crate::pricing_context::{Attributes, Scalar};

/// Most conditions in one tier.
pub const MAX_CONDITIONS: usize = 8;
/// Longest path of a request attribute, and longest text it is compared with.
pub const MAX_PATH_CHARACTERS: usize = 128;

/// One condition of a tier, as it is written in a book.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "dim", rename_all = "snake_case", deny_unknown_fields)]
pub enum Condition {
    /// Holds when the context (all input tokens) is longer than a number.
    ContextLen {
        /// The last length that is not yet in the tier.
        context_len_gt: u64,
    },
    /// Holds when a field of the request as sent equals a value.
    RequestAttr {
        /// Dotted path of the field.
        path: String,
        equals: Scalar,
    },
    /// Holds at certain hours in a time zone.
    WallClock {
        timezone: String,
        /// ISO weekdays: 1 is Monday, 7 is Sunday.
        weekdays: Vec<u8>,
        /// Hours of the day, 0 to 23.
        hours: Vec<u8>,
    },
}

/// All situations in which a tier's conditions hold together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// The context must be longer than this; none for any length.
    pub(crate) context_over: Option<u64>,
    /// Fields and the values they must have.
    pub(crate) attributes: BTreeMap<String, Scalar>,
    /// Hours at which the tier is open.
    pub(crate) hours: WeekHours,
}

/// A point of the space of situations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point<'a> {
    pub(crate) context_len: u64,
    pub(crate) attributes: &'a Attributes,
    pub(crate) hour: HourOfWeek,
}

// === impl Condition ===

impl Condition {
    /// What is wrong with the condition taken alone.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match self {
            Self::ContextLen { context_len_gt: _ } => {}
            Self::RequestAttr { path, equals } => {
                let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
                if path.is_empty() || path.len() > MAX_PATH_CHARACTERS || !path.bytes().all(legal) {
                    faults.push(format!(
                        "request_attr path {path:?} must be a dotted path of letters, digits, _ and -"
                    ));
                }
                if matches!(equals, Scalar::Text(text) if text.len() > MAX_PATH_CHARACTERS) {
                    faults.push(format!("request_attr {path}: equals is too long"));
                }
            }
            Self::WallClock {
                timezone: _,
                weekdays,
                hours,
            } => {
                if weekdays.is_empty() || weekdays.iter().any(|day| !(1..=7).contains(day)) {
                    faults.push(
                        "wall_clock weekdays must be from 1 (Monday) to 7 (Sunday)".to_owned(),
                    );
                }
                if hours.is_empty() || hours.iter().any(|hour| *hour > 23) {
                    faults.push("wall_clock hours must be from 0 to 23".to_owned());
                }
            }
        }
        faults
    }

    /// The same condition in its one canonical spelling.
    pub(crate) fn canonical(self) -> Self {
        let sorted = |mut numbers: Vec<u8>| {
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        match self {
            Self::WallClock {
                timezone,
                weekdays,
                hours,
            } => Self::WallClock {
                timezone,
                weekdays: sorted(weekdays),
                hours: sorted(hours),
            },
            Self::ContextLen { .. } | Self::RequestAttr { .. } => self,
        }
    }
}

/// Reads like the reason it is: `context longer than 200000 tokens`.
impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ContextLen { context_len_gt } => {
                write!(formatter, "context longer than {context_len_gt} tokens")
            }
            Self::RequestAttr { path, equals } => write!(formatter, "{path} is {equals}"),
            Self::WallClock {
                timezone,
                weekdays,
                hours,
            } => {
                write!(
                    formatter,
                    "weekdays {weekdays:?}, hours {hours:?} in {timezone}"
                )
            }
        }
    }
}

// === impl Region ===

impl Region {
    /// The meeting of all conditions; none if two of them contradict each other.
    pub(crate) fn of(conditions: &[Condition]) -> Option<Self> {
        let mut region = Self {
            context_over: None,
            attributes: BTreeMap::new(),
            hours: WeekHours::ALWAYS,
        };
        for condition in conditions {
            match condition {
                Condition::ContextLen { context_len_gt } => {
                    region.context_over = region.context_over.max(Some(*context_len_gt));
                }
                Condition::RequestAttr { path, equals } => {
                    let before = region.attributes.insert(path.clone(), equals.clone());
                    if before.is_some_and(|value| value != *equals) {
                        return None;
                    }
                }
                Condition::WallClock {
                    timezone: _,
                    weekdays,
                    hours,
                } => {
                    region.hours = region.hours.both(WeekHours::on(weekdays, hours));
                }
            }
        }
        Some(region)
    }

    /// True if the point lies in the region.
    pub(crate) fn contains(&self, point: Point<'_>) -> bool {
        let long_enough = self
            .context_over
            .is_none_or(|over| point.context_len > over);
        let equal = |(path, value): (&String, &Scalar)| point.attributes.get(path) == Some(value);
        long_enough && self.attributes.iter().all(equal) && self.hours.contains(point.hour)
    }

    /// True if every point of this region lies in the other.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let asks_more =
            |(path, value): (&String, &Scalar)| self.attributes.get(path) == Some(value);
        self.context_over >= other.context_over
            && other.attributes.iter().all(asks_more)
            && self.hours.is_within(&other.hours)
    }
}

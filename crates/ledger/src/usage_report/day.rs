//! A day of the calendar, in UTC.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, Duration};
use trunkline_db::from_sql_time;
use trunkline_types::Timestamp;

const SHAPE: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
/// Years are four digits.
const LAST: Date = time::macros::date!(9999 - 12 - 31);

/// A UTC day of four digits of year, written `2026-11-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcDay(Date);

/// Text that is no day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a day is written like 2026-11-01")]
pub struct NotADay;

// === impl UtcDay ===

impl UtcDay {
    /// The day that a text names.
    pub fn parse(text: &str) -> Result<Self, NotADay> {
        let day = Date::parse(text, SHAPE).map_err(|_| NotADay)?;
        // Anything else that the parser takes, a sign or fewer digits, would come back as another text.
        let day = Self(day);
        if day.to_string() == text && day.0.year() > 0 && day.0 <= LAST {
            Ok(day)
        } else {
            Err(NotADay)
        }
    }

    /// So many days earlier, as far as there are days.
    #[must_use]
    pub fn earlier(self, days: i64) -> Self {
        let earlier = self.0.checked_sub(Duration::days(days));
        Self(earlier.unwrap_or(self.0))
    }

    /// How many days there are from this one to another, both included; none or less if it is before.
    #[must_use]
    pub fn days_to(self, other: Self) -> i64 {
        let apart =
            i64::from(other.0.to_julian_day()).saturating_sub(self.0.to_julian_day().into());
        apart.saturating_add(1)
    }

    /// Its first moment.
    #[must_use]
    pub fn starts_at(self) -> Timestamp {
        from_sql_time(self.0.midnight().assume_utc())
    }

    /// The day after, as far as there are days.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.next_day().unwrap_or(self.0))
    }

    pub(crate) const fn of(day: Date) -> Self {
        Self(day)
    }

    pub(crate) const fn date(self) -> Date {
        self.0
    }
}

impl fmt::Display for UtcDay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.0.to_calendar_date();
        write!(formatter, "{year:04}-{:02}-{day:02}", u8::from(month))
    }
}

impl TryFrom<String> for UtcDay {
    type Error = NotADay;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<UtcDay> for String {
    fn from(day: UtcDay) -> Self {
        day.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_it_is_written_and_in_no_other_way() {
        let day = UtcDay::parse("2026-11-01").unwrap();
        assert_eq!(day.to_string(), "2026-11-01");
        assert_eq!(day.earlier(1).to_string(), "2026-10-31");
        assert_eq!(day.earlier(1).next(), day);
        assert_eq!(day.starts_at().seconds(), 1_793_491_200);
        assert_eq!(day.days_to(day), 1);
        assert_eq!(day.days_to(UtcDay::parse("2026-11-30").unwrap()), 30);
        assert!(day.days_to(day.earlier(1)) < 1);
        for text in [
            "",
            "today",
            "2026-11-1",
            "2026-11-31",
            "2026-13-01",
            "+2026-11-01",
            "-2026-11-01",
            "0000-01-01",
            "10000-01-01",
            "2026-11-01 ",
            "2026-11-01T00:00:00Z",
        ] {
            assert_eq!(UtcDay::parse(text), Err(NotADay), "{text:?}");
        }
    }
}

//! Daily partitions. Statements name the partitions of one day, so that they are planned once and
//! neither read nor lock any other, however many days there are. A batch that spans two days runs
//! its statements once for each.

use std::collections::BTreeMap;

use time::{Date, OffsetDateTime};
use trunkline_types::RequestId;

/// The tables that have a partition for each day.
const TABLES: [&str; 4] = ["hold", "usage", "transfer", "hold_batch"];
/// Bytes that a statement grows by when its tables are named.
const NAMES_CAPACITY: usize = 128;

/// The day (UTC) whose partitions hold a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(Date);

// === impl Day ===

impl Day {
    /// The day a request id was made on.
    pub(crate) fn of(request: RequestId) -> Self {
        let made_at = OffsetDateTime::from_unix_timestamp(request.made_at().seconds());
        Self(made_at.unwrap_or(OffsetDateTime::UNIX_EPOCH).date())
    }

    /// The day's part of the names of its tables.
    fn suffix(self) -> String {
        let (year, month, day) = self.0.to_calendar_date();
        format!("{year:04}{:02}{day:02}", u8::from(month))
    }

    /// The name of the function that applies a batch of this day.
    pub(crate) fn apply(self) -> String {
        format!("ledger.apply_{}", self.suffix())
    }

    pub(crate) const fn date(self) -> Date {
        self.0
    }

    /// A day as PostgreSQL has it.
    pub(crate) const fn of_date(date: Date) -> Self {
        Self(date)
    }

    /// A statement with the names of tables in braces, as `{hold}`, replaced by the day's tables.
    pub(crate) fn tables(self, statement: &str) -> sqlx::AssertSqlSafe<String> {
        let suffix = self.suffix();
        // In one pass: a batch runs several of these, and they are long.
        let mut named = String::with_capacity(statement.len().saturating_add(NAMES_CAPACITY));
        let mut rest = statement;
        while let Some((before, after)) = rest.split_once('{') {
            named.push_str(before);
            match after.split_once('}') {
                Some((table, behind)) if TABLES.contains(&table) => {
                    for part in ["ledger.", table, "_", &suffix] {
                        named.push_str(part);
                    }
                    rest = behind;
                }
                Some(_) | None => {
                    named.push('{');
                    rest = after;
                }
            }
        }
        named.push_str(rest);
        // Nothing but digits of a date was put in.
        sqlx::AssertSqlSafe(named)
    }
}

/// Things by the day of their request.
pub(crate) fn by_day<T>(
    things: impl IntoIterator<Item = T>,
    request: impl Fn(&T) -> RequestId,
) -> BTreeMap<Day, Vec<T>> {
    let mut days: BTreeMap<Day, Vec<T>> = BTreeMap::new();
    for thing in things {
        days.entry(Day::of(request(&thing)))
            .or_default()
            .push(thing);
    }
    days
}

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr as _;
    use trunkline_types::Timestamp;

    use super::*;

    #[test]
    fn a_request_lies_in_the_tables_of_the_day_it_was_made_on() {
        let at =
            |seconds: i64| RequestId::new(Timestamp::from_micros(seconds * 1_000_000), [0; 10]);
        let text = |seconds| {
            Day::of(at(seconds))
                .tables("{hold} {usage} {transfer}")
                .into_sql_str()
                .as_str()
                .to_owned()
        };
        assert_eq!(
            text(1_794_700_799),
            "ledger.hold_20261114 ledger.usage_20261114 ledger.transfer_20261114"
        );
        assert_eq!(
            text(1_794_700_800),
            "ledger.hold_20261115 ledger.usage_20261115 ledger.transfer_20261115"
        );
        let braces = Day::of(at(0)).tables("'{}' {other} {hold").into_sql_str();
        assert_eq!(braces.as_str(), "'{}' {other} {hold");
        let days = by_day(
            [at(1_794_700_799), at(1_794_700_800), at(1_794_700_801)],
            |request| *request,
        );
        assert_eq!(days.values().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    }
}

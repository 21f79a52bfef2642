//! Scans the daily partitions of an account, newest first, with an early end. Tables are
//! partitioned by request id; a statement that bounds its ids opens no other partition, however
//! many there are. Each range is twice as long as the one before, so that a busy account is
//! answered by its last two days and a quiet one by few statements.

use sqlx::PgConnection;
use time::OffsetDateTime;
use trunkline_db::{DbError, from_sql_time};
use trunkline_types::{AccountId, RANDOM_BYTES, RequestId, Timestamp};
use uuid::Uuid;

use crate::columns::column;

/// Days of the first range.
const FIRST_DAYS: i64 = 2;
/// Days of the longest range; one page scans 62 days in all.
const LONGEST_DAYS: i64 = 32;
const SECONDS_A_DAY: i64 = 86_400;

/// Request ids from one, itself included, up to another, itself not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdRange {
    pub(crate) from: Uuid,
    pub(crate) to: Uuid,
}

/// The rest of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DayScan {
    whole: IdRange,
    days: i64,
}

/// When an account began, and now, by the database's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccountLifetime {
    pub(crate) began_at: Timestamp,
    pub(crate) now: Timestamp,
}

/// The least id of a moment.
pub(crate) fn first_id(at: Timestamp) -> Uuid {
    RequestId::new(at, [0; RANDOM_BYTES]).uuid()
}

/// The moment that an id names, to the millisecond.
pub(crate) fn time_of(id: Uuid) -> Timestamp {
    let millis = id.as_u128().wrapping_shr(80);
    let micros = i64::try_from(millis).unwrap_or(i64::MAX);
    Timestamp::from_micros(micros.saturating_mul(1_000))
}

// === impl AccountLifetime ===

impl AccountLifetime {
    /// None if there is no such account.
    pub(crate) async fn of(
        connection: &mut PgConnection,
        account: AccountId,
    ) -> Result<Option<Self>, DbError> {
        let row =
            sqlx::query("SELECT created_at, app.now() AS now FROM ledger.account WHERE id = $1")
                .bind(account.number())
                .fetch_optional(connection)
                .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Self {
            began_at: from_sql_time(column::<OffsetDateTime>(&row, "created_at")?),
            now: from_sql_time(column::<OffsetDateTime>(&row, "now")?),
        }))
    }

    /// All ids that its calls can have, with a day of tolerance for the clocks of nodes.
    pub(crate) fn ids(&self) -> IdRange {
        IdRange {
            from: first_id(self.began_at.plus_seconds(-SECONDS_A_DAY)),
            to: first_id(self.now.plus_seconds(SECONDS_A_DAY)),
        }
    }
}

// === impl IdRange ===

impl IdRange {
    pub(crate) fn within(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }
}

// === impl DayScan ===

impl DayScan {
    pub(crate) const fn through(whole: IdRange) -> Self {
        Self {
            whole,
            days: FIRST_DAYS,
        }
    }

    /// The next range back in time; none at the end, or when one page has scanned enough.
    pub(crate) fn step(&mut self) -> Option<IdRange> {
        if self.rest().is_none() || self.days > LONGEST_DAYS {
            return None;
        }
        let back = self.days.saturating_mul(SECONDS_A_DAY);
        let from = first_id(time_of(self.whole.to).plus_seconds(back.saturating_neg()));
        let step = IdRange {
            from: from.max(self.whole.from),
            to: self.whole.to,
        };
        self.days = self.days.saturating_mul(2);
        self.whole.to = step.from;
        Some(step)
    }

    /// Where the next page continues: before this id. None if everything was scanned.
    pub(crate) fn rest(&self) -> Option<Uuid> {
        (self.whole.from < self.whole.to).then_some(self.whole.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = SECONDS_A_DAY;

    fn at(day: i64) -> Uuid {
        first_id(Timestamp::from_micros(0).plus_seconds((20_000 + day) * DAY))
    }

    fn steps(from: i64, to: i64) -> (Vec<IdRange>, Option<Uuid>) {
        let whole = IdRange {
            from: at(from),
            to: at(to),
        };
        let mut scan = DayScan::through(whole);
        let steps: Vec<IdRange> = std::iter::from_fn(|| scan.step()).collect();
        (steps, scan.rest())
    }

    #[test]
    fn stretches_meet_without_a_hole_grow_and_end_after_62_days() {
        let (found, rest) = steps(-400, 0);
        let days = [0, -2, -6, -14, -30, -62];
        let expected: Vec<IdRange> = days
            .windows(2)
            .map(|pair| IdRange {
                from: at(pair[1]),
                to: at(pair[0]),
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(rest, Some(at(-62)), "another page goes on here");
    }

    #[test]
    fn a_walk_ends_where_it_has_to() {
        let (found, rest) = steps(-3, 0);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].from, at(-3));
        assert_eq!(rest, None);
        assert_eq!(steps(0, 0), (vec![], None));
        assert_eq!(steps(1, 0), (vec![], None), "nothing lies between");
    }

    #[test]
    fn ids_and_moments_go_together() {
        let moment = Timestamp::from_micros(1_700_000_000_123_000);
        assert_eq!(time_of(first_id(moment)), moment);
        assert_eq!(time_of(Uuid::max()).micros(), 281_474_976_710_655_000);
    }
}

//! The two real clocks, the machine's and the database's, and the one place where a moment changes
//! its form. Everything else asks a [`Clock`] or `app.now()`.

use std::time::SystemTime;

use sqlx::PgConnection;
use time::OffsetDateTime;
use trunkline_types::{Clock, Timestamp};

use crate::DbError;

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// The start of the connection's transaction by the database's shiftable clock.
pub async fn database_now(connection: &mut PgConnection) -> Result<Timestamp, DbError> {
    let now: OffsetDateTime = sqlx::query_scalar("SELECT app.now()")
        .fetch_one(connection)
        .await?;
    Ok(from_sql_time(now))
}

/// A moment as a `timestamptz` to bind; moments beyond the year 9999 stay at its end.
#[must_use]
pub fn to_sql_time(moment: Timestamp) -> OffsetDateTime {
    let nanos = i128::from(moment.micros()).saturating_mul(1_000);
    OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(if moment.micros() < 0 {
        FIRST
    } else {
        LAST
    })
}

/// A `timestamptz` that was read.
#[must_use]
pub fn from_sql_time(at: OffsetDateTime) -> Timestamp {
    let micros = at.unix_timestamp_nanos().div_euclid(1_000);
    // Four digits of year fit 64 bits of microseconds thirty times over.
    Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

const FIRST: OffsetDateTime = time::macros::datetime!(-9999-01-01 00:00:00 UTC);
const LAST: OffsetDateTime = time::macros::datetime!(9999-12-31 23:59:59.999999 UTC);

// === impl SystemClock ===

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock that the rest of the product is handed"
        )]
        let now = SystemTime::now();
        let micros = match now.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(_) => 0, // a machine that believes it is before 1970
        };
        Timestamp::from_micros(micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_survives_the_way_to_sql_and_back() {
        for micros in [0, 1, -1, 1_700_000_000_123_456, -62_135_596_800_000_000] {
            let moment = Timestamp::from_micros(micros);
            assert_eq!(from_sql_time(to_sql_time(moment)), moment);
        }
    }

    #[test]
    fn moments_beyond_the_calendar_stay_at_its_ends() {
        assert_eq!(to_sql_time(Timestamp::from_micros(i64::MAX)), LAST);
        assert_eq!(to_sql_time(Timestamp::from_micros(i64::MIN)), FIRST);
    }
}

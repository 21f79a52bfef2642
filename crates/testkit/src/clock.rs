//! Time for tests: a clock that can be moved.

use std::sync::Arc;

use sqlx::Connection as _;
use trunkline_db::SystemClock;
use trunkline_types::{Secret, ShiftableClock};

use crate::test_run;

/// Replaces `app.now()` by one that is so many seconds further on than it is now. The shift is a
/// constant of the new body: no test reads a table for the time, and the statements of a database whose
/// clock was moved are planned like those of any other. Whole seconds and no days, because a day's
/// length depends on the session's time zone. A test that waits for something due looks again.
const SHIFT: &str = "DO $shift$
BEGIN
    LOCK TABLE ledger.account IN EXCLUSIVE MODE;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION app.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
             RETURN pg_catalog.now() + interval %L',
        make_interval(secs => extract(epoch FROM app.now() - pg_catalog.now()) + {seconds}));
    NOTIFY trunkline, 'clock';
END
$shift$";

/// The machine's clock, to be moved with [`ShiftableClock::shift_seconds`]. The database's clock is
/// moved with [`Db::shift_clock`](crate::Db::shift_clock).
#[must_use]
pub fn test_clock() -> ShiftableClock {
    ShiftableClock::over(Arc::new(SystemClock))
}

/// Moves the clock of a database, as its owner. As with a real clock, no transaction of the ledger sees
/// two times: it is moved while none of them is open. Each locks its accounts before it asks for the
/// time, and waits there until the move is done.
pub(crate) async fn shift(owner: &Secret, seconds: i64) {
    let mut owner = test_run::open(owner).await;
    let statement = SHIFT.replace("{seconds}", &seconds.to_string());
    // Nothing but digits was put in.
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(&mut owner)
        .await
        .expect("the owner may move the clock");
    owner.close().await.expect("the connection closes");
}

//! Money that is held for calls and tasks of all nodes: at risk until each hold is settled or voided. Read-only.

use time::OffsetDateTime;
use trunkline_db::{Database, DbError, from_sql_time};
use trunkline_types::{Money, Timestamp};

use crate::columns::column;

/// Holds that are not resolved yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenHolds {
    pub count: i64,
    pub amount: Money,
    /// Of them, those that nothing resolved before their deadline.
    pub overdue: i64,
    pub overdue_amount: Money,
}

/// Reads all of them.
pub async fn open(database: &Database) -> Result<OpenHolds, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(include_str!("sql/holds_open.sql"))
        .fetch_one(&mut *session)
        .await?;
    Ok(OpenHolds {
        count: column(&row, "count")?,
        amount: column(&row, "amount").map(Money::from_nanos)?,
        overdue: column(&row, "overdue")?,
        overdue_amount: column(&row, "overdue_amount").map(Money::from_nanos)?,
    })
}

/// When the newest charge or release was made; none in empty books. Among so many calls that began last, since
/// one that began early may end late.
pub async fn newest_settlement(database: &Database) -> Result<Option<Timestamp>, DbError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT max(n.settled_at) AS newest
         FROM (SELECT u.settled_at FROM ledger.usage AS u ORDER BY u.request_id DESC LIMIT 10000) AS n",
    )
    .fetch_one(&mut *session)
    .await?;
    let newest: Option<OffsetDateTime> = column(&row, "newest")?;
    Ok(newest.map(from_sql_time))
}

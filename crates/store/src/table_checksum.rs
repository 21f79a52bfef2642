//! Checksum of a table, to compare a cached copy with it: the count of its rows and a sum over
//! their ids and revisions, which either side can update row by row.

use sqlx::{PgConnection, Row as _};
use trunkline_db::DbError;

/// A prime, so that no change of one row's revision leaves the sum unchanged. The statements that
/// sum a table contain it too.
const PRIME: i64 = 2_147_483_647;

/// The count and the sum of a table, or of a copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableChecksum {
    pub count: i64,
    /// The sum of [`weight`] over them.
    pub sum: i64,
    /// The newest revision.
    pub newest: i64,
}

/// What a row adds to the sum. A product, so that two rows with swapped revisions are detected too.
#[must_use]
pub fn weight(id: i64, revision: i64) -> i64 {
    let id = id.rem_euclid(PRIME).saturating_add(1);
    let revision = revision.rem_euclid(PRIME).saturating_add(7);
    id.saturating_mul(revision).rem_euclid(PRIME)
}

// === impl TableChecksum ===

impl TableChecksum {
    /// Adds a row, or replaces one that had another revision.
    pub fn add(&mut self, id: i64, before: Option<i64>, revision: i64) {
        match before {
            Some(before) => self.sum = self.sum.saturating_sub(weight(id, before)),
            None => self.count = self.count.saturating_add(1),
        }
        self.sum = self.sum.saturating_add(weight(id, revision));
        self.newest = self.newest.max(revision);
    }

    pub(crate) async fn of_table(
        connection: &mut PgConnection,
        statement: &'static str,
    ) -> Result<Self, DbError> {
        let row = sqlx::query(statement).fetch_one(connection).await?;
        Ok(Self {
            count: row.try_get("count")?,
            sum: row.try_get("sum")?,
            newest: row.try_get("newest")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_missing_and_an_exchanged_row_are_all_found() {
        let of = |rows: &[(i64, i64)]| {
            let mut checksum = TableChecksum::default();
            rows.iter()
                .for_each(|(id, revision)| checksum.add(*id, None, *revision));
            checksum
        };
        let rows = [(1, 5), (2, 9), (3_000_000_000, 4)];
        let whole = of(&rows);
        assert_ne!(whole, of(&rows[..2]), "one is missing");
        assert_ne!(whole.sum, of(&[(1, 6), (2, 9), (3_000_000_000, 4)]).sum);
        assert_ne!(whole.sum, of(&[(1, 9), (2, 5), (3_000_000_000, 4)]).sum);
        let mut changed = of(&[(1, 5), (2, 8), (3_000_000_000, 4)]);
        changed.add(2, Some(8), 9);
        assert_eq!(changed, whole, "step by step it comes to the same");
    }
}

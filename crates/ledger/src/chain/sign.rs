//! Signs days that are over.

use std::collections::BTreeSet;

use sqlx::postgres::PgRow;
use time::Date;
use trunkline_db::{Database, DbError, Tx};
use trunkline_receipts::{DayRecord, Hash, Signer, TreeHasher};

use super::links::links_from;
use super::{LOCK, count, note_key, stored, unreadable};
use crate::columns::column;
use crate::usage_report::UtcDay;

/// Days of accounts that one transaction signs.
const SIGNED_AT_ONCE: i64 = 50;
/// Transactions of one run; more wait for the next.
const MAX_TRANSACTIONS: u32 = 100;

/// What a run has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signed {
    pub days: u64,
    /// Days whose links are not their lines. They are not signed, nor are later ones of their accounts: a person has to
    /// look.
    pub broken: u64,
    /// Whether there may be more to do.
    pub has_more: bool,
}

struct OpenDay {
    account: i64,
    day: Date,
    first: u64,
    lines: u64,
}

/// How far a run has come: days are signed in their order, and a broken one stops only those of its account.
struct Run<'a> {
    signer: &'a dyn Signer,
    done: Signed,
    last: Option<(Date, i64)>,
    broken_accounts: BTreeSet<i64>,
}

/// Signs days that are over, the oldest first.
pub async fn sign_days(database: &Database, signer: &dyn Signer) -> Result<Signed, DbError> {
    let mut run = Run {
        signer,
        done: Signed::default(),
        last: None,
        broken_accounts: BTreeSet::new(),
    };
    for _ in 0..MAX_TRANSACTIONS {
        let mut tx = database.begin().await?;
        let signed = run.sign_some(&mut tx).await;
        let is_full = tx.finish(signed).await?;
        if !is_full {
            return Ok(run.done);
        }
    }
    run.done.has_more = run.done.days > 0;
    Ok(run.done)
}

// === impl Run ===

impl Run<'_> {
    /// Whether there may be more.
    async fn sign_some(&mut self, tx: &mut Tx) -> Result<bool, DbError> {
        let is_alone: bool = sqlx::query_scalar(LOCK).fetch_one(&mut **tx).await?;
        if !is_alone {
            return Ok(false);
        }
        let rows = sqlx::query(
            "SELECT d.account_id, d.day, d.first_number, d.lines FROM ledger.chain_day AS d
             WHERE d.head IS NULL AND d.day < (app.now() AT TIME ZONE 'UTC')::date
                 AND ($1::date IS NULL OR (d.day, d.account_id) > ($1, $2::bigint))
             ORDER BY d.day, d.account_id LIMIT $3",
        )
        .bind(self.last.map(|(day, _)| day))
        .bind(self.last.map(|(_, account)| account))
        .bind(SIGNED_AT_ONCE)
        .fetch_all(&mut **tx)
        .await?;
        if !rows.is_empty() {
            note_key(tx, &self.signer.public_key()).await?;
        }
        for row in &rows {
            let open = OpenDay::of_row(row)?;
            self.last = Some((open.day, open.account));
            // Its later days follow a head that is not there.
            if self.broken_accounts.contains(&open.account) {
                continue;
            }
            match root(tx, &open).await? {
                Some(root) => {
                    sign(tx, &open, root, self.signer).await?;
                    self.done.days = self.done.days.saturating_add(1);
                }
                None => {
                    self.broken_accounts.insert(open.account);
                    self.done.broken = self.done.broken.saturating_add(1);
                }
            }
        }
        Ok(i64::try_from(rows.len()).is_ok_and(|rows| rows == SIGNED_AT_ONCE))
    }
}

// === impl OpenDay ===

impl OpenDay {
    fn of_row(row: &PgRow) -> Result<Self, DbError> {
        Ok(Self {
            account: column(row, "account_id")?,
            day: column(row, "day")?,
            first: count(column(row, "first_number")?),
            lines: count(column(row, "lines")?),
        })
    }
}

/// The root of a day's lines; none if its links are not those of its lines.
async fn root(tx: &mut Tx, open: &OpenDay) -> Result<Option<Hash>, DbError> {
    let mut tree = TreeHasher::new();
    loop {
        let next = open.first.saturating_add(tree.count());
        let links = links_from(tx, open.account, open.day, next).await?;
        if links.is_empty() {
            let is_whole = tree.count() == open.lines;
            return Ok(tree.root().filter(|_| is_whole));
        }
        for link in links {
            if link.first != open.first.saturating_add(tree.count()) {
                return Ok(None);
            }
            link.entries.iter().for_each(|entry| tree.add(entry.leaf));
        }
    }
}

async fn sign(tx: &mut Tx, open: &OpenDay, root: Hash, signer: &dyn Signer) -> Result<(), DbError> {
    let before = sqlx::query(
        "SELECT d.head FROM ledger.chain_day AS d
         WHERE d.account_id = $1 AND d.day < $2 ORDER BY d.day DESC LIMIT 1",
    )
    .bind(open.account)
    .bind(open.day)
    .fetch_optional(&mut **tx)
    .await?;
    let previous = match &before {
        Some(row) => stored(row, "head", Hash::from_slice)?,
        None => Hash::ZERO,
    };
    let record = DayRecord {
        account: open.account,
        day: UtcDay::of(open.day).to_string(),
        first: open.first,
        lines: open.lines,
        root,
        previous,
        key: signer.public_key(),
    };
    let text = record.text();
    let signature = signer.sign(text.as_bytes());
    let signature = signature.ok_or_else(|| unreadable("a signature"))?;
    sqlx::query(
        "UPDATE ledger.chain_day
         SET root = $3, previous = $4, head = $5, public_key = $6, signature = $7, signed_at = app.now()
         WHERE account_id = $1 AND day = $2",
    )
    .bind(open.account)
    .bind(open.day)
    .bind(record.root.bytes().as_slice())
    .bind(record.previous.bytes().as_slice())
    .bind(Hash::of_record(text.as_bytes()).bytes().as_slice())
    .bind(record.key.bytes().as_slice())
    .bind(signature.bytes().as_slice())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

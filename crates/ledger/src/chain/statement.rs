//! A statement: the lines of an account's days with their signed roots, in pieces, so that no statement is too long to
//! be written.

use std::collections::VecDeque;

use time::Date;
use trunkline_db::{Database, DbError};
use trunkline_receipts::{EndRecord, Hash, STATEMENT_HEAD, Signer, day_line, end_line, text_line};
use trunkline_types::AccountId;

use super::entry::{Entry, LineId};
use super::lines::read_lines;
use super::links::links_from;
use super::{SignedDay, note_key, stored, unreadable};
use crate::usage_report::{UtcDay, today};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    #[error("the first day is after the last")]
    Order,
    #[error("not all calls of days before {first} are kept; begin there or later")]
    TooOld { first: UtcDay },
    #[error("the last day must be over; days are signed after midnight UTC")]
    NotOver,
    #[error("a day is not signed yet; it will be within minutes")]
    NotSigned,
    #[error(transparent)]
    Db(#[from] DbError),
}

/// What is written next.
enum Step {
    Head,
    Day,
    /// Links of a day, from the one with this line on.
    Lines(Date, u64),
    Done,
}

/// Reads a statement piece by piece.
pub struct StatementReader {
    database: Database,
    account: AccountId,
    days: VecDeque<SignedDay>,
    step: Step,
    end: EndRecord,
    end_text: String,
}

// === impl StatementReader ===

impl StatementReader {
    /// The statement of these days, both included.
    pub async fn open(
        database: &Database,
        account: AccountId,
        from: UtcDay,
        to: UtcDay,
        signer: &dyn Signer,
    ) -> Result<Self, StatementError> {
        if from > to {
            return Err(StatementError::Order);
        }
        if to >= today(database).await? {
            return Err(StatementError::NotOver);
        }
        let first = first_day(database, account).await?;
        if from < first {
            return Err(StatementError::TooOld { first });
        }
        let days = read_days(database, account, from.date(), to.date()).await?;
        let head = match days.back() {
            Some(last) => last.record.head(),
            None => head_before(database, account, from.date()).await?,
        };
        let lines = days.iter().map(|day| day.record.lines);
        let end = EndRecord {
            account: account.number(),
            from: from.to_string(),
            to: to.to_string(),
            days: u64::try_from(days.len()).unwrap_or(u64::MAX),
            lines: lines.fold(0, u64::saturating_add),
            head,
            key: signer.public_key(),
        };
        let text = end.text();
        let signature = signer.sign(text.as_bytes());
        let signature = signature.ok_or_else(|| unreadable("a signature"))?;
        let mut session = database.session().await?;
        note_key(&mut session, &end.key).await?;
        Ok(Self {
            database: database.clone(),
            account,
            days,
            step: Step::Head,
            end_text: end_line(&end.key, &signature, &text),
            end,
        })
    }

    /// How many lines it has.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.end.lines
    }

    #[must_use]
    pub const fn days(&self) -> u64 {
        self.end.days
    }

    /// The next piece; none behind the last.
    pub async fn next_piece(&mut self) -> Result<Option<String>, DbError> {
        match std::mem::replace(&mut self.step, Step::Done) {
            Step::Head => {
                self.step = Step::Day;
                Ok(Some(STATEMENT_HEAD.to_owned()))
            }
            Step::Day => {
                let Some(day) = self.days.pop_front() else {
                    return Ok(Some(std::mem::take(&mut self.end_text)));
                };
                let first = day.record.first;
                let text = day_line(&day.record.key, &day.signature, &day.record.text());
                self.step = Step::Lines(day.day, first);
                Ok(Some(text))
            }
            Step::Lines(day, next) => {
                let (text, next) = self.lines_from(day, next).await?;
                self.step = match next {
                    Some(next) => Step::Lines(day, next),
                    None => Step::Day,
                };
                Ok(Some(text))
            }
            Step::Done => Ok(None),
        }
    }

    /// Some lines of a day, and the number of the next if there is one.
    async fn lines_from(&self, day: Date, next: u64) -> Result<(String, Option<u64>), DbError> {
        let mut session = self.database.session().await?;
        let links = links_from(&mut session, self.account.number(), day, next).await?;
        let mut numbered: Vec<(u64, Entry)> = Vec::new();
        for link in links {
            numbered.extend((link.first..).zip(link.entries));
        }
        let ids: Vec<LineId> = numbered.iter().map(|(_, entry)| entry.id).collect();
        let mut found = read_lines(&mut session, &ids).await?;
        let mut text = String::new();
        // A row that is gone is a line that the customer will miss.
        for (number, entry) in &numbered {
            if let Some(row) = found.get_mut(&entry.id) {
                text.push_str(&text_line(&entry.leaf, &row.text(*number)));
            }
        }
        let last = numbered.last().map(|(number, _)| number.saturating_add(1));
        Ok((text, last))
    }
}

/// The first day that a statement can have: calls of those before it were dropped. A line may be of a day after the one
/// of its call, so the first day that is kept may have lines of calls that are not.
pub async fn first_day(database: &Database, account: AccountId) -> Result<UtcDay, DbError> {
    let mut session = database.session().await?;
    let day: Date = sqlx::query_scalar(
        "SELECT greatest(k.from_day, (
             SELECT max(d.day) + 1 FROM ledger.chain_day AS d
             WHERE d.account_id = $1 AND d.day >= k.from_day AND d.oldest_call < k.floor))
         FROM ledger.usage_kept AS k",
    )
    .bind(account.number())
    .fetch_one(&mut *session)
    .await?;
    Ok(UtcDay::of(day))
}

async fn read_days(
    database: &Database,
    account: AccountId,
    from: Date,
    to: Date,
) -> Result<VecDeque<SignedDay>, StatementError> {
    let mut session = database.session().await?;
    let rows = sqlx::query(
        "SELECT d.day, d.first_number, d.lines, d.root, d.previous, d.head, d.public_key, d.signature
         FROM ledger.chain_day AS d
         WHERE d.account_id = $1 AND d.day BETWEEN $2 AND $3
         ORDER BY d.day",
    )
    .bind(account.number())
    .bind(from)
    .bind(to)
    .fetch_all(&mut *session)
    .await
    .map_err(DbError::from)?;
    let mut days = VecDeque::with_capacity(rows.len());
    for row in &rows {
        let day = SignedDay::of_row(account, row)?;
        days.push_back(day.ok_or(StatementError::NotSigned)?);
    }
    Ok(days)
}

/// The newest head before a day, for a statement without lines.
async fn head_before(
    database: &Database,
    account: AccountId,
    day: Date,
) -> Result<Hash, StatementError> {
    let mut session = database.session().await?;
    let row = sqlx::query(
        "SELECT d.head FROM ledger.chain_day AS d
         WHERE d.account_id = $1 AND d.day < $2 AND d.head IS NOT NULL ORDER BY d.day DESC LIMIT 1",
    )
    .bind(account.number())
    .bind(day)
    .fetch_optional(&mut *session)
    .await
    .map_err(DbError::from)?;
    Ok(match &row {
        Some(row) => stored(row, "head", Hash::from_slice)?,
        None => Hash::ZERO,
    })
}

//! A receipt: the line of one call, and its path to the signed root of its day.

use time::{Date, OffsetDateTime};
use trunkline_db::{Database, DbError};
use trunkline_receipts::{PathBuilder, RECEIPT_HEAD, day_line, path_line, text_line};
use trunkline_types::{AccountId, RequestId};

use super::entry::{Entry, LineId, LineKind};
use super::lines::read_lines;
use super::links::links_from;
use super::{SignedDay, count, unreadable};
use crate::columns::column;

/// Days after its settlement in which a call is looked for in the chain: it is entered within seconds, unless no
/// worker runs.
const LATEST_DAYS: i32 = 31;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiptAnswer {
    /// The account has no such call.
    Unknown,
    /// The day of the call is not over, or not signed yet; or the call is older than the chain.
    NotSigned,
    /// The receipt as a file.
    File(String),
}

/// Where a line is.
struct Place {
    day: Date,
    number: u64,
    entry: Entry,
}

/// The receipt of a call.
pub async fn receipt(
    database: &Database,
    account: AccountId,
    request: RequestId,
) -> Result<ReceiptAnswer, DbError> {
    let mut session = database.session().await?;
    let settled: Option<OffsetDateTime> = sqlx::query_scalar(
        "SELECT u.settled_at FROM ledger.usage AS u
         WHERE u.request_id = $1 AND u.account_id = $2",
    )
    .bind(request.uuid())
    .bind(account.number())
    .fetch_optional(&mut *session)
    .await?;
    let Some(settled) = settled else {
        return Ok(ReceiptAnswer::Unknown);
    };
    let Some(place) = find(&mut session, account, request, settled).await? else {
        return Ok(ReceiptAnswer::NotSigned);
    };
    let row = sqlx::query(
        "SELECT d.day, d.first_number, d.lines, d.root, d.previous, d.head, d.public_key, d.signature
         FROM ledger.chain_day AS d WHERE d.account_id = $1 AND d.day = $2",
    )
    .bind(account.number())
    .bind(place.day)
    .fetch_one(&mut *session)
    .await?;
    let Some(signed) = SignedDay::of_row(account, &row)? else {
        return Ok(ReceiptAnswer::NotSigned);
    };
    let path = path(&mut session, account, &signed, place.number).await?;
    let mut found = read_lines(&mut session, &[place.entry.id]).await?;
    let Some(row) = found.get_mut(&place.entry.id) else {
        return Ok(ReceiptAnswer::Unknown);
    };
    let mut file = RECEIPT_HEAD.to_owned();
    let record = &signed.record;
    file.push_str(&day_line(&record.key, &signed.signature, &record.text()));
    file.push_str(&path);
    file.push_str(&text_line(&place.entry.leaf, &row.text(place.number)));
    Ok(ReceiptAnswer::File(file))
}

async fn find(
    session: &mut sqlx::PgConnection,
    account: AccountId,
    request: RequestId,
    settled: OffsetDateTime,
) -> Result<Option<Place>, DbError> {
    let id = LineId {
        kind: LineKind::CALL,
        request: request.uuid(),
    };
    // The same id is in the entries of the call's refunds, behind another kind.
    let row = sqlx::query(
        "SELECT l.day, l.first_number, l.entries FROM ledger.chain_link AS l
         WHERE l.account_id = $1 AND l.day >= ($2 AT TIME ZONE 'UTC')::date
             AND l.day <= ($2 AT TIME ZONE 'UTC')::date + $3::integer
             AND $2 BETWEEN l.first_at AND l.last_at AND position($4 IN l.entries) > 0
         ORDER BY l.day, l.first_number LIMIT 1",
    )
    .bind(account.number())
    .bind(settled)
    .bind(LATEST_DAYS)
    .bind(id.bytes().as_slice())
    .fetch_optional(session)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let first = count(column(&row, "first_number")?);
    let entries: Vec<u8> = column(&row, "entries")?;
    let entries = Entry::read_all(&entries).ok_or_else(|| unreadable("a link"))?;
    let found = (first..).zip(entries).find(|(_, entry)| entry.id == id);
    let day = column(&row, "day")?;
    Ok(found.map(|(number, entry)| Place { day, number, entry }))
}

/// The line of the path.
async fn path(
    session: &mut sqlx::PgConnection,
    account: AccountId,
    signed: &SignedDay,
    line: u64,
) -> Result<String, DbError> {
    let record = &signed.record;
    let mut path = PathBuilder::new(line.saturating_sub(record.first), record.lines);
    let mut next = record.first;
    let end = record.first.saturating_add(record.lines);
    while next < end {
        let links = links_from(session, account.number(), signed.day, next).await?;
        if links.is_empty() {
            break;
        }
        for entry in links.into_iter().flat_map(|link| link.entries) {
            path.add(entry.leaf);
            next = next.saturating_add(1);
        }
    }
    let path = path.finish().ok_or_else(|| unreadable("the links"))?;
    Ok(path_line(&path))
}

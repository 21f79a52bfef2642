//! Journal of an account's money, newest first: one entry for each wallet that a transfer touched.
//! Read-only. The sum of all entries is the balance.
//!
//! Entries are in the order of their request ids, like those of a statement: a refund is next to
//! its call. Charges are read from `ledger.usage`, everything else from `ledger.transfer`; both are
//! read in bounded ranges (`day_scan`) and merged here.

mod read;

use std::cmp::Reverse;

use trunkline_db::{Database, DbError};
use trunkline_types::{AccountId, Money, RequestId, Timestamp};
use uuid::Uuid;

use self::read::Part;
use crate::accounts::Wallet;
use crate::day_scan::{AccountLifetime, DayScan, IdRange, first_id, time_of};

/// Most entries of one page.
pub const MAX_PAGE: u32 = 1_000;
/// Rows that one statement looks at.
const MAX_SCANNED_ROWS: u32 = 5_000;
/// JournalPage that one request can have: a charge and three ways back, two wallets each.
const MOST_OF_ONE: usize = 8;

/// The provider of money that came by a code.
pub const CODES: &str = "code";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    Charge,
    /// The rest of a charge was refunded.
    Refund,
    /// The difference to a lower price was refunded.
    SettlementAdjustment,
    /// A charge was refunded because the result was not delivered.
    Undelivered,
    TopUp,
    /// Money to try things out.
    TrialGrant,
    /// A correction by a person.
    Adjust,
    Redemption,
    /// What was left of trial credit ended.
    TrialExpiry,
}

/// Which entries. What is none does not narrow.
#[derive(Debug, Clone)]
pub struct JournalQuery {
    pub account: AccountId,
    pub kind: Option<EntryKind>,
    /// Of calls and movements that began then or later.
    pub from: Option<Timestamp>,
    /// Of those that began before.
    pub until: Option<Timestamp>,
    /// Where the page before ended.
    pub after: Option<Next>,
    /// At most so many, up to [`MAX_PAGE`].
    pub limit: u32,
}

/// Identifies an entry, and orders it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryId {
    /// The call or the movement.
    pub request: RequestId,
    pub kind: EntryKind,
    pub wallet: Wallet,
}

/// One movement of one wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    pub id: EntryId,
    /// When it was booked, by the database's clock.
    pub at: Timestamp,
    /// What the wallet gained, or lost if negative.
    pub amount: Money,
    /// The model, where it is a call's.
    pub model: Option<String>,
    /// Where the money came from, or why it was moved.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalPage {
    /// Newest first.
    pub entries: Vec<JournalEntry>,
    /// Where the next page goes on.
    pub next: Option<Next>,
}

/// Where a page goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    After(EntryId),
    /// Before this id: so far the page scanned.
    Before(Uuid),
}

/// A page of an account's entries.
pub async fn read(database: &Database, query: &JournalQuery) -> Result<JournalPage, DbError> {
    let mut session = database.session().await?;
    let Some(lifetime) = AccountLifetime::of(&mut session, query.account).await? else {
        return Ok(JournalPage::end(Vec::new()));
    };
    let most = usize::try_from(query.limit.clamp(1, MAX_PAGE)).unwrap_or(usize::MAX);
    let mut scan = DayScan::through(query.ids(lifetime));
    let mut entries: Vec<JournalEntry> = Vec::new();
    while let Some(step) = scan.step() {
        let row_limit = most.saturating_add(MOST_OF_ONE).saturating_add(1);
        let charges = read::charges(&mut session, query, step, row_limit).await?;
        let moves = read::moves(&mut session, query, step, row_limit).await?;
        let both = charges.laid_with(moves);
        entries.extend(
            both.entries
                .into_iter()
                .filter(|entry| query.is_after(entry)),
        );
        if entries.len() > most {
            entries.truncate(most);
            let next = entries.last().map(|entry| Next::After(entry.id));
            return Ok(JournalPage { entries, next });
        }
        if let Some(id) = both.ended_before {
            return Ok(JournalPage::before(entries, id));
        }
    }
    Ok(match scan.rest() {
        Some(rest) => JournalPage::before(entries, rest),
        None => JournalPage::end(entries),
    })
}

// === impl EntryKind ===

impl EntryKind {
    pub const ALL: [Self; 9] = [
        Self::Charge,
        Self::Refund,
        Self::SettlementAdjustment,
        Self::Undelivered,
        Self::TopUp,
        Self::TrialGrant,
        Self::Adjust,
        Self::Redemption,
        Self::TrialExpiry,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::SettlementAdjustment => "settlement_adjustment",
            Self::Undelivered => "undelivered",
            Self::TopUp => "top_up",
            Self::TrialGrant => "trial_grant",
            Self::Adjust => "adjust",
            Self::Redemption => "redemption",
            Self::TrialExpiry => "trial_expiry",
        }
    }

    /// The kind of a name; none if it is unknown.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

// === impl EntryId ===

impl EntryId {
    /// Newest first; a refund comes before its charge.
    const fn place(&self) -> (Reverse<RequestId>, Reverse<EntryKind>, i16) {
        let (request, kind) = (Reverse(self.request), Reverse(self.kind));
        (request, kind, self.wallet.leg())
    }
}

// === impl JournalQuery ===

impl JournalQuery {
    fn ids(&self, lifetime: AccountLifetime) -> IdRange {
        let mut ids = lifetime.ids();
        if let Some(from) = self.from {
            ids.from = ids.from.max(first_id(from));
        }
        if let Some(until) = self.until {
            ids.to = ids.to.min(first_id(until));
        }
        let end = match self.after {
            None => return ids,
            // Itself included: other entries of the same request may come after the one named.
            Some(Next::After(entry)) => {
                Uuid::from_u128(entry.request.uuid().as_u128().saturating_add(1))
            }
            Some(Next::Before(id)) => id,
        };
        ids.to = ids.to.min(end);
        ids
    }

    fn is_after(&self, entry: &JournalEntry) -> bool {
        match self.after {
            None | Some(Next::Before(_)) => true,
            Some(Next::After(after)) => entry.id.place() > after.place(),
        }
    }
}

// === impl JournalPage ===

impl JournalPage {
    const fn end(entries: Vec<JournalEntry>) -> Self {
        Self {
            entries,
            next: None,
        }
    }

    fn before(entries: Vec<JournalEntry>, id: Uuid) -> Self {
        let next = Some(Next::Before(id));
        Self { entries, next }
    }
}

// === impl Part ===

impl Part {
    /// Both in one order, as far as both were read.
    fn laid_with(self, other: Self) -> Self {
        // The later of two early ends: below it one of them is not known.
        let ended_before = self.ended_before.max(other.ended_before);
        let mut entries = self.entries;
        entries.extend(other.entries);
        entries.retain(|entry| ended_before.is_none_or(|end| entry.id.request.uuid() >= end));
        entries.sort_by_key(|entry| entry.id.place());
        Self {
            entries,
            ended_before,
        }
    }
}

/// The time to which a page scanned that continues before an id.
#[must_use]
pub fn searched_to(next: &Next) -> Option<Timestamp> {
    match next {
        Next::After(_) => None,
        Next::Before(id) => Some(time_of(*id)),
    }
}

#[cfg(test)]
mod tests;

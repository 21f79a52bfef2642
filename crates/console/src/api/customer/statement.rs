//! `/api/wallet/ledger` and its table: every movement of the organisation's money, newest first. All of
//! them together are the balance.
#![expect(
    unused_qualifications,
    reason = "the OpenAPI attribute writes the whole path of `LineQuery`"
)]

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use trunkline_ledger::accounts::Wallet;
use trunkline_ledger::journal::{
    self, EntryId, EntryKind, JournalEntry, JournalQuery, MAX_PAGE, Next, searched_to,
};
use trunkline_types::{RequestId, csv};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::amounts::WalletName;
use super::query;
use crate::error::{ApiError, ErrorBody};
use crate::session::MemberSession;
use crate::shared::Shared;
use crate::times::rfc3339;

/// Default page size.
const USUAL_PAGE: u32 = 50;
const MOST_PER_PAGE: u32 = 200;
/// Most lines of one table.
const MAX_TABLE_LINES: usize = 50_000;
/// Most questions for one table: lines that are far apart take many.
const MAX_QUESTIONS: u32 = 500;
const BEFORE: &str = "before";
const HEAD: [&str; 8] = [
    "id",
    "at",
    "kind",
    "wallet",
    "amount_usd",
    "request_id",
    "model",
    "text",
];

/// Kind of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = LedgerKind)]
pub(crate) enum EntryKindName {
    /// A call was charged.
    Charge,
    /// All that was left of a charge went back.
    Refund,
    /// The difference to a lower price went back.
    SettlementAdjustment,
    /// A charge went back because the result never reached its caller.
    Undelivered,
    /// A payment.
    TopUp,
    /// Money to try things out.
    TrialGrant,
    /// A correction by a person.
    Adjust,
    /// A code was redeemed.
    Redemption,
    /// What was left of trial credit ended.
    TrialExpiry,
}

/// Which lines. What is left out does not narrow.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LineQuery {
    /// Transactions of this kind.
    #[param(nullable = false, inline = false)]
    kind: Option<EntryKindName>,
    /// Started at or after this time: a timestamp or a UTC day.
    #[param(nullable = false, example = "2026-11-01")]
    from: Option<String>,
    /// Started at or before this time; a day includes its end.
    #[param(nullable = false, example = "2026-11-30")]
    to: Option<String>,
    /// `next` of the previous page.
    #[param(nullable = false)]
    after: Option<String>,
    /// Page size; 50 by default.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// The same of a table, which has no pages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LineTableQuery {
    /// Transactions of this kind.
    #[param(nullable = false, inline = false)]
    kind: Option<EntryKindName>,
    /// Started at or after this time: a timestamp or a UTC day.
    #[param(nullable = false, example = "2026-11-01")]
    from: Option<String>,
    /// Started at or before this time; a day includes its end.
    #[param(nullable = false, example = "2026-11-30")]
    to: Option<String>,
}

/// A page of transactions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerPage {
    /// Newest first by start of the call or transaction: a refund stands next to its charge.
    data: Vec<LedgerLine>,
    /// `after` of the next page; null at the end.
    #[schema(required)]
    next: Option<String>,
    /// How far back this page searched if it is not full; there may be more after `next`.
    #[schema(required, format = DateTime)]
    searched_to: Option<String>,
}

/// A wallet transaction.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerLine {
    /// Id.
    id: String,
    /// Booking time.
    #[schema(format = DateTime)]
    at: String,
    /// Kind.
    #[schema(inline = false)]
    kind: EntryKindName,
    /// Wallet.
    #[schema(inline = false)]
    wallet: WalletName,
    /// Amount credited, or debited if negative.
    #[schema(example = "-0.0004")]
    amount_usd: String,
    /// Request id of the call; null without a call.
    #[schema(required)]
    request_id: Option<String>,
    /// Source or reason; null if there is none.
    #[schema(required)]
    text: Option<String>,
    /// Model of the call; null without a call.
    #[schema(required)]
    model: Option<String>,
}

/// Lists the organisation's wallet transactions.
#[utoipa::path(get, path = "/api/wallet/ledger", operation_id = "list_ledger", tag = "wallet",
    params(LineQuery),
    responses((status = 200, description = "A page of transactions", body = LedgerPage)))]
pub(super) async fn lines(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<LineQuery>, QueryRejection>,
) -> Result<Json<LedgerPage>, ApiError> {
    let params = query::query(params)?;
    let journal_query = JournalQuery {
        account: own.account,
        kind: params.kind.map(EntryKindName::ledger),
        from: query::from(params.from.as_deref())?,
        until: query::until(params.to.as_deref())?,
        after: params.after.as_deref().map(next_of).transpose()?,
        limit: query::limit(params.limit, USUAL_PAGE, MOST_PER_PAGE)?,
    };
    let found = journal::read(&shared.people, &journal_query).await?;
    let searched = found.next.as_ref().and_then(searched_to);
    Ok(Json(LedgerPage {
        data: found.entries.iter().map(LedgerLine::of).collect(),
        next: found.next.map(|next| cursor(&next)),
        searched_to: searched.map(rfc3339),
    }))
}

/// The same as CSV, complete, at most 50,000 rows.
#[utoipa::path(get, path = "/api/wallet/ledger.csv", operation_id = "ledger_table", tag = "wallet",
    params(LineTableQuery),
    responses(
        (status = 200, description = "CSV with all rows", body = String, content_type = "text/csv"),
        (status = 400, description = "Invalid parameter, or too many rows", body = ErrorBody)
    ))]
pub(super) async fn table(
    State(shared): State<Shared>,
    own: MemberSession,
    params: Result<Query<LineTableQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let params = query::query(params)?;
    let mut journal_query = JournalQuery {
        account: own.account,
        kind: params.kind.map(EntryKindName::ledger),
        from: query::from(params.from.as_deref())?,
        until: query::until(params.to.as_deref())?,
        after: None,
        limit: MAX_PAGE,
    };
    let mut text = String::new();
    csv::write(&mut text, &HEAD.map(str::to_owned));
    let mut count: usize = 0;
    for _ in 0..MAX_QUESTIONS {
        let found = journal::read(&shared.people, &journal_query).await?;
        count = count.saturating_add(found.entries.len());
        if count > MAX_TABLE_LINES {
            break;
        }
        for line in &found.entries {
            csv::write(&mut text, &LedgerLine::of(line).fields());
        }
        let Some(next) = found.next else {
            return Ok(query::table("ledger", text));
        };
        journal_query.after = Some(next);
    }
    let words = format!("the export would exceed {MAX_TABLE_LINES} rows; choose fewer days");
    Err(ApiError::invalid_param("from", words))
}

/// Where the next page begins, as text that fits into an address.
fn cursor(next: &Next) -> String {
    match next {
        Next::After(line) => name_of(line),
        Next::Before(id) => format!("{BEFORE}.{}", id.simple()),
    }
}

fn next_of(text: &str) -> Result<Next, ApiError> {
    let wrong =
        || ApiError::invalid_param("after", "must be the `next` value of the previous page");
    let mut parts = text.split('.');
    let (Some(first), Some(second)) = (parts.next(), parts.next()) else {
        return Err(wrong());
    };
    let third = parts.next();
    if first == BEFORE && third.is_none() {
        let id = Uuid::try_parse(second).map_err(|_| wrong())?;
        return Ok(Next::Before(id));
    }
    let request: RequestId = first.parse().map_err(|_| wrong())?;
    let kind = EntryKind::of(second).ok_or_else(wrong)?;
    let wallets = [Wallet::Paid, Wallet::Trial].into_iter();
    let wallet = wallets.into_iter().find(|one| Some(one.as_str()) == third);
    let wallet = wallet.filter(|_| parts.next().is_none());
    Ok(Next::After(EntryId {
        request,
        kind,
        wallet: wallet.ok_or_else(wrong)?,
    }))
}

fn name_of(line: &EntryId) -> String {
    let (kind, wallet) = (line.kind.as_str(), line.wallet.as_str());
    format!("{}.{kind}.{wallet}", line.request)
}

// === impl EntryKindName ===

impl EntryKindName {
    const fn of(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Charge => Self::Charge,
            EntryKind::Refund => Self::Refund,
            EntryKind::SettlementAdjustment => Self::SettlementAdjustment,
            EntryKind::Undelivered => Self::Undelivered,
            EntryKind::TopUp => Self::TopUp,
            EntryKind::TrialGrant => Self::TrialGrant,
            EntryKind::Adjust => Self::Adjust,
            EntryKind::Redemption => Self::Redemption,
            EntryKind::TrialExpiry => Self::TrialExpiry,
        }
    }

    const fn ledger(self) -> EntryKind {
        match self {
            Self::Charge => EntryKind::Charge,
            Self::Refund => EntryKind::Refund,
            Self::SettlementAdjustment => EntryKind::SettlementAdjustment,
            Self::Undelivered => EntryKind::Undelivered,
            Self::TopUp => EntryKind::TopUp,
            Self::TrialGrant => EntryKind::TrialGrant,
            Self::Adjust => EntryKind::Adjust,
            Self::Redemption => EntryKind::Redemption,
            Self::TrialExpiry => EntryKind::TrialExpiry,
        }
    }

    /// Whether a line of this kind is about a call.
    const fn is_of_a_call(self) -> bool {
        match self {
            Self::Charge | Self::Refund | Self::SettlementAdjustment | Self::Undelivered => true,
            Self::TopUp
            | Self::TrialGrant
            | Self::Adjust
            | Self::Redemption
            | Self::TrialExpiry => false,
        }
    }
}

// === impl LedgerLine ===

impl LedgerLine {
    fn of(line: &JournalEntry) -> Self {
        let kind = EntryKindName::of(line.id.kind);
        let request = kind.is_of_a_call().then(|| line.id.request.to_string());
        Self {
            id: name_of(&line.id),
            at: rfc3339(line.at),
            kind,
            wallet: WalletName::of(line.id.wallet),
            amount_usd: line.amount.to_string(),
            request_id: request,
            text: line.text.clone(),
            model: line.model.clone(),
        }
    }

    /// As columns, in the order of [`HEAD`].
    fn fields(&self) -> [String; 8] {
        let wallet = match self.wallet {
            WalletName::Paid => Wallet::Paid,
            WalletName::Trial => Wallet::Trial,
        };
        [
            self.id.clone(),
            self.at.clone(),
            self.kind.ledger().as_str().to_owned(),
            wallet.as_str().to_owned(),
            self.amount_usd.clone(),
            self.request_id.clone().unwrap_or_default(),
            self.model.clone().unwrap_or_default(),
            self.text.clone().unwrap_or_default(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_what_it_was_made_of() {
        let request: RequestId = "req_019a5c6b7d8e7f0081828384858687aa".parse().unwrap();
        for kind in EntryKind::ALL {
            for wallet in [Wallet::Paid, Wallet::Trial] {
                let next = Next::After(EntryId {
                    request,
                    kind,
                    wallet,
                });
                assert_eq!(next_of(&cursor(&next)).unwrap(), next);
            }
        }
        let next = Next::Before(request.uuid());
        assert_eq!(next_of(&cursor(&next)).unwrap(), next);
        for wrong in [
            "",
            "x",
            "before",
            "before.x",
            "req_1.charge.paid",
            "req_019a5c6b7d8e7f0081828384858687aa.trial.paid",
            "req_019a5c6b7d8e7f0081828384858687aa.charge.paid.more",
            "req_019a5c6b7d8e7f0081828384858687aa.charge",
        ] {
            assert_eq!(next_of(wrong).unwrap_err().param, Some("after"), "{wrong}");
        }
    }

    #[test]
    fn words_are_those_of_the_ledger() {
        for kind in EntryKind::ALL {
            let word = EntryKindName::of(kind);
            assert_eq!(serde_json::to_value(word).unwrap(), kind.as_str());
            assert_eq!(word.ledger(), kind);
        }
    }
}

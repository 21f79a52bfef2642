//! The answers of `ledger.apply_<day>`, as operations have them.

use serde::Deserialize;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use trunkline_types::{AccountId, RequestId};
use uuid::Uuid;

use super::arguments::{Arguments, Place};
use super::{Applied, Events, PackedBatch, PackedHold};
use crate::admission::money;
use crate::columns::PeriodBoundary;
use crate::operations::{Answer, ExtendAnswer, Reserve, ReserveAnswer, SettleAnswer, Shortage};

/// What a batch changed. It counts once the batch is committed.
#[derive(Default)]
pub(crate) struct AppliedBatch {
    pub(super) applied: Vec<Applied>,
    pub(crate) events: Events,
    pub(super) opened: Vec<(RequestId, PackedHold)>,
    pub(super) closed: Vec<RequestId>,
    /// Reservations of requests whose holds are rows.
    pub(super) rows: Vec<RequestId>,
    /// Accounts whose budgets or keys changed.
    pub(super) stale: Vec<i64>,
}

/// A list of the answer, or nothing where no operation has such an answer.
#[derive(Deserialize)]
#[serde(transparent)]
struct List<T>(Option<Vec<Option<T>>>);

/// What a batch has that refused a reservation or raised a hold: no other row says it, so the batch's own row has it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Noted {
    /// Without it all reservations are held.
    r_codes: List<i16>,
    r_budgets: List<i64>,
    r_fits: List<i64>,
    r_reserved: List<i64>,
    r_others: List<Uuid>,
    r_same_body: List<bool>,
    r_finished: List<bool>,
    e_codes: List<i16>,
    e_held: List<i64>,
    e_budgets: List<i64>,
}

struct Lists {
    epoch_id: i32,
    r_paid: List<i64>,
    r_trial: List<i64>,
    noted: Noted,
    s_codes: List<i16>,
    s_paid: List<i64>,
    s_trial: List<i64>,
    s_charged: List<bool>,
}

/// Reads the answers in the order of the operations.
pub(super) fn read(
    batch: &PackedBatch<'_>,
    lane: i16,
    arguments: &Arguments<'_>,
    row: &PgRow,
) -> Result<AppliedBatch, sqlx::Error> {
    let lists = Lists::of(row)?;
    let mut outcome = AppliedBatch {
        events: events(row)?,
        ..AppliedBatch::default()
    };
    for place in &arguments.places {
        let applied = match *place {
            Place::Reserve(place) => match arguments.reserves.get(place) {
                Some(reserve) => {
                    let name = |position, paid, trial| PackedHold {
                        account: reserve.account,
                        day: batch.day,
                        epoch_id: lists.epoch_id,
                        lane,
                        seq: batch.seq,
                        position,
                        paid,
                        trial,
                    };
                    lists.reserved(place, reserve, name, &mut outcome)
                }
                None => Applied::Reroute,
            },
            Place::Extend(place) => {
                let request = arguments.extends.get(place).map(|(one, _)| one.request);
                lists.extended(place, request, &mut outcome)
            }
            Place::End(place) => {
                let request = arguments.ends.get(place).map(|end| end.request);
                lists.ended(place, request, &mut outcome)
            }
            Place::UnknownPayer => Applied::Answer(Answer::Reserve(ReserveAnswer::UnknownPayer)),
            Place::NoHold => Applied::Reroute,
        };
        outcome.applied.push(applied);
    }
    Ok(outcome)
}

/// What became of a hold that was to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndOfHold {
    Now,
    /// It was over, or its request has the usage row of another hold and it was released.
    Otherwise,
    /// It was moved to a row.
    IsRow,
}

/// What became of the holds, of ends alone.
pub(super) fn ends(row: &PgRow) -> Result<Vec<EndOfHold>, sqlx::Error> {
    let codes: Option<Vec<i16>> = row.try_get("s_codes")?;
    let end = |code| match code {
        0 => EndOfHold::Now,
        1 | 2 => EndOfHold::Otherwise,
        _ => EndOfHold::IsRow,
    };
    Ok(codes.unwrap_or_default().into_iter().map(end).collect())
}

fn events(row: &PgRow) -> Result<Events, sqlx::Error> {
    let accounts: Option<Vec<i64>> = row.try_get("low_accounts")?;
    let low: Option<Vec<bool>> = row.try_get("low_now")?;
    let budgets: Option<Vec<i64>> = row.try_get("reached_budgets")?;
    let starts: Option<Vec<PeriodBoundary>> = row.try_get("reached_starts")?;
    Ok(Events {
        crossed: accounts
            .unwrap_or_default()
            .into_iter()
            .map(AccountId::new)
            .zip(low.unwrap_or_default())
            .collect(),
        reached: budgets
            .unwrap_or_default()
            .into_iter()
            .zip(
                starts
                    .unwrap_or_default()
                    .into_iter()
                    .map(PeriodBoundary::number),
            )
            .collect(),
    })
}

// === impl List ===

impl<T: Copy> List<T> {
    fn of<'r>(row: &'r PgRow, name: &str) -> Result<Self, sqlx::Error>
    where
        Option<Vec<Option<T>>>: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        row.try_get(name).map(Self)
    }

    fn at(&self, place: usize) -> Option<T> {
        self.0.as_ref()?.get(place).copied().flatten()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

// === impl Lists ===

impl Lists {
    fn of(row: &PgRow) -> Result<Self, sqlx::Error> {
        let noted: Option<Json<Noted>> = row.try_get("answers")?;
        Ok(Self {
            epoch_id: row.try_get("epoch_id")?,
            r_paid: List::of(row, "r_paid")?,
            r_trial: List::of(row, "r_trial")?,
            noted: noted.map(|Json(noted)| noted).unwrap_or_default(),
            s_codes: List::of(row, "s_codes")?,
            s_paid: List::of(row, "s_paid")?,
            s_trial: List::of(row, "s_trial")?,
            s_charged: List::of(row, "s_charged")?,
        })
    }

    fn reserved(
        &self,
        place: usize,
        reserve: &Reserve,
        name: impl Fn(i32, i64, i64) -> PackedHold,
        outcome: &mut AppliedBatch,
    ) -> Applied {
        let nanos = |list: &List<i64>| list.at(place).unwrap_or(0);
        let too_little = |by| ReserveAnswer::TooLittle {
            by,
            fits: money(nanos(&self.noted.r_fits)),
            reserved: money(nanos(&self.noted.r_reserved)),
        };
        let code = match &self.noted.r_codes.0 {
            None => Some(0),
            Some(_) => self.noted.r_codes.at(place),
        };
        let answer = match (code, self.r_paid.at(place)) {
            (Some(0), Some(paid)) => {
                let trial = nanos(&self.r_trial);
                // Positions count what is held, in the order of the reservations.
                let before = i32::try_from(outcome.opened.len()).unwrap_or(i32::MAX);
                outcome
                    .opened
                    .push((reserve.request, name(before.saturating_add(1), paid, trial)));
                ReserveAnswer::Held {
                    paid: money(paid),
                    trial: money(trial),
                }
            }
            (Some(1), _) => too_little(Shortage::Wallet),
            (Some(2), _) => too_little(Shortage::Budget(nanos(&self.noted.r_budgets))),
            (Some(3), _) => ReserveAnswer::NeverToppedUp,
            (Some(4), _) => ReserveAnswer::CapacityReached,
            (Some(5), _) => match self.same_key(place) {
                Some(answer) => answer,
                None => return Applied::Reroute,
            },
            (Some(6), _) => ReserveAnswer::AlreadyResolved,
            (Some(7), _) => ReserveAnswer::UnknownPayer,
            (Some(9), _) => {
                outcome.rows.push(reserve.request);
                return Applied::Reroute;
            }
            (_, _) => {
                outcome.stale.push(reserve.account.number());
                return Applied::Reroute;
            }
        };
        Applied::Answer(Answer::Reserve(answer))
    }

    fn same_key(&self, place: usize) -> Option<ReserveAnswer> {
        Some(ReserveAnswer::SameKey {
            request: RequestId::from_uuid(self.noted.r_others.at(place)?).ok()?,
            same_body: self.noted.r_same_body.at(place)?,
            finished: self.noted.r_finished.at(place)?,
        })
    }

    fn extended(
        &self,
        place: usize,
        request: Option<RequestId>,
        outcome: &mut AppliedBatch,
    ) -> Applied {
        let total = money(self.noted.e_held.at(place).unwrap_or(0));
        let budget = self.noted.e_budgets.at(place).unwrap_or(0);
        let answer = match self.noted.e_codes.at(place) {
            Some(0) => ExtendAnswer::Held { total },
            Some(1) => ExtendAnswer::Short {
                by: Shortage::Wallet,
                total,
            },
            Some(2) => ExtendAnswer::Short {
                by: Shortage::Budget(budget),
                total,
            },
            Some(3) => ExtendAnswer::NoHold,
            Some(_) | None => {
                outcome.closed.extend(request);
                return Applied::Reroute;
            }
        };
        Applied::Answer(Answer::Extend(answer))
    }

    fn ended(
        &self,
        place: usize,
        request: Option<RequestId>,
        outcome: &mut AppliedBatch,
    ) -> Applied {
        outcome.closed.extend(request);
        let paid = money(self.s_paid.at(place).unwrap_or(0));
        let trial = money(self.s_trial.at(place).unwrap_or(0));
        let answer = match self.s_codes.at(place) {
            Some(0) => SettleAnswer::Done { paid, trial },
            Some(1) => SettleAnswer::Before {
                charged: self.s_charged.at(place).unwrap_or(false),
                paid,
                trial,
            },
            Some(2) => SettleAnswer::NoHold,
            Some(_) | None => return Applied::Reroute,
        };
        Applied::Answer(Answer::Settle(answer))
    }
}

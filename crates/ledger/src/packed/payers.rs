//! What a lane remembers of payers and terms. Both may be old: a reservation with an old revision of
//! its account is answered so, and terms are never changed.

use std::collections::BTreeSet;

use hashbrown::Equivalent;
use sqlx::{PgConnection, Row as _};
use trunkline_types::{OwnKeyHasher, OwnKeyMap};

use crate::operations::{Op, Reserve};

/// Accounts that are remembered at most; then all are read anew.
const MAX_ACCOUNTS: usize = 100_000;

/// The budgets that an account's keys count in, as of one revision of the account.
#[derive(Debug, Default)]
struct AccountBudgets {
    revision: i64,
    /// By key (0 without one); none for a key that is not of the account.
    of_key: OwnKeyMap<i64, Option<Vec<i64>>>,
}

#[derive(Debug, Default)]
pub(super) struct Payers(OwnKeyMap<i64, AccountBudgets>);

/// Numbers of what calls are made under.
#[derive(Debug, Default)]
pub(super) struct Terms(hashbrown::HashMap<Term, i32, OwnKeyHasher>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Term {
    model: String,
    endpoint: String,
    group: String,
    price_version: [u8; 32],
}

/// The terms of a reservation, as they are looked up: with the hash of a [`Term`], and without copies.
#[derive(Hash)]
struct TermRef<'a> {
    model: &'a str,
    endpoint: &'a str,
    group: &'a str,
    price_version: &'a [u8; 32],
}

// === impl Payers ===

impl Payers {
    /// The budgets of a reservation; none if its account or key is not known.
    pub(super) fn budgets(&self, reserve: &Reserve) -> Option<&[i64]> {
        let account = self.0.get(&reserve.account.number())?;
        account.of_key.get(&key_of(reserve))?.as_deref()
    }

    pub(super) fn revision(&self, account: i64) -> i64 {
        self.0.get(&account).map_or(-1, |budgets| budgets.revision)
    }

    /// The account changed.
    pub(super) fn forget(&mut self, account: i64) {
        self.0.remove(&account);
    }

    /// Reads the payers of a batch that are not known.
    pub(super) async fn load(
        &mut self,
        connection: &mut PgConnection,
        ops: &[&Op],
    ) -> Result<(), sqlx::Error> {
        if self.0.len() > MAX_ACCOUNTS {
            self.0.clear();
        }
        // All keys of such an account are read, because a newer revision lets the older ones go. A key
        // that was not the account's may have become one, and no revision is compared for it.
        let incomplete: BTreeSet<i64> = reserves(ops)
            .filter(|reserve| self.budgets(reserve).is_none())
            .map(|reserve| reserve.account.number())
            .collect();
        if incomplete.is_empty() {
            return Ok(());
        }
        let inspected: BTreeSet<(i64, i64)> = reserves(ops)
            .map(|reserve| (reserve.account.number(), key_of(reserve)))
            .filter(|(account, _)| incomplete.contains(account))
            .collect();
        let (accounts, keys): (Vec<i64>, Vec<i64>) = inspected.into_iter().unzip();
        let rows = sqlx::query(include_str!("../sql/read_payers.sql"))
            .bind(accounts)
            .bind(keys)
            .fetch_all(connection)
            .await?;
        for row in &rows {
            let revision: i64 = row.try_get("revision")?;
            let account = self.0.entry(row.try_get("account_id")?).or_default();
            if account.revision != revision {
                account.of_key.clear();
                account.revision = revision;
            }
            account
                .of_key
                .insert(row.try_get("key_id")?, row.try_get("budgets")?);
        }
        Ok(())
    }
}

// === impl Terms ===

impl Terms {
    pub(super) fn number(&self, reserve: &Reserve) -> i32 {
        let number = self.0.get(&TermRef::of(reserve));
        number.copied().unwrap_or(0)
    }

    /// Reads or writes those terms of a batch that are not known.
    pub(super) async fn load(
        &mut self,
        connection: &mut PgConnection,
        ops: &[&Op],
    ) -> Result<(), sqlx::Error> {
        let missing: BTreeSet<Term> = reserves(ops)
            .map(TermRef::of)
            .filter(|term| !self.0.contains_key(term))
            .map(|term| term.owned())
            .collect();
        for term in missing {
            // What another lane writes at this moment is not seen by the statement that waited for it,
            // and is by the next one.
            let mut id: Option<i32> = None;
            while id.is_none() {
                id = sqlx::query_scalar(include_str!("../sql/number_terms.sql"))
                    .bind(&term.model)
                    .bind(&term.endpoint)
                    .bind(&term.group)
                    .bind(term.price_version.as_slice())
                    .fetch_optional(&mut *connection)
                    .await?;
            }
            self.0.extend(id.map(|id| (term, id)));
        }
        Ok(())
    }
}

// === impl TermRef ===

impl<'a> TermRef<'a> {
    fn of(reserve: &'a Reserve) -> Self {
        Self {
            model: &reserve.model,
            endpoint: &reserve.endpoint,
            group: &reserve.group,
            price_version: &reserve.price_version,
        }
    }

    fn owned(&self) -> Term {
        Term {
            model: self.model.to_owned(),
            endpoint: self.endpoint.to_owned(),
            group: self.group.to_owned(),
            price_version: *self.price_version,
        }
    }
}

impl Equivalent<Term> for TermRef<'_> {
    fn equivalent(&self, term: &Term) -> bool {
        (self.model, self.endpoint, self.group) == (&term.model, &term.endpoint, &term.group)
            && *self.price_version == term.price_version
    }
}

fn reserves<'a>(ops: &'a [&'a Op]) -> impl Iterator<Item = &'a Reserve> {
    ops.iter().filter_map(|op| match op {
        Op::Reserve(reserve) => Some(reserve.as_ref()),
        Op::Extend(_) | Op::Settle(_) | Op::Void(_) | Op::Refund(_) | Op::WriteOff(_) => None,
    })
}

fn key_of(reserve: &Reserve) -> i64 {
    reserve.key.map_or(0, |key| key.number())
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::*;

    #[test]
    fn terms_that_are_looked_up_have_the_hash_of_those_that_are_kept() {
        let term = TermRef {
            model: "m",
            endpoint: "chat",
            group: "default",
            price_version: &[7; 32],
        };
        let hasher = OwnKeyHasher::default();
        assert_eq!(hasher.hash_one(&term), hasher.hash_one(term.owned()));
        assert!(term.equivalent(&term.owned()));
        let other = TermRef {
            group: "other",
            ..term
        };
        assert!(!other.equivalent(&term.owned()));
    }
}

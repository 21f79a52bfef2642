//! Limits of accounts with single models and platforms, in memory.

use std::sync::Arc;

use trunkline_store::limits::{RateLimit, Rates, Scope};
use trunkline_types::{AccountId, OwnKeyMap};

#[derive(Debug, Default)]
pub(crate) struct Rules {
    models: OwnKeyMap<Arc<str>, OfName>,
    platforms: OwnKeyMap<Arc<str>, OfName>,
    /// The number of the newest change that may be in here.
    pub(crate) revision: i64,
}

#[derive(Debug, Default)]
struct OfName {
    of_all: Option<Rates>,
    of_accounts: OwnKeyMap<AccountId, Rates>,
}

impl Rules {
    pub(crate) fn new(rows: Vec<RateLimit>, revision: i64) -> Self {
        let mut rules = Self {
            revision,
            ..Self::default()
        };
        for row in rows {
            let names = match row.scope {
                Scope::Model => &mut rules.models,
                Scope::Platform => &mut rules.platforms,
            };
            let of_name = names.entry(Arc::from(row.name)).or_default();
            match row.account {
                Some(account) => {
                    of_name.of_accounts.insert(account, row.rates);
                }
                None => of_name.of_all = Some(row.rates),
            }
        }
        rules
    }

    /// The limits of an account with a name: its own, or the defaults.
    pub(crate) fn of(
        &self,
        account: AccountId,
        scope: Scope,
        name: &str,
    ) -> Option<(Arc<str>, Rates)> {
        let names = match scope {
            Scope::Model => &self.models,
            Scope::Platform => &self.platforms,
        };
        let (name, of_name) = names.get_key_value(name)?;
        let own = of_name.of_accounts.get(&account);
        let rates = own.or(of_name.of_all.as_ref())?;
        Some((Arc::clone(name), *rates))
    }
}

pub fn positive(limit: i64) -> Option<u64> {
    u64::try_from(limit).ok().filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_its_own_limit_or_that_of_all() {
        let rates = |requests| Rates {
            requests_per_minute: Some(requests),
            ..Rates::default()
        };
        let row = |account: Option<i64>, scope, requests| RateLimit {
            account: account.map(AccountId::new),
            scope,
            name: "a".to_owned(),
            rates: rates(requests),
        };
        let rows = vec![
            row(None, Scope::Model, 1),
            row(Some(7), Scope::Model, 2),
            row(Some(7), Scope::Platform, 3),
        ];
        let rules = Rules::new(rows, 5);
        let of = |account, scope, name| {
            let found = rules.of(AccountId::new(account), scope, name);
            found.and_then(|(_, rates)| rates.requests_per_minute)
        };
        assert_eq!(of(7, Scope::Model, "a"), Some(2));
        assert_eq!(of(8, Scope::Model, "a"), Some(1));
        assert_eq!(of(7, Scope::Platform, "a"), Some(3));
        assert_eq!(of(8, Scope::Platform, "a"), None);
        assert_eq!(of(7, Scope::Model, "b"), None);
    }
}

//! Which routes an account is served by. A key's own setting wins where it orders, and narrows where it demands.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use trunkline_db::DbError;
use trunkline_types::Money;

use crate::policy::{MaxPrice, Policy, PolicyFields, RoutePolicy};
use crate::validation::FieldError;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountRoutes {
    /// In which order routes are tried; none means by priority.
    pub policy: Option<RoutePolicy>,
    /// Dearer routes are not taken.
    pub max_price: MaxPrice,
    /// Where upstreams keep data.
    pub residencies: Option<Vec<String>>,
    /// Only upstreams that keep nothing.
    pub upstream_zero_retention: bool,
}

// === impl AccountRoutes ===

impl AccountRoutes {
    /// The same with its words in the form in which they are kept.
    pub(crate) fn checked(&self) -> Result<Self, FieldError> {
        let policy = Policy::new(PolicyFields {
            max_price: self.max_price,
            residencies: self.residencies.clone(),
            ..PolicyFields::default()
        })?;
        Ok(Self {
            residencies: policy.fields().residencies.clone(),
            ..self.clone()
        })
    }

    /// Whether it changes anything for a key.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// What a key of the account may do. A demand that both make and nothing meets is met by no route.
    #[must_use]
    pub fn narrowed(&self, key: &Policy) -> Policy {
        let own = key.fields();
        let residencies = match (&own.residencies, &self.residencies) {
            (Some(own), Some(account)) => {
                let both = own.iter().filter(|word| account.contains(word));
                Some(both.cloned().collect())
            }
            (own, account) => own.clone().or_else(|| account.clone()),
        };
        Policy::of_row(PolicyFields {
            policy: own.policy.or(self.policy),
            max_price: own.max_price.lowest(self.max_price),
            residencies,
            upstream_zero_retention: own.upstream_zero_retention || self.upstream_zero_retention,
            ..own.clone()
        })
    }

    pub(crate) fn of_row(row: &PgRow) -> Result<Self, DbError> {
        let policy: Option<String> = row.try_get("policy")?;
        let money = |column: &str| -> Result<Option<Money>, DbError> {
            let nanos: Option<i64> = row.try_get(column)?;
            Ok(nanos.map(Money::from_nanos))
        };
        Ok(Self {
            policy: policy.as_deref().and_then(RoutePolicy::of_word),
            max_price: MaxPrice {
                input: money("max_input_nanos")?,
                output: money("max_output_nanos")?,
                unit: money("max_unit_nanos")?,
            },
            residencies: row.try_get("residencies")?,
            upstream_zero_retention: row.try_get("upstream_zero_retention")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Option<Vec<String>> {
        Some(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn a_keys_order_wins_and_its_demands_narrow_those_of_its_account() {
        let usd = |text: &str| Some(text.parse().unwrap());
        let account = AccountRoutes {
            policy: Some(RoutePolicy::Cheapest),
            max_price: MaxPrice {
                input: usd("3"),
                output: usd("10"),
                unit: None,
            },
            residencies: words(&["de", "fr"]),
            upstream_zero_retention: true,
        };
        let open = Policy::new(PolicyFields::default()).unwrap();
        let fields = account.narrowed(&open).fields().clone();
        assert_eq!(fields.policy, Some(RoutePolicy::Cheapest));
        assert_eq!(fields.max_price, account.max_price);
        assert_eq!(fields.residencies, words(&["de", "fr"]));
        assert!(fields.upstream_zero_retention);
        let own = Policy::new(PolicyFields {
            policy: Some(RoutePolicy::Fastest),
            max_price: MaxPrice {
                input: usd("5"),
                output: usd("8"),
                unit: usd("1"),
            },
            residencies: words(&["fr", "us"]),
            ..PolicyFields::default()
        });
        let fields = account.narrowed(&own.unwrap()).fields().clone();
        assert_eq!(fields.policy, Some(RoutePolicy::Fastest));
        let lowest = MaxPrice {
            input: usd("3"),
            output: usd("8"),
            unit: usd("1"),
        };
        assert_eq!(fields.max_price, lowest);
        assert_eq!(fields.residencies, words(&["fr"]));
        let elsewhere = Policy::new(PolicyFields {
            residencies: words(&["us"]),
            ..PolicyFields::default()
        });
        let fields = account.narrowed(&elsewhere.unwrap()).fields().clone();
        assert_eq!(fields.residencies, Some(Vec::new()), "nothing qualifies");
        assert!(!AccountRoutes::default().is_set() && account.is_set());
    }
}

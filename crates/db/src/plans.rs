//! How statements that are said all the time are planned: once, and by keys alone.
//!
//! A plan is made with the sizes of that moment, and the ledger's tables of a day are empty at midnight. A
//! plan of then scans the table from its beginning, or builds a hash of all of it, because there is
//! nothing in it yet; and it is kept while the table grows by thousands of rows a second, until
//! autoanalyze comes by. Each statement of the ledger names few rows by their keys, so the right plan is
//! the same at every size: a nested loop over index scans. These settings leave no other.
//!
//! | Setting | Why |
//! |---|---|
//! | `plan_cache_mode` | one plan for all arguments: a custom one is planned anew for every batch, and costs more than small batches do |
//! | `enable_seqscan` | the scan itself |
//! | `enable_hashjoin`, `enable_mergejoin`, `enable_material` | each reads all of an index instead of a few keys of it, which is the same scan by another name |
//! | `enable_memoize` | every key is asked for once; a cache of answers is work for nothing |
//! | `jit` | a step that is discouraged and yet needed is dear on paper, and would be compiled |

use sqlx::postgres::PgConnectOptions;

use crate::Pooler;

/// The settings, in the order in which `BEGIN` says them.
const SETTINGS: [(&str, &str); 7] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("enable_memoize", "off"),
    ("jit", "off"),
];

pub(crate) const BEGIN: &str = "BEGIN";
/// The same behind PgBouncer, where start-up options do not arrive and a connection serves any client after
/// the transaction.
const BEGIN_PLANNED: &str = "BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; \
    SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; \
    SET LOCAL enable_material = off; SET LOCAL enable_memoize = off; SET LOCAL jit = off";

/// Options of a connection whose statements are planned by keys, and what opens a transaction on it.
pub(crate) fn by_keys(
    options: PgConnectOptions,
    pooler: Pooler,
) -> (PgConnectOptions, &'static str) {
    match pooler {
        Pooler::Direct => (options.options(SETTINGS), BEGIN),
        Pooler::PgBouncer => (options, BEGIN_PLANNED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_postgresql_carry_the_same_settings() {
        let (direct, _) = by_keys(PgConnectOptions::new_without_pgpass(), Pooler::Direct);
        let (_, begin) = by_keys(PgConnectOptions::new_without_pgpass(), Pooler::PgBouncer);
        let options = direct.get_options().unwrap();
        let mut expected = "BEGIN".to_owned();
        for (name, value) in SETTINGS {
            assert!(options.contains(&format!("-c {name}={value}")), "{options}");
            expected.push_str(&format!("; SET LOCAL {name} = {value}"));
        }
        assert_eq!(begin, expected);
    }
}

//! The migrations this executable carries, oldest first. A new file in `migrations/` gets one entry
//! here; a test compares the two.

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};
use trunkline_types::file_instead;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// The digits of its name.
    pub(crate) version: i64,
    /// The words of its name.
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
    pub(crate) previous: Previous,
}

/// Whether the release before a migration may run on the schema after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Previous {
    /// Also of the initial set, before which there was no release.
    Runs,
    /// It uses what was taken away: all its nodes stop before the migration.
    #[expect(dead_code, reason = "no release has taken anything away yet")]
    Stops,
}

// === impl Migration ===

impl Migration {
    /// What runs: its text, or the broken one that `just gate-selftest` has made of it.
    pub(crate) fn statement(&self) -> SqlStr {
        let file = format!("migrations/{}_{}.sql", self.version, self.name);
        match file_instead(&file) {
            Some(broken) => AssertSqlSafe(broken).into_sql_str(),
            None => self.sql.into_sql_str(),
        }
    }
}

pub(crate) const MIGRATIONS: [Migration; 23] = [
    Migration {
        version: 20261126000100,
        name: "roles",
        sql: include_str!("../../../migrations/20261126000100_roles.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126000200,
        name: "clock_and_checks",
        sql: include_str!("../../../migrations/20261126000200_clock_and_checks.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126000300,
        name: "revisions_and_outbox",
        sql: include_str!("../../../migrations/20261126000300_revisions_and_outbox.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010000,
        name: "ledger_accounts",
        sql: include_str!("../../../migrations/20261126010000_ledger_accounts.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010100,
        name: "holds",
        sql: include_str!("../../../migrations/20261126010100_holds.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010200,
        name: "usage_and_transfers",
        sql: include_str!("../../../migrations/20261126010200_usage_and_transfers.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010300,
        name: "apply",
        sql: include_str!("../../../migrations/20261126010300_apply.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010400,
        name: "packed_holds",
        sql: include_str!("../../../migrations/20261126010400_packed_holds.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010500,
        name: "usage_sums",
        sql: include_str!("../../../migrations/20261126010500_usage_sums.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010600,
        name: "days",
        sql: include_str!("../../../migrations/20261126010600_days.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010700,
        name: "chain",
        sql: include_str!("../../../migrations/20261126010700_chain.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010800,
        name: "ledger_audit",
        sql: include_str!("../../../migrations/20261126010800_ledger_audit.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126010900,
        name: "hold_audit",
        sql: include_str!("../../../migrations/20261126010900_hold_audit.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126020000,
        name: "accounts_and_keys",
        sql: include_str!("../../../migrations/20261126020000_accounts_and_keys.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126020100,
        name: "channels_and_catalog",
        sql: include_str!("../../../migrations/20261126020100_channels_and_catalog.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126020200,
        name: "workflows_and_tasks",
        sql: include_str!("../../../migrations/20261126020200_workflows_and_tasks.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126020300,
        name: "social",
        sql: include_str!("../../../migrations/20261126020300_social.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126020400,
        name: "events_and_webhooks",
        sql: include_str!("../../../migrations/20261126020400_events_and_webhooks.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126030000,
        name: "people",
        sql: include_str!("../../../migrations/20261126030000_people.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126030100,
        name: "emails",
        sql: include_str!("../../../migrations/20261126030100_emails.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126030200,
        name: "credit_and_payments",
        sql: include_str!("../../../migrations/20261126030200_credit_and_payments.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126030300,
        name: "operations",
        sql: include_str!("../../../migrations/20261126030300_operations.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261126030400,
        name: "tenant_policies",
        sql: include_str!("../../../migrations/20261126030400_tenant_policies.sql"),
        previous: Previous::Runs,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "README.md" && name != "AGENTS.md")
            .collect();
        files.sort();
        let listed: Vec<String> = MIGRATIONS
            .iter()
            .map(|migration| format!("{}_{}.sql", migration.version, migration.name))
            .collect();
        assert_eq!(listed, files);
    }

    #[test]
    fn no_migration_ends_its_transaction_or_asks_the_bare_clock() {
        for migration in &MIGRATIONS {
            for line in migration.sql.lines().filter(|line| !line.starts_with("--")) {
                let words = line.to_lowercase();
                assert!(!words.contains("commit"), "{}: {line}", migration.name);
                let bare = words
                    .replace("pg_catalog.now()", "")
                    .replace("app.now()", "");
                assert!(!bare.contains("now()"), "{}: {line}", migration.name);
            }
        }
    }
}

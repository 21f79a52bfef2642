//! The migrations this executable carries, oldest first. A new file in `migrations/` gets one line
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
    Runs,
    /// It uses what was taken away: all its nodes stop before the migration.
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

pub(crate) const MIGRATIONS: [Migration; 63] = [
    Migration {
        version: 20261115000100,
        name: "roles",
        sql: include_str!("../../../migrations/20261115000100_roles.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115000200,
        name: "clock",
        sql: include_str!("../../../migrations/20261115000200_clock.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115000300,
        name: "revisions_and_outbox",
        sql: include_str!("../../../migrations/20261115000300_revisions_and_outbox.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115010000,
        name: "ledger",
        sql: include_str!("../../../migrations/20261115010000_ledger.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115010100,
        name: "ledger_audit",
        sql: include_str!("../../../migrations/20261115010100_ledger_audit.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115020000,
        name: "accounts_and_keys",
        sql: include_str!("../../../migrations/20261115020000_accounts_and_keys.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115030000,
        name: "channels",
        sql: include_str!("../../../migrations/20261115030000_channels.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115040000,
        name: "catalog",
        sql: include_str!("../../../migrations/20261115040000_catalog.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115050000,
        name: "workflows",
        sql: include_str!("../../../migrations/20261115050000_workflows.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115060000,
        name: "video_tasks",
        sql: include_str!("../../../migrations/20261115060000_video_tasks.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115065000,
        name: "schedule_by_job",
        sql: include_str!("../../../migrations/20261115065000_schedule_by_job.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261115070000,
        name: "social",
        sql: include_str!("../../../migrations/20261115070000_social.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261116000000,
        name: "events",
        sql: include_str!("../../../migrations/20261116000000_events.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261116010000,
        name: "key_lifecycle",
        sql: include_str!("../../../migrations/20261116010000_key_lifecycle.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261116020000,
        name: "limits",
        sql: include_str!("../../../migrations/20261116020000_limits.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261116030000,
        name: "stored_responses",
        sql: include_str!("../../../migrations/20261116030000_stored_responses.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261116040000,
        name: "webhooks",
        sql: include_str!("../../../migrations/20261116040000_webhooks.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261116050000,
        name: "usage_days",
        sql: include_str!("../../../migrations/20261116050000_usage_days.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117000000,
        name: "people",
        sql: include_str!("../../../migrations/20261117000000_people.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117010000,
        name: "emails",
        sql: include_str!("../../../migrations/20261117010000_emails.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117020000,
        name: "call_search",
        sql: include_str!("../../../migrations/20261117020000_call_search.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117021000,
        name: "playground",
        sql: include_str!("../../../migrations/20261117021000_playground.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117030000,
        name: "trial_credit_and_codes",
        sql: include_str!("../../../migrations/20261117030000_trial_credit_and_codes.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117040000,
        name: "sign_ups_and_oidc",
        sql: include_str!("../../../migrations/20261117040000_sign_ups_and_oidc.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261117050000,
        name: "notifications",
        sql: include_str!("../../../migrations/20261117050000_notifications.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261118010000,
        name: "losses",
        sql: include_str!("../../../migrations/20261118010000_losses.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261118020000,
        name: "unconfirmed_deliveries",
        sql: include_str!("../../../migrations/20261118020000_unconfirmed_deliveries.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261118030000,
        name: "known_devices",
        sql: include_str!("../../../migrations/20261118030000_known_devices.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261118040000,
        name: "exposure",
        sql: include_str!("../../../migrations/20261118040000_exposure.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261118060000,
        name: "late_failures",
        sql: include_str!("../../../migrations/20261118060000_late_failures.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261119010000,
        name: "on_disconnect",
        sql: include_str!("../../../migrations/20261119010000_on_disconnect.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261119010100,
        name: "served_tier",
        sql: include_str!("../../../migrations/20261119010100_served_tier.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261122010000,
        name: "editing",
        sql: include_str!("../../../migrations/20261122010000_editing.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261123030000,
        name: "key_routes",
        sql: include_str!("../../../migrations/20261123030000_key_routes.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261123030100,
        name: "outbox_leftovers",
        sql: include_str!("../../../migrations/20261123030100_outbox_leftovers.sql"),
        previous: Previous::Stops,
    },
    Migration {
        version: 20261123030200,
        name: "node_event_bus",
        sql: include_str!("../../../migrations/20261123030200_node_event_bus.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261123040000,
        name: "imported_accounts",
        sql: include_str!("../../../migrations/20261123040000_imported_accounts.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261123050000,
        name: "payments",
        sql: include_str!("../../../migrations/20261123050000_payments.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261123060000,
        name: "alarms",
        sql: include_str!("../../../migrations/20261123060000_alarms.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124200000,
        name: "operators",
        sql: include_str!("../../../migrations/20261124200000_operators.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124200100,
        name: "action_log",
        sql: include_str!("../../../migrations/20261124200100_action_log.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124200200,
        name: "scheduled_prices",
        sql: include_str!("../../../migrations/20261124200200_scheduled_prices.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124300000,
        name: "reversals_unsummed",
        sql: include_str!("../../../migrations/20261124300000_reversals_unsummed.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124300100,
        name: "margins",
        sql: include_str!("../../../migrations/20261124300100_margins.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124300200,
        name: "below_cost",
        sql: include_str!("../../../migrations/20261124300200_below_cost.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124300300,
        name: "channel_costs",
        sql: include_str!("../../../migrations/20261124300300_channel_costs.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124400000,
        name: "channel_health",
        sql: include_str!("../../../migrations/20261124400000_channel_health.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124400100,
        name: "account_routes",
        sql: include_str!("../../../migrations/20261124400100_account_routes.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124400200,
        name: "account_close",
        sql: include_str!("../../../migrations/20261124400200_account_close.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124500000,
        name: "workflow_runs",
        sql: include_str!("../../../migrations/20261124500000_workflow_runs.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261124600000,
        name: "upgrades",
        sql: include_str!("../../../migrations/20261124600000_upgrades.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125020000,
        name: "live_connections",
        sql: include_str!("../../../migrations/20261125020000_live_connections.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125030000,
        name: "low_balance_email",
        sql: include_str!("../../../migrations/20261125030000_low_balance_email.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125030100,
        name: "low_balance_notice",
        sql: include_str!("../../../migrations/20261125030100_low_balance_notice.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125500000,
        name: "usage_retention",
        sql: include_str!("../../../migrations/20261125500000_usage_retention.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125500100,
        name: "media_key",
        sql: include_str!("../../../migrations/20261125500100_media_key.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125500200,
        name: "zero_retention_tasks",
        sql: include_str!("../../../migrations/20261125500200_zero_retention_tasks.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125600000,
        name: "charges_are_usage",
        sql: include_str!("../../../migrations/20261125600000_charges_are_usage.sql"),
        previous: Previous::Stops,
    },
    Migration {
        version: 20261125610000,
        name: "packed_holds",
        sql: include_str!("../../../migrations/20261125610000_packed_holds.sql"),
        previous: Previous::Stops,
    },
    Migration {
        version: 20261125620000,
        name: "usage_chain",
        sql: include_str!("../../../migrations/20261125620000_usage_chain.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125620100,
        name: "chain_transfers",
        sql: include_str!("../../../migrations/20261125620100_chain_transfers.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125700000,
        name: "views_of_the_caller",
        sql: include_str!("../../../migrations/20261125700000_views_of_the_caller.sql"),
        previous: Previous::Runs,
    },
    Migration {
        version: 20261125700100,
        name: "tenant_policies",
        sql: include_str!("../../../migrations/20261125700100_tenant_policies.sql"),
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

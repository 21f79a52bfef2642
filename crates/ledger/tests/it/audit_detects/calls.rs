//! Holds, budgets and lives of nodes that are not what they should be.

use super::scene::detects;

#[tokio::test]
async fn a_void_after_a_settlement_is_found() {
    detects(
        "UPDATE ledger.hold SET state = 'voided' WHERE request_id = scene.id('charged')",
        &["hold_and_usage_disagree"],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET state = 'voided' WHERE request_id = scene.id('charged');
         UPDATE ledger.account SET paid_posted = paid_posted + 45 WHERE id = 1001",
        &[
            "balance_is_not_its_transfers",
            "books_do_not_balance",
            "hold_and_usage_disagree",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_settlement_after_a_void_is_found() {
    detects(
        "UPDATE ledger.account SET paid_posted = paid_posted - 30 WHERE id = 1001;
         UPDATE ledger.hold SET state = 'settled', resolved_at = app.now() WHERE request_id = scene.id('voided')",
        &[
            "balance_is_not_its_transfers",
            "books_do_not_balance",
            "hold_and_usage_disagree",
        ],
    )
    .await;
    detects(
        "UPDATE ledger.account SET paid_posted = paid_posted - 30 WHERE id = 1001;
         UPDATE ledger.usage SET paid = 30, outcome = 'complete' WHERE request_id = scene.id('voided')",
        &["hold_and_usage_disagree"],
    )
    .await;
}

#[tokio::test]
async fn a_hold_that_is_never_voided_is_found() {
    detects(
        "UPDATE ledger.node SET epoch = 3 WHERE name = 'n1';
         INSERT INTO ledger.node_epoch (node, epoch) VALUES ('n1', 3)",
        &["hold_overdue"],
    )
    .await;
    detects(
        "DELETE FROM ledger.node WHERE name = 'n1'",
        &["hold_overdue"],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET deadline = app.now() - interval '23 hours' WHERE request_id = scene.id('waiting')",
        &[],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET deadline = app.now() - interval '25 hours' WHERE request_id = scene.id('waiting')",
        &["hold_overdue"],
    )
    .await;
}

#[tokio::test]
async fn a_hold_that_is_resolved_twice_is_found() {
    detects(
        "UPDATE ledger.account SET paid_held = paid_held - 30 WHERE id = 1001",
        &["held_is_not_its_holds"],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET resolved_at = app.now() WHERE request_id = scene.id('voided')",
        &["hold_and_usage_disagree"],
    )
    .await;
}

#[tokio::test]
async fn a_charge_above_its_hold_is_found() {
    detects(
        "ALTER TABLE ledger.usage DROP CONSTRAINT usage_is_sound;
         UPDATE ledger.usage SET paid = 51 WHERE request_id = scene.id('charged');
         UPDATE ledger.account SET paid_posted = paid_posted - 6 WHERE id = 1001",
        &["charge_above_hold"],
    )
    .await;
}

#[tokio::test]
async fn a_balance_below_nothing_is_found_though_its_check_is_gone() {
    detects(
        "ALTER TABLE ledger.account DROP CONSTRAINT account_covers_holds;
         UPDATE ledger.hold SET paid = 5000 WHERE request_id = scene.id('open');
         UPDATE ledger.account SET paid_held = paid_held + 4970 WHERE id = 1001",
        &["overspent"],
    )
    .await;
    detects(
        "ALTER TABLE ledger.account DROP CONSTRAINT account_covers_holds;
         UPDATE ledger.account SET trial_held = -1 WHERE id = 1001",
        &["held_is_not_its_holds", "overspent"],
    )
    .await;
}

#[tokio::test]
async fn a_budget_that_was_not_given_back_or_twice_is_found() {
    detects(
        "UPDATE ledger.budget_period SET used = used + 30 WHERE budget_id = 2",
        &["budget_is_not_its_calls"],
    )
    .await;
    detects(
        "UPDATE ledger.budget_period SET used = used - 30 WHERE budget_id = 3",
        &["budget_is_not_its_calls"],
    )
    .await;
    detects(
        "DELETE FROM ledger.budget_period WHERE budget_id = 3",
        &["budget_is_not_its_calls"],
    )
    .await;
}

#[tokio::test]
async fn a_budget_used_beyond_its_limit_is_found_though_its_check_is_gone() {
    detects(
        "ALTER TABLE ledger.budget_period DROP CONSTRAINT budget_period_within_cap;
         UPDATE ledger.hold SET paid = paid + 400 WHERE request_id = scene.id('running');
         UPDATE ledger.account SET paid_held = paid_held + 400 WHERE id = 1000;
         UPDATE ledger.budget_period SET used = used + 400",
        &["budget_passed"],
    )
    .await;
}

#[tokio::test]
async fn a_budget_that_a_sub_key_went_around_is_found() {
    detects(
        "UPDATE ledger.hold SET budget_ids = budget_ids[1:1] || budget_ids[3:3],
             budget_starts = budget_starts[1:1] || budget_starts[3:3]
         WHERE request_id = scene.id('split');
         UPDATE ledger.budget_period SET used = used - 70 WHERE budget_id = 2",
        &["budget_bypassed"],
    )
    .await;
    // It counts, but in a day that is over.
    detects(
        "UPDATE ledger.hold SET budget_starts = budget_starts[1:2] || (budget_starts[3] - interval '1 day')
         WHERE request_id = scene.id('running');
         UPDATE ledger.budget_period SET used = used - 25 WHERE budget_id = 3;
         INSERT INTO ledger.budget_period SELECT budget_id, starts_at - interval '1 day', starts_at, 25, cap
         FROM ledger.budget_period WHERE budget_id = 3",
        &["budget_bypassed"],
    )
    .await;
}

#[tokio::test]
async fn a_key_that_lost_its_parent_or_is_not_of_the_account_is_found() {
    detects(
        "UPDATE ledger.spender SET chain = '{2}' WHERE key_id = 2",
        &["budget_of_another_key"],
    )
    .await;
    detects(
        "UPDATE ledger.spender SET chain = '{2,9}' WHERE key_id = 2",
        &["budget_of_another_key", "key_chain_is_broken"],
    )
    .await;
    detects(
        "INSERT INTO ledger.spender (key_id, account_id, chain) VALUES (9, 1001, '{9,1}')",
        &["key_chain_is_broken"],
    )
    .await;
    for table in ["hold", "usage"] {
        let statement =
            format!("UPDATE ledger.{table} SET key_id = 1 WHERE request_id = scene.id('charged')");
        let mut views = vec!["hold_and_usage_disagree"];
        if table == "hold" {
            views.push("unknown_spender");
        }
        detects(statement.leak(), &views).await;
    }
}

#[tokio::test]
async fn what_a_life_wrote_that_is_over_or_never_began_is_found() {
    detects(
        "UPDATE ledger.hold SET node = 'n2', epoch = 2 WHERE request_id = scene.id('charged');
         UPDATE ledger.usage SET node = 'n2', epoch = 2 WHERE request_id = scene.id('charged')",
        &["stale_epoch"],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET epoch = 9 WHERE request_id = scene.id('charged');
         UPDATE ledger.usage SET epoch = 9 WHERE request_id = scene.id('charged')",
        &["stale_epoch"],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET node = 'n2', epoch = 2 WHERE request_id = scene.id('open')",
        &["hold_overdue", "stale_epoch"],
    )
    .await;
    detects(
        "UPDATE ledger.usage SET node = 'n2', epoch = 2 WHERE request_id = scene.id('task')",
        &["stale_epoch"],
    )
    .await;
}

#[tokio::test]
async fn a_call_that_another_life_charged_is_found() {
    detects(
        "UPDATE ledger.usage SET node = 'n2', epoch = 3 WHERE request_id = scene.id('charged')",
        &["resolved_by_another_node"],
    )
    .await;
    detects(
        "UPDATE ledger.usage SET node = 'n2', epoch = 3 WHERE request_id = scene.id('task')",
        &[],
    )
    .await;
}

#[tokio::test]
async fn a_delivery_in_doubt_of_a_call_that_cost_nothing_is_found() {
    detects(
        "INSERT INTO ledger.unconfirmed_delivery SELECT scene.id('charged'), account_id
         FROM ledger.usage WHERE request_id = scene.id('charged')",
        &[],
    )
    .await;
    detects(
        "INSERT INTO ledger.unconfirmed_delivery VALUES (scene.id('open'), 1001)",
        &["unconfirmed_delivery_was_not_charged"],
    )
    .await;
}

#[tokio::test]
async fn a_late_failure_of_a_call_that_keeps_its_charge_is_found() {
    detects(
        "INSERT INTO ledger.late_failure
             (request_id, account_id, outcome, day, key_id, model, endpoint, group_name)
         SELECT request_id, account_id, 'upstream_failed', (settled_at AT TIME ZONE 'UTC')::date,
             COALESCE(key_id, 0), model, endpoint, group_name
         FROM ledger.usage WHERE request_id = scene.id('charged')",
        &["late_failure_was_kept"],
    )
    .await;
}

#[tokio::test]
async fn a_late_failure_that_counts_for_another_model_is_found() {
    detects(
        "INSERT INTO ledger.late_failure
             (request_id, account_id, outcome, day, key_id, model, endpoint, group_name)
         SELECT request_id, account_id, 'upstream_failed', (settled_at AT TIME ZONE 'UTC')::date,
             COALESCE(key_id, 0), 'another', endpoint, group_name
         FROM ledger.usage WHERE request_id = scene.id('charged')",
        &["late_failure_was_kept", "usage_day_disagrees"],
    )
    .await;
}

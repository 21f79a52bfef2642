//! Money that moved without a reason, twice, or to the wrong wallet.

use super::scene::detects;

#[tokio::test]
async fn a_settlement_that_was_told_and_never_written_is_an_overdue_hold() {
    detects(
        "UPDATE ledger.hold SET deadline = app.now() - interval '4 minutes' WHERE request_id = scene.id('open')",
        &[],
    )
    .await;
    detects(
        "UPDATE ledger.hold SET deadline = app.now() - interval '6 minutes' WHERE request_id = scene.id('open')",
        &["hold_overdue"],
    )
    .await;
}

#[tokio::test]
async fn a_settlement_of_which_only_the_hold_was_written_is_found() {
    detects(
        "UPDATE ledger.hold SET state = 'settled', resolved_at = app.now() WHERE request_id = scene.id('open');
         UPDATE ledger.account SET paid_held = paid_held - 30 WHERE id = 1001",
        &["hold_and_usage_disagree"],
    )
    .await;
    detects(
        "DELETE FROM ledger.hold WHERE request_id = scene.id('open')",
        &["held_is_not_its_holds"],
    )
    .await;
}

/// Everything that a charge of `call` wrote, written once more under the id beside it.
const DUPLICATE: &str = "
    CREATE FUNCTION scene.again(call text, its_owner uuid) RETURNS void LANGUAGE sql AS $again$
        INSERT INTO ledger.hold
        SELECT r.* FROM ledger.hold AS h, LATERAL jsonb_populate_record(h, jsonb_build_object(
            'request_id', scene.beside(call), 'owner_id', its_owner)) AS r
        WHERE h.request_id = scene.id(call);
        INSERT INTO ledger.usage
        SELECT r.* FROM ledger.usage AS u, LATERAL jsonb_populate_record(u, jsonb_build_object(
            'request_id', scene.beside(call))) AS r
        WHERE u.request_id = scene.id(call);
        UPDATE ledger.account SET paid_posted = paid_posted - u.paid
        FROM ledger.usage AS u WHERE u.request_id = scene.id(call) AND id = 1001;
    $again$;";

#[tokio::test]
async fn work_that_is_charged_again_under_another_id_is_found() {
    for (call, owner, view) in [
        ("charged", "scene.id('charged')", "work_charged_twice"),
        ("task", "scene.id('task')", "work_charged_twice"),
        (
            "named",
            "scene.beside('named')",
            "idempotency_key_taken_twice",
        ),
    ] {
        let statement = format!("{DUPLICATE} SELECT scene.again('{call}', {owner})");
        detects(statement.leak(), &[view]).await;
    }
}

#[tokio::test]
async fn the_audit_finds_a_charge_without_a_balance_change_and_the_reverse() {
    let both = ["balance_is_not_its_transfers", "books_do_not_balance"];
    detects(
        "UPDATE ledger.account SET paid_posted = paid_posted + 45 WHERE id = 1001",
        &both,
    )
    .await;
    detects(
        "UPDATE ledger.account SET trial_posted = trial_posted + 1 WHERE id = 1001",
        &both,
    )
    .await;
    detects(
        "UPDATE ledger.account SET paid_posted = paid_posted - 1, trial_posted = trial_posted + 1 WHERE id = 1001",
        &["balance_is_not_its_transfers"],
    )
    .await;
}

#[tokio::test]
async fn a_charge_that_is_refunded_twice_is_found() {
    detects(
        "INSERT INTO ledger.transfer SELECT scene.id('charged'), kind, 0, 1001, -1, 2002, 45, app.now()
         FROM unnest(ARRAY['refund', 'settlement_adjustment']) AS kind;
         UPDATE ledger.account SET paid_posted = paid_posted + 90 WHERE id = 1001",
        &["wrong_refund"],
    )
    .await;
    detects(
        "ALTER TABLE ledger.transfer DROP CONSTRAINT transfer_pkey;
         INSERT INTO ledger.transfer SELECT scene.id('charged'), 'refund', 0, 1001, -1, 2002, 10, app.now()
         FROM generate_series(1, 2);
         UPDATE ledger.account SET paid_posted = paid_posted + 20 WHERE id = 1001",
        &["wrong_refund"],
    )
    .await;
}

#[tokio::test]
async fn a_refund_to_the_other_wallet_is_found() {
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.id('charged'), 'refund', 1, 1001, -1, 2003, 45, app.now());
         UPDATE ledger.account SET trial_posted = trial_posted + 45 WHERE id = 1001",
        &["wrong_refund"],
    )
    .await;
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.id('charged'), 'refund', 0, 1001, -1, 2003, 45, app.now());
         UPDATE ledger.account SET trial_posted = trial_posted + 45 WHERE id = 1001",
        &["transfer_party_unknown"],
    )
    .await;
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.id('charged'), 'refund', 0, 1000, -1, 2000, 45, app.now());
         UPDATE ledger.account SET paid_posted = paid_posted + 45 WHERE id = 1000",
        &["wrong_refund"],
    )
    .await;
}

#[tokio::test]
async fn a_partial_refund_to_the_trial_wallet_before_the_paid_one_is_found() {
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.id('split'), 'refund', 1, 1000, -1, 2001, 10, app.now());
         UPDATE ledger.account SET trial_posted = trial_posted + 10 WHERE id = 1000;
         UPDATE ledger.budget_period SET used = used - 10",
        &["wrong_refund"],
    )
    .await;
}

#[tokio::test]
async fn a_refund_above_its_charge_and_one_without_a_charge_are_found() {
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.id('charged'), 'refund', 0, 1001, -1, 2002, 46, app.now());
         UPDATE ledger.account SET paid_posted = paid_posted + 46 WHERE id = 1001",
        &["wrong_refund"],
    )
    .await;
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.id('voided'), 'refund', 0, 1001, -1, 2002, 1, app.now());
         UPDATE ledger.account SET paid_posted = paid_posted + 1 WHERE id = 1001",
        &["wrong_refund"],
    )
    .await;
}

#[tokio::test]
async fn a_transfer_that_was_edited_is_found() {
    let both = ["balance_is_not_its_transfers", "books_do_not_balance"];
    detects(
        "UPDATE ledger.transfer SET amount = amount - 1 WHERE request_id = scene.id('refunded')",
        &[
            "balance_is_not_its_transfers",
            "books_do_not_balance",
            "budget_is_not_its_calls",
        ],
    )
    .await;
    detects(
        "UPDATE ledger.transfer SET debit = -3 WHERE request_id = scene.id('refunded')",
        &["transfer_the_wrong_way"],
    )
    .await;
    detects(
        "UPDATE ledger.transfer SET debit = -9 WHERE request_id = scene.id('refunded')",
        &["transfer_party_unknown", "transfer_the_wrong_way"],
    )
    .await;
    detects(
        "DELETE FROM ledger.transfer WHERE request_id = scene.id('refunded')",
        &[
            "balance_is_not_its_transfers",
            "books_do_not_balance",
            "budget_is_not_its_calls",
        ],
    )
    .await;
    detects(
        "DELETE FROM ledger.transfer WHERE request_id = scene.id('refunded') AND kind = 'refund';
         UPDATE ledger.account SET paid_posted = paid_posted - 40 WHERE id = 1000",
        &["budget_is_not_its_calls"],
    )
    .await;
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.beside('charged'), 'day_total', 0, 1001, 2002, -1, 1, app.now())",
        &both,
    )
    .await;
}

#[tokio::test]
async fn a_day_that_was_dropped_without_its_totals_is_found() {
    detects(
        "DO $$ BEGIN EXECUTE format('DROP TABLE ledger.%I',
             'usage_' || to_char((app.now() AT TIME ZONE 'UTC')::date - 1, 'YYYYMMDD')); END $$",
        &["day_missing"],
    )
    .await;
}

#[tokio::test]
async fn a_usage_row_that_is_missing_or_tells_something_else_is_found() {
    let both = ["balance_is_not_its_transfers", "books_do_not_balance"];
    detects(
        "UPDATE ledger.usage SET paid = 44 WHERE request_id = scene.id('charged')",
        &both,
    )
    .await;
    detects(
        "ALTER TABLE ledger.usage DROP CONSTRAINT usage_is_sound;
         UPDATE ledger.usage SET paid = trial, trial = paid WHERE request_id = scene.id('charged');
         UPDATE ledger.hold SET trial = 50 WHERE request_id = scene.id('charged')",
        &["balance_is_not_its_transfers"],
    )
    .await;
    detects(
        "DELETE FROM ledger.usage WHERE request_id = scene.id('charged')",
        &[
            "balance_is_not_its_transfers",
            "books_do_not_balance",
            "hold_and_usage_disagree",
        ],
    )
    .await;
    detects(
        "DELETE FROM ledger.usage WHERE request_id = scene.id('voided')",
        &["hold_and_usage_disagree"],
    )
    .await;
    detects(
        "UPDATE ledger.usage SET model = 'another' WHERE request_id = scene.id('charged')",
        &["hold_and_usage_disagree"],
    )
    .await;
    detects(
        "ALTER TABLE ledger.usage DROP CONSTRAINT usage_is_sound;
         UPDATE ledger.usage SET outcome = 'upstream_failed' WHERE request_id = scene.id('charged')",
        &["failure_was_charged"],
    )
    .await;
}

#[tokio::test]
async fn a_price_version_that_is_not_of_the_hold_is_found() {
    detects(
        "UPDATE ledger.usage SET price_version = sha256('other') WHERE request_id = scene.id('voided')",
        &["other_price_version"],
    )
    .await;
}

#[tokio::test]
async fn a_payment_that_was_applied_twice_is_found() {
    detects(
        "INSERT INTO ledger.transfer VALUES (scene.beside('charged'), 'top_up', 0, 1001, -2, 2002, 1000, app.now());
         UPDATE ledger.account SET paid_posted = paid_posted + 1000 WHERE id = 1001",
        &["top_up_is_not_its_transfer"],
    )
    .await;
    detects(
        "ALTER TABLE ledger.top_up DROP CONSTRAINT top_up_pkey;
         INSERT INTO ledger.top_up SELECT provider, event_id, scene.beside('charged'), account_id, wallet, amount, at
         FROM ledger.top_up WHERE account_id = 1001;
         INSERT INTO ledger.transfer VALUES (scene.beside('charged'), 'top_up', 0, 1001, -2, 2002, 1000, app.now());
         UPDATE ledger.account SET paid_posted = paid_posted + 1000 WHERE id = 1001",
        &["top_up_is_not_its_transfer"],
    )
    .await;
    detects(
        "ALTER TABLE ledger.transfer DROP CONSTRAINT transfer_pkey;
         INSERT INTO ledger.transfer SELECT * FROM ledger.transfer WHERE kind = 'top_up' AND account_id = 1001;
         UPDATE ledger.account SET paid_posted = paid_posted + 1000 WHERE id = 1001",
        &["top_up_is_not_its_transfer"],
    )
    .await;
}

#[tokio::test]
async fn a_correction_of_another_wallet_and_a_place_too_many_are_found() {
    detects(
        "UPDATE ledger.adjustment SET account_id = 1000",
        &["adjustment_is_not_its_transfer"],
    )
    .await;
    detects(
        "UPDATE ledger.adjustment SET wallet = 'trial'",
        &["adjustment_is_not_its_transfer"],
    )
    .await;
    detects(
        "UPDATE ledger.capacity SET used = 0",
        &["capacity_is_not_its_calls"],
    )
    .await;
    detects(
        "ALTER TABLE ledger.capacity DROP CONSTRAINT capacity_within_cap; UPDATE ledger.capacity SET cap = 0",
        &["capacity_is_not_its_calls"],
    )
    .await;
}

#[tokio::test]
async fn the_audit_finds_a_stored_response_past_its_retention() {
    detects(
        "UPDATE ledger.idempotency SET response = 'sealed', created_at = created_at - interval '49 hours'",
        &["stored_response_overdue"],
    )
    .await;
}

#[tokio::test]
async fn sums_of_a_day_that_are_not_its_calls_and_refunds_are_found() {
    for statement in [
        "UPDATE ledger.usage_day SET paid = paid + 1 WHERE account_id = 1001",
        "UPDATE ledger.usage_day SET calls = calls + 1 WHERE account_id = 1001",
        "UPDATE ledger.usage_day SET failed = failed - 1 WHERE account_id = 1001 AND failed > 0",
        "UPDATE ledger.usage_day SET input_units = input_units + 1 WHERE account_id = 1001",
        "UPDATE ledger.usage_day SET cost = cost + 1 WHERE account_id = 1001",
        "UPDATE ledger.usage_day SET refunded = refunded + 1 WHERE account_id = 1000",
        "UPDATE ledger.usage_day SET model = 'another' WHERE account_id = 1001",
        "UPDATE ledger.usage_day SET day = day - 1 WHERE account_id = 1001",
        "DELETE FROM ledger.usage_day WHERE account_id = 1001",
    ] {
        let statement = format!("SELECT ledger.sum_up(1000); {statement}");
        detects(statement.leak(), &["usage_day_disagrees"]).await;
    }
    for statement in [
        "DELETE FROM ledger.usage_unsummed",
        "INSERT INTO ledger.usage_unsummed SELECT * FROM ledger.usage_unsummed",
    ] {
        detects(statement, &["usage_day_disagrees"]).await;
    }
    detects("SELECT ledger.sum_up(1000)", &[]).await;
}

#[tokio::test]
async fn margins_of_a_day_that_are_not_the_sums_of_its_usage_are_found() {
    for statement in [
        "UPDATE ledger.margin_day SET paid = paid + 1 WHERE account_id = 1001 AND channel_id = -1",
        "UPDATE ledger.margin_day SET cost = cost + 1 WHERE account_id = 0",
        "UPDATE ledger.margin_day SET refunded = refunded + 1 WHERE account_id = 1000",
        "UPDATE ledger.margin_day SET channel_id = 5 WHERE account_id = 0",
        "UPDATE ledger.margin_day SET below_cost_loss = below_cost_loss + 1 WHERE account_id = 0",
        "DELETE FROM ledger.margin_day WHERE account_id = 1001",
    ] {
        let statement = format!("SELECT ledger.sum_up(1000); {statement}");
        detects(statement.leak(), &["margin_day_disagrees"]).await;
    }
    detects(
        "INSERT INTO ledger.reversal_unsummed SELECT request_id, at, amount, 0 FROM ledger.transfer WHERE kind = 'refund'",
        &["margin_day_disagrees"],
    )
    .await;
}

#[tokio::test]
async fn an_account_that_was_not_told_of_its_low_balance_is_found() {
    detects(
        "UPDATE ledger.account SET low_balance_nanos = 1000000 WHERE id = 1001",
        &["low_balance_flag_wrong"],
    )
    .await;
    detects(
        "UPDATE ledger.account SET low_balance_nanos = 1, balance_low = true WHERE id = 1001",
        &["low_balance_flag_wrong"],
    )
    .await;
}

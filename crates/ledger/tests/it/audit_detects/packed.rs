//! Packed holds that are not what they should be.

use super::scene::detects;

#[tokio::test]
async fn a_settlement_of_a_hold_that_was_never_written_is_found() {
    detects(
        "UPDATE ledger.usage SET hold_seq = 999 WHERE request_id = scene.id('packed')",
        &[
            "held_is_not_its_holds",
            "hold_and_usage_disagree",
            "usage_is_not_its_packed_hold",
        ],
    )
    .await;
    detects(
        "UPDATE ledger.usage SET held_paid = held_paid + 1 WHERE request_id = scene.id('packed')",
        &["usage_is_not_its_packed_hold"],
    )
    .await;
}

#[tokio::test]
async fn a_usage_row_without_its_batch_is_found() {
    detects(
        "UPDATE ledger.usage SET batch_seq = NULL WHERE request_id = scene.id('packed')",
        &["usage_is_not_its_packed_hold"],
    )
    .await;
}

#[tokio::test]
async fn an_end_that_is_none_is_found() {
    detects(
        "UPDATE ledger.usage SET outcome = 'lost' WHERE request_id = scene.id('voided')",
        &["unknown_outcome"],
    )
    .await;
}

#[tokio::test]
async fn a_batch_whose_lists_differ_in_length_is_found() {
    detects(
        "UPDATE ledger.hold_batch SET paid_only = paid_only || false
         WHERE scene.id('packed open') = ANY (request_ids)",
        &["batch_is_uneven"],
    )
    .await;
}

#[tokio::test]
async fn a_batch_that_was_written_a_second_time_is_found() {
    detects(
        "INSERT INTO ledger.hold_batch
         SELECT r.* FROM ledger.hold_batch AS b, LATERAL jsonb_populate_record(b, jsonb_build_object(
             'day', b.day + 1)) AS r
         WHERE scene.id('packed open') = ANY (b.request_ids)",
        &[
            "batch_written_twice",
            "held_is_not_its_holds",
            "request_held_twice",
        ],
    )
    .await;
}

#[tokio::test]
async fn an_open_hold_below_the_watermark_is_found() {
    detects(
        "INSERT INTO ledger.hold_watermark (epoch_id, lane, seq)
             SELECT DISTINCT epoch_id, lane, 1000000 FROM ledger.hold_batch",
        &["packed_hold_below_watermark"],
    )
    .await;
}

#[tokio::test]
async fn an_extension_of_another_hold_or_of_no_batch_is_found() {
    detects(
        "UPDATE ledger.hold_extension SET batch_seq = 999",
        &["extension_out_of_place"],
    )
    .await;
    detects(
        "UPDATE ledger.hold_extension SET position = 99",
        &["extension_out_of_place", "held_is_not_its_holds"],
    )
    .await;
}

#[tokio::test]
async fn a_hold_that_was_released_though_no_other_was_charged_is_found() {
    detects(
        "INSERT INTO ledger.hold_release
         SELECT h.day, h.epoch_id, h.lane, h.seq, h.position, h.request_id, h.account_id, h.paid, h.trial, app.now()
         FROM ledger.packed_hold AS h WHERE h.request_id = scene.id('packed open')",
        &["held_is_not_its_holds", "wrong_release"],
    )
    .await;
}

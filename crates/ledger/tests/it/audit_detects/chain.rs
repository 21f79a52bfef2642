//! A hash chain that was broken.

use super::scene::detects;

#[tokio::test]
async fn a_day_that_does_not_follow_or_has_other_lines_is_found() {
    detects(
        "INSERT INTO ledger.chain_day (account_id, day, first_number, lines)
             VALUES (1000, (app.now() AT TIME ZONE 'UTC')::date, 2, 1)",
        &["chain_broken"],
    )
    .await;
    detects(
        "INSERT INTO ledger.chain_day (account_id, day, first_number, lines)
             VALUES (1000, (app.now() AT TIME ZONE 'UTC')::date, 1, 2);
         INSERT INTO ledger.chain_link (account_id, day, first_number, first_at, last_at, entries)
             VALUES (1000, (app.now() AT TIME ZONE 'UTC')::date, 1, app.now(), app.now(), decode(repeat('00', 49), 'hex'))",
        &["chain_broken"],
    )
    .await;
}

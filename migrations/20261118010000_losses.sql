-- Why a call was charged less than it used: beside the wallets (`overrun`), a budget, the caller's own limit
-- and the quote's maximum. NOT VALID, because every row that is there has a reason of the shorter list.
ALTER TABLE ledger.write_off DROP CONSTRAINT write_off_reason;
ALTER TABLE ledger.write_off ADD CONSTRAINT write_off_reason CHECK (reason IN (
    'crash', 'expired', 'drain', 'database_away', 'overrun', 'late_result', 'unknown_outcome',
    'budget', 'max_cost', 'quote_maximum')) NOT VALID;

-- The operator's losses of each day, by whom and by what they were made. The channel is the last one that was
-- called; none if no call left. `sale` is what customers would have paid, `cost` what upstreams may bill.
CREATE VIEW ledger.loss_day AS
SELECT (w.at AT TIME ZONE 'UTC')::date AS day, w.account_id, h.model, (u.attempts -> -1 ->> 'channel')::bigint AS channel_id,
    w.reason, count(*) AS calls, COALESCE(sum(w.sale), 0)::bigint AS sale, COALESCE(sum(w.cost), 0)::bigint AS cost
FROM ledger.write_off AS w
LEFT JOIN ledger.hold AS h USING (request_id)
LEFT JOIN ledger.usage AS u USING (request_id)
GROUP BY (w.at AT TIME ZONE 'UTC')::date, w.account_id, h.model, (u.attempts -> -1 ->> 'channel')::bigint, w.reason;
COMMENT ON VIEW ledger.loss_day IS 'what was not charged, by day, account, model, channel and reason';
GRANT SELECT ON ledger.loss_day TO trunkline_console;

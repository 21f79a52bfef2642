-- Calls whose upstream may bill what the customer does not pay, one row each. The operator bears them by promise,
-- so none is an error and no audit view has them; many of one account are an attack or a defect. `sale` is what
-- the customer would have paid, null where that is not known.
--
-- overrun      used more than its wallets, its budgets, the caller's limit or its quote allowed
-- unbilled     the other write-offs: a crash, an expired hold, a drain, a database that was away, a late result
-- undelivered  charged, and refunded because the client did not take the answer
-- interrupted  the client left: before its answer, or in a stream whose usage is an estimate
--
-- Query it with a bound of request ids, which leads to the tables of a few days.

-- Calls that their clients left are few, and no other call pays for this index. On an installation with many days,
-- make it on each day's table beforehand with CREATE INDEX CONCURRENTLY, as for the call search.
CREATE INDEX usage_left ON ledger.usage (request_id) WHERE outcome IN ('client_gone', 'cancelled');

CREATE VIEW ledger.exposure AS
SELECT w.request_id, w.at, w.account_id,
    CASE WHEN w.reason IN ('overrun', 'budget', 'max_cost', 'quote_maximum') THEN 'overrun' ELSE 'unbilled' END AS kind,
    w.sale
FROM ledger.write_off AS w
UNION ALL
-- A charge that was written although its database was away is written off too, and counts there.
SELECT t.request_id, min(t.at), t.account_id, 'undelivered', sum(t.amount)::bigint
FROM ledger.transfer AS t
WHERE t.kind = 'undelivered' AND NOT EXISTS (
    SELECT FROM ledger.write_off AS w WHERE w.request_id = t.request_id AND w.reason IN ('database_away', 'drain'))
GROUP BY t.request_id, t.account_id
UNION ALL
SELECT u.request_id, u.settled_at, u.account_id, 'interrupted', NULL::bigint
FROM ledger.usage AS u
WHERE u.outcome IN ('client_gone', 'cancelled')
    AND (u.outcome = 'client_gone' AND u.estimated OR u.outcome = 'cancelled' AND u.attempts <> '[]');
COMMENT ON VIEW ledger.exposure IS 'calls whose upstream may bill what the customer does not pay';

CREATE VIEW ledger.exposure_day AS
SELECT (e.at AT TIME ZONE 'UTC')::date AS day, e.account_id, e.kind, count(*) AS calls,
    (CASE WHEN sum(e.sale) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(e.sale) END)::bigint AS sale
FROM ledger.exposure AS e
GROUP BY (e.at AT TIME ZONE 'UTC')::date, e.account_id, e.kind;
COMMENT ON VIEW ledger.exposure_day IS 'the same by day, account and kind; a sale that is not known counts as none';

GRANT SELECT ON ledger.exposure, ledger.exposure_day TO trunkline_data, trunkline_console;

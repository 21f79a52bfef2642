-- The same for spending without a key: the account's own budgets.
-- $1 account ids
SELECT a.id AS account_id, b.id AS budget_id, b.limit_nanos,
    ledger.period_start(b.period, b.timezone, app.now()) AS starts_at,
    ledger.period_start(b.period, b.timezone, app.now())::text AS start_text,
    COALESCE(p.used, 0) AS used, p.reached_at IS NOT NULL AS told
FROM ledger.account AS a
JOIN ledger.budget AS b ON b.account_id = a.id AND b.key_id IS NULL AND b.removed_at IS NULL
LEFT JOIN ledger.budget_period AS p
    ON p.budget_id = b.id AND p.starts_at = ledger.period_start(b.period, b.timezone, app.now())
WHERE a.id = ANY ($1::bigint[])
ORDER BY b.id

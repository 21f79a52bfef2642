-- The same for spending without a key: the account's own budgets, found by the account and not the other
-- way about, whatever the planner thinks of their number.
-- $1 account ids
SELECT asked.id AS account_id, b.id AS budget_id, b.limit_nanos,
    ledger.period_start(b.period, b.timezone, app.now()) AS starts_at,
    ledger.period_start(b.period, b.timezone, app.now())::text AS start_text,
    COALESCE(p.used, 0) AS used, p.reached_at IS NOT NULL AS told
FROM unnest($1::bigint[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT * FROM ledger.budget AS b
    WHERE b.account_id = asked.id AND b.key_id IS NULL AND b.removed_at IS NULL OFFSET 0
) AS b
LEFT JOIN ledger.budget_period AS p
    ON p.budget_id = b.id AND p.starts_at = ledger.period_start(b.period, b.timezone, app.now())
ORDER BY b.id

-- Every budget period that a key's spending counts in: the account's own budgets, the key's and its
-- ancestors'. A key without budgets gives one row without a budget, so that it is known to exist. $1 key
-- ids
SELECT s.key_id, s.account_id, b.id AS budget_id, b.limit_nanos,
    ledger.period_start(b.period, b.timezone, app.now()) AS starts_at,
    ledger.period_start(b.period, b.timezone, app.now())::text AS start_text,
    COALESCE(p.used, 0) AS used, p.reached_at IS NOT NULL AS told
FROM ledger.spender AS s
LEFT JOIN ledger.budget AS b
    ON b.account_id = s.account_id AND b.removed_at IS NULL
    AND (b.key_id IS NULL OR b.key_id = ANY (s.chain))
LEFT JOIN ledger.budget_period AS p
    ON p.budget_id = b.id AND p.starts_at = ledger.period_start(b.period, b.timezone, app.now())
WHERE s.key_id = ANY ($1::bigint[])
ORDER BY s.key_id, b.id

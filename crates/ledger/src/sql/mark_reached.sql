-- Marks budget periods that refused a call or are used up. Periods marked before are not returned: the
-- caller writes an event for each row. $1 budget ids, $2 starts, pairwise
WITH marked AS (
    INSERT INTO ledger.budget_period AS p (budget_id, starts_at, ends_at, used, cap, reached_at)
    SELECT b.id, a.starts_at,
        ledger.period_end(b.period, b.timezone, CASE a.starts_at WHEN '-infinity' THEN app.now() ELSE a.starts_at END),
        0, b.limit_nanos, app.now()
    FROM unnest($1::bigint[], $2::timestamptz[]) AS a (budget_id, starts_at)
    JOIN ledger.budget AS b ON b.id = a.budget_id
    ON CONFLICT (budget_id, starts_at) DO UPDATE SET reached_at = excluded.reached_at WHERE p.reached_at IS NULL
    RETURNING p.budget_id, p.ends_at, p.used
)
SELECT ledger.fresh_id() AS event_id, b.id AS budget_id, b.account_id, b.key_id, b.period, b.limit_nanos, m.used,
    CASE WHEN isfinite(m.ends_at) THEN ceil(extract(epoch FROM m.ends_at))::bigint END AS ends_at
FROM marked AS m
JOIN ledger.budget AS b ON b.id = m.budget_id
ORDER BY b.id

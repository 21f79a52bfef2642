-- Budget periods that open holds already count in, for their extension. $1 budget ids, $2 starts, pairwise
SELECT p.budget_id, p.starts_at, p.ends_at, p.used, p.reached_at IS NOT NULL AS told, b.limit_nanos
FROM unnest($1::bigint[], $2::timestamptz[]) AS wanted (budget_id, starts_at)
JOIN ledger.budget_period AS p USING (budget_id, starts_at)
JOIN ledger.budget AS b ON b.id = p.budget_id

-- $1 kinds. The bounds are as in losses_by_account.sql.
WITH by_account AS (
    SELECT e.account_id, e.kind, count(*) AS calls, (CASE WHEN sum(e.sale) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(e.sale) END)::bigint AS sale
    FROM ledger.exposure AS e
    WHERE e.request_id >= app.uuid_v7_floor(app.now() - interval '4 days')
        AND e.at >= (app.now() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC'
    GROUP BY e.account_id, e.kind
)
SELECT k.kind, COALESCE(sum(b.calls), 0)::bigint AS calls, (CASE WHEN sum(b.sale) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(b.sale) END)::bigint AS sale,
    COALESCE(max(b.calls), 0) AS most_calls, max(b.sale) AS most_sale
FROM unnest($1::text[]) AS k (kind)
LEFT JOIN by_account AS b ON b.kind = k.kind
GROUP BY k.kind

-- $1 kinds. The bounds are as in losses_by_account.sql.
WITH by_account AS (
    SELECT e.account_id, e.kind, count(*) AS calls, least(sum(e.sale), 9223372036854775807)::bigint AS sale
    FROM ledger.exposure AS e
    WHERE e.request_id >= app.uuid_v7_floor(app.now() - interval '4 days')
        AND e.at >= (app.now() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC'
    GROUP BY e.account_id, e.kind
)
SELECT k.kind, COALESCE(sum(b.calls), 0)::bigint AS calls, least(sum(b.sale), 9223372036854775807)::bigint AS sale,
    COALESCE(max(b.calls), 0) AS most_calls, max(b.sale) AS most_sale
FROM unnest($1::text[]) AS k (kind)
LEFT JOIN by_account AS b ON b.kind = k.kind
GROUP BY k.kind

-- $1 days, today included. The bound of ids leads to the tables of those days; a video may end some days after its
-- id was made. A sum that an absurd usage report drives beyond the range stays at its end.
WITH clock AS (
    SELECT (app.now() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' AS today
)
SELECT e.account_id, e.kind, count(*) AS calls, (CASE WHEN sum(e.sale) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(e.sale) END)::bigint AS sale,
    count(*) FILTER (WHERE e.at >= c.today) AS calls_today,
    (CASE WHEN sum(e.sale) FILTER (WHERE e.at >= c.today) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(e.sale) FILTER (WHERE e.at >= c.today) END)::bigint AS sale_today
FROM clock AS c
JOIN ledger.exposure AS e ON e.at >= c.today - ($1::integer - 1) * interval '1 day'
WHERE e.request_id >= app.uuid_v7_floor(app.now() - ($1::integer + 3) * interval '1 day')
GROUP BY e.account_id, e.kind
ORDER BY sale_today DESC NULLS LAST, calls_today DESC, sale DESC NULLS LAST, calls DESC, e.account_id, e.kind

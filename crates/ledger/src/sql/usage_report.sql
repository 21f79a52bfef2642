-- Sums of an account's days. The first row is the totals of all lines and has no day; then come the
-- lines after a place. What is not grouped by is one value, so that the order is the same for all.
-- $1 account, $2 first day, $3 last day, $4 key, $5 model, $6 the key whose own and lower usage is seen,
-- $7 to $11 by day, key, model, group, endpoint, $12 to $16 the place, $17 limit
WITH grouped AS MATERIALIZED (
    SELECT CASE WHEN $7::boolean THEN d.day ELSE date '0001-01-01' END AS day,
        CASE WHEN $8::boolean THEN d.key_id ELSE 0 END AS key_id,
        CASE WHEN $9::boolean THEN d.model ELSE '' END COLLATE "C" AS model,
        CASE WHEN $10::boolean THEN d.group_name ELSE '' END COLLATE "C" AS group_name,
        CASE WHEN $11::boolean THEN d.endpoint ELSE '' END COLLATE "C" AS endpoint,
        sum(d.calls)::bigint AS calls, sum(d.failed)::bigint AS failed,
        sum(d.input_units)::bigint AS input_units, sum(d.output_units)::bigint AS output_units,
        sum(d.call_units)::bigint AS call_units, sum(d.second_units)::bigint AS second_units,
        sum(d.paid)::bigint AS paid, sum(d.trial)::bigint AS trial, sum(d.refunded)::bigint AS refunded,
        sum(d.cost)::bigint AS cost
    FROM ledger.usage_sum AS d
    WHERE d.account_id = $1 AND d.day BETWEEN $2 AND $3
        AND ($4::bigint IS NULL OR d.key_id = $4)
        AND ($5::text IS NULL OR d.model = $5)
        AND ($6::bigint IS NULL
            OR $6 = ANY ((SELECT s.chain FROM ledger.spender AS s WHERE s.key_id = d.key_id)::bigint[]))
    GROUP BY 1, 2, 3, 4, 5
)
(SELECT NULL::date AS day, NULL::bigint AS key_id, NULL::text AS model, NULL::text AS group_name,
    NULL::text AS endpoint, count(*) AS lines, COALESCE(sum(g.calls), 0)::bigint AS calls,
    COALESCE(sum(g.failed), 0)::bigint AS failed, COALESCE(sum(g.input_units), 0)::bigint AS input_units,
    COALESCE(sum(g.output_units), 0)::bigint AS output_units, COALESCE(sum(g.call_units), 0)::bigint AS call_units,
    COALESCE(sum(g.second_units), 0)::bigint AS second_units, COALESCE(sum(g.paid), 0)::bigint AS paid,
    COALESCE(sum(g.trial), 0)::bigint AS trial, COALESCE(sum(g.refunded), 0)::bigint AS refunded,
    COALESCE(sum(g.cost), 0)::bigint AS cost
FROM grouped AS g)
UNION ALL
(SELECT g.day, g.key_id, g.model, g.group_name, g.endpoint, 1, g.calls, g.failed, g.input_units, g.output_units,
    g.call_units, g.second_units, g.paid, g.trial, g.refunded, g.cost
FROM grouped AS g
WHERE $12::date IS NULL
    OR (g.day, g.key_id, g.model, g.group_name, g.endpoint) > ($12, $13::bigint, $14::text, $15::text, $16::text)
ORDER BY g.day, g.key_id, g.model, g.group_name, g.endpoint
LIMIT $17)

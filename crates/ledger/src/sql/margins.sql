-- Margins of some days. The first row is the totals of all lines and has no day; then come the lines after a place, in
-- the order of the margin, smallest first, or of the group. What is not grouped by is one value.
-- Without customers the rows of all accounts together (account 0) are read; customers without details have a row for
-- each day (channel -1).
-- $1 first day, $2 last day, $3 channel, $4 model, $5 account, $6 group, $7 to $11 by day, channel, model, account,
-- group, $12 by margin, $13 to $18 the place: margin, day, channel, model, account, group; $19 limit
WITH grouped AS MATERIALIZED (
    SELECT g.*, CASE WHEN $12::boolean THEN g.paid + g.trial - g.refunded - g.uncosted_sale - g.cost ELSE 0 END AS rank
    FROM (SELECT CASE WHEN $7::boolean THEN d.day ELSE date '0001-01-01' END AS day,
              CASE WHEN $8::boolean THEN d.channel_id ELSE 0 END AS channel_id,
              CASE WHEN $9::boolean THEN d.model ELSE '' END COLLATE "C" AS model,
              CASE WHEN $10::boolean THEN d.account_id ELSE 0 END AS account_id,
              CASE WHEN $11::boolean THEN d.group_name ELSE '' END COLLATE "C" AS group_name,
              sum(d.calls)::bigint AS calls, sum(d.failed)::bigint AS failed, sum(d.paid)::bigint AS paid,
              sum(d.trial)::bigint AS trial, sum(d.refunded)::bigint AS refunded, sum(d.cost)::bigint AS cost,
              sum(d.uncosted_calls)::bigint AS uncosted_calls, sum(d.uncosted_sale)::bigint AS uncosted_sale,
              sum(d.estimated_calls)::bigint AS estimated_calls, sum(d.estimated_cost)::bigint AS estimated_cost,
              sum(d.below_cost_calls)::bigint AS below_cost_calls, sum(d.below_cost_loss)::bigint AS below_cost_loss
          FROM ledger.margin_sum AS d
          WHERE d.day BETWEEN $1 AND $2
              AND CASE WHEN $5::bigint IS NOT NULL THEN d.account_id = $5
                  WHEN $10::boolean THEN d.account_id > 0 ELSE d.account_id = 0 END
              AND CASE WHEN $5::bigint IS NULL AND NOT $10::boolean THEN d.channel_id >= 0
                  WHEN $8::boolean OR $9::boolean OR $11::boolean OR $3::bigint IS NOT NULL OR $4::text IS NOT NULL
                      OR $6::text IS NOT NULL THEN d.channel_id >= 0
                  ELSE d.channel_id = -1 END
              AND ($3::bigint IS NULL OR d.channel_id = $3)
              AND ($4::text IS NULL OR d.model = $4)
              AND ($6::text IS NULL OR d.group_name = $6)
          GROUP BY 1, 2, 3, 4, 5) AS g
)
(SELECT NULL::date AS day, NULL::bigint AS channel_id, NULL::text AS model, NULL::bigint AS account_id,
    NULL::text AS group_name, count(*) AS lines, COALESCE(sum(g.calls), 0)::bigint AS calls,
    COALESCE(sum(g.failed), 0)::bigint AS failed, COALESCE(sum(g.paid), 0)::bigint AS paid,
    COALESCE(sum(g.trial), 0)::bigint AS trial, COALESCE(sum(g.refunded), 0)::bigint AS refunded,
    COALESCE(sum(g.cost), 0)::bigint AS cost, COALESCE(sum(g.uncosted_calls), 0)::bigint AS uncosted_calls,
    COALESCE(sum(g.uncosted_sale), 0)::bigint AS uncosted_sale,
    COALESCE(sum(g.estimated_calls), 0)::bigint AS estimated_calls,
    COALESCE(sum(g.estimated_cost), 0)::bigint AS estimated_cost,
    COALESCE(sum(g.below_cost_calls), 0)::bigint AS below_cost_calls,
    COALESCE(sum(g.below_cost_loss), 0)::bigint AS below_cost_loss
FROM grouped AS g)
UNION ALL
(SELECT g.day, g.channel_id, g.model, g.account_id, g.group_name, 1, g.calls, g.failed, g.paid, g.trial, g.refunded,
    g.cost, g.uncosted_calls, g.uncosted_sale, g.estimated_calls, g.estimated_cost, g.below_cost_calls, g.below_cost_loss
FROM grouped AS g
WHERE $13::bigint IS NULL
    OR (g.rank, g.day, g.channel_id, g.model, g.account_id, g.group_name)
        > ($13, $14::date, $15::bigint, $16::text, $17::bigint, $18::text)
ORDER BY g.rank, g.day, g.channel_id, g.model, g.account_id, g.group_name
LIMIT $19)

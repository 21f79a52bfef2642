-- Single calls that were settled on some days, newest first. A call lies in the table of the day it
-- began on; ids of a node whose clock is ahead may be of the next day.
-- $1 account, $2 first day, $3 last day, $4 key, $5 model, $6 the key whose own and lower usage is seen,
-- $7 those before this one, $8 days that a call may take, $9 limit
SELECT u.request_id, u.key_id, u.model, u.endpoint, u.group_name, COALESCE(f.outcome, u.outcome) AS outcome, u.units,
    u.estimated, u.paid, u.trial, u.opened_at, u.settled_at, b.refunded
FROM (SELECT u.request_id, u.key_id, u.model, u.endpoint, u.group_name, u.outcome, u.units, u.estimated,
          u.paid, u.trial, u.opened_at, u.settled_at
      FROM ledger.usage AS u
      WHERE u.account_id = $1
          AND u.request_id >= app.uuid_v7_floor(($2::date - $8::integer)::timestamp AT TIME ZONE 'UTC')
          AND u.request_id < least(app.uuid_v7_floor(($3::date + 2)::timestamp AT TIME ZONE 'UTC'), $7::uuid)
          AND u.settled_at >= $2::date::timestamp AT TIME ZONE 'UTC'
          AND u.settled_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'
          AND ($4::bigint IS NULL OR u.key_id = $4)
          AND ($5::text IS NULL OR u.model = $5)
          AND ($6::bigint IS NULL
              OR $6 = ANY ((SELECT s.chain FROM ledger.spender AS s WHERE s.key_id = u.key_id)::bigint[]))
      ORDER BY u.request_id DESC
      LIMIT $9) AS u
LEFT JOIN ledger.late_failure AS f ON f.request_id = u.request_id
CROSS JOIN LATERAL (
    SELECT COALESCE(sum(t.amount), 0)::bigint AS refunded
    FROM ledger.transfer AS t
    WHERE t.request_id = u.request_id AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
) AS b
ORDER BY u.request_id DESC

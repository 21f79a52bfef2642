-- Frees holds that are open though their request has a usage row: it is that of another hold of the same id, and a
-- request is charged once. $1 request ids, $2 account ids, $3 node, $4 epoch, $5 any hold (the sweeper's)
WITH released AS (
    UPDATE {hold} AS h
    SET state = 'voided', resolved_at = app.now()
    FROM unnest($1::uuid[], $2::bigint[]) AS a (request_id, account_id)
    CROSS JOIN LATERAL (
        SELECT u.request_id FROM {usage} AS u WHERE u.request_id = a.request_id OFFSET 0
    ) AS u
    WHERE h.request_id = a.request_id AND h.account_id = a.account_id AND h.resolved_at IS NULL
        AND ($5::boolean OR h.owner = 'task' OR (h.node = $3::text AND h.epoch = $4::bigint))
    RETURNING h.request_id, h.account_id, h.paid, h.trial, h.budget_ids, h.budget_starts, h.capacity, h.capacity_day,
        h.idempotency
), moved AS (
    UPDATE ledger.account AS acc
    SET paid_held = acc.paid_held - d.paid, trial_held = acc.trial_held - d.trial
    FROM (SELECT r.account_id, sum(r.paid)::bigint AS paid, sum(r.trial)::bigint AS trial
          FROM released AS r GROUP BY r.account_id) AS d
    WHERE acc.id = d.account_id
), given_back AS (
    UPDATE ledger.budget_period AS p
    SET used = p.used - d.amount
    FROM (SELECT b.budget_id, b.starts_at, sum(r.paid + r.trial)::bigint AS amount
          FROM released AS r
          CROSS JOIN LATERAL unnest(r.budget_ids, r.budget_starts) AS b (budget_id, starts_at)
          GROUP BY b.budget_id, b.starts_at) AS d
    WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at
), places AS (
    UPDATE ledger.capacity AS c
    SET used = c.used - d.places
    FROM (SELECT r.capacity, r.capacity_day, count(*) AS places
          FROM released AS r WHERE r.capacity IS NOT NULL
          GROUP BY r.capacity, r.capacity_day) AS d
    WHERE c.name = d.capacity AND c.day = d.capacity_day
), freed AS (
    DELETE FROM ledger.idempotency AS i
    USING released AS r
    WHERE r.idempotency IS NOT NULL
        AND i.account_id = r.account_id AND i.key = r.idempotency AND i.request_id = r.request_id
)
SELECT count(*) FROM released AS r

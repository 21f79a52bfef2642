-- Writes the holds that were decided on. None of them was there a moment ago, under the lock of its
-- account; an id that stands in another account fails the statement, and the batcher finds who it was.
-- $1..$14 one array per column (budgets as array literals), $15 node, $16 epoch
WITH made AS (
    INSERT INTO {hold} (request_id, account_id, key_id, owner, owner_id, node, epoch, paid, trial,
        budget_ids, budget_starts, capacity, capacity_day, model, endpoint, group_name, price_version,
        idempotency, deadline, opened_at)
    SELECT a.request_id, a.account_id, a.key_id, a.owner, a.owner_id, $15::text, $16::bigint, a.paid, a.trial,
        a.budget_ids::bigint[], a.budget_starts::timestamptz[], a.capacity,
        CASE WHEN a.capacity IS NOT NULL THEN (app.now() AT TIME ZONE 'UTC')::date END,
        a.model, a.endpoint, a.group_name, a.price_version, a.idempotency,
        app.now() + a.lifetime_ms * interval '1 millisecond', app.now()
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::bigint[], $7::bigint[],
        $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bytea[], $17::text[],
        $18::bigint[])
        AS a (request_id, account_id, key_id, owner, owner_id, paid, trial, budget_ids, budget_starts, capacity,
            model, endpoint, group_name, price_version, idempotency, lifetime_ms)
    RETURNING request_id, account_id, paid, trial, budget_ids, budget_starts
), promised AS (
    UPDATE ledger.account AS acc
    SET paid_held = acc.paid_held + d.paid, trial_held = acc.trial_held + d.trial
    FROM (SELECT m.account_id, sum(m.paid)::bigint AS paid, sum(m.trial)::bigint AS trial
          FROM made AS m GROUP BY m.account_id) AS d
    WHERE acc.id = d.account_id
), counted AS (
    INSERT INTO ledger.budget_period AS p (budget_id, starts_at, ends_at, used, cap)
    SELECT d.budget_id, d.starts_at,
        ledger.period_end(b.period, b.timezone, CASE d.starts_at WHEN '-infinity' THEN app.now() ELSE d.starts_at END),
        d.used, b.limit_nanos
    FROM (SELECT s.budget_id, s.starts_at, sum(m.paid + m.trial)::bigint AS used
          FROM made AS m
          CROSS JOIN LATERAL unnest(m.budget_ids, m.budget_starts) AS s (budget_id, starts_at)
          GROUP BY s.budget_id, s.starts_at) AS d
    JOIN ledger.budget AS b ON b.id = d.budget_id
    ON CONFLICT (budget_id, starts_at) DO UPDATE SET used = p.used + excluded.used
)
SELECT m.request_id FROM made AS m

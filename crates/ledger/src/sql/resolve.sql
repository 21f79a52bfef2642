-- Settles and voids. The usage row is the charge: money moves only for requests whose hold is open and
-- whose usage row is new; a second one would break its primary key and with it the statement. An open hold whose request
-- has one all the same is left to release_rows.sql. A charge never passes its hold.
--
-- Everything after the first step reads what that step returned, and meets other tables only by
-- their primary keys: no plan of it grows faster than the batch. `resolved_at IS NULL` says open, in
-- words that do not tempt the planner to the small index of open holds. One row notes that these calls
-- wait to be summed up. Beside the resolved requests stand stretches of budgets that are used up now.
-- $1 request ids, $2 account ids, $3 amounts, $4 units, $5 measured, $6 estimated, $7 tiers, $8 costs,
-- $9 attempts, $10 warnings, $11 outcomes, $12 node, $13 epoch, $14 any hold (the sweeper's)
WITH anchored AS (
    INSERT INTO {usage} (request_id, account_id, key_id, node, epoch, model, endpoint, group_name,
        units, measured, estimated, price_version, tier, paid, trial, cost, attempts, warnings, outcome,
        opened_at, settled_at, held_paid, held_trial)
    SELECT a.request_id, a.account_id, h.key_id, $12::text, $13::bigint, h.model, h.endpoint, h.group_name,
        a.units, a.measured, a.estimated, h.price_version, a.tier,
        least(a.amount - least(a.amount, h.trial), h.paid), least(a.amount, h.trial),
        a.cost, a.attempts, string_to_array(a.warnings, ','), a.outcome, h.opened_at, app.now(), h.paid, h.trial
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::jsonb[], $5::jsonb[], $6::boolean[],
        $7::text[], $8::bigint[], $9::jsonb[], $10::text[], $11::text[])
        AS a (request_id, account_id, amount, units, measured, estimated, tier, cost, attempts, warnings, outcome)
    CROSS JOIN LATERAL (
        SELECT * FROM {hold} AS h
        WHERE h.request_id = a.request_id AND h.account_id = a.account_id AND h.resolved_at IS NULL
            AND ($14::boolean OR h.owner = 'task' OR (h.node = $12::text AND h.epoch = $13::bigint))
            AND (SELECT u.request_id FROM {usage} AS u WHERE u.request_id = a.request_id) IS NULL
        OFFSET 0
    ) AS h
    RETURNING request_id, account_id, paid, trial, outcome, settled_at
), noted AS (
    INSERT INTO ledger.usage_unsummed (request_ids, account_ids)
    SELECT array_agg(u.request_id), array_agg(u.account_id) FROM anchored AS u HAVING count(*) > 0
), resolved AS (
    UPDATE {hold} AS h
    SET state = CASE WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted')
            THEN 'settled' ELSE 'voided' END,
        resolved_at = u.settled_at
    FROM anchored AS u
    WHERE h.request_id = u.request_id AND h.resolved_at IS NULL
    RETURNING h.request_id, h.account_id, h.state, h.paid AS held_paid, h.trial AS held_trial,
        u.paid, u.trial, u.settled_at, h.budget_ids, h.budget_starts, h.capacity, h.capacity_day, h.idempotency
), moved AS (
    UPDATE ledger.account AS acc
    SET paid_posted = acc.paid_posted - d.paid, paid_held = acc.paid_held - d.held_paid,
        trial_posted = acc.trial_posted - d.trial, trial_held = acc.trial_held - d.held_trial
    FROM (SELECT r.account_id, sum(r.paid)::bigint AS paid, sum(r.held_paid)::bigint AS held_paid,
              sum(r.trial)::bigint AS trial, sum(r.held_trial)::bigint AS held_trial
          FROM resolved AS r GROUP BY r.account_id) AS d
    WHERE acc.id = d.account_id
), given_back AS (
    UPDATE ledger.budget_period AS p
    SET used = p.used - d.unused
    FROM (SELECT b.budget_id, b.starts_at,
              sum(r.held_paid + r.held_trial - r.paid - r.trial)::bigint AS unused
          FROM resolved AS r
          CROSS JOIN LATERAL unnest(r.budget_ids, r.budget_starts) AS b (budget_id, starts_at)
          GROUP BY b.budget_id, b.starts_at) AS d
    WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at
        -- A stretch that is used up and was not told of is touched only to be named below.
        AND (d.unused > 0 OR (p.used >= p.cap AND p.reached_at IS NULL))
    RETURNING p.budget_id, p.starts_at, p.used >= p.cap AND p.reached_at IS NULL AS used_up
), places AS (
    UPDATE ledger.capacity AS c
    SET used = c.used - d.places
    FROM (SELECT r.capacity, r.capacity_day, count(*) AS places
          FROM resolved AS r WHERE r.capacity IS NOT NULL AND r.state = 'voided'
          GROUP BY r.capacity, r.capacity_day) AS d
    WHERE c.name = d.capacity AND c.day = d.capacity_day
), finished AS (
    UPDATE ledger.idempotency AS i
    SET state = 'finished'
    FROM resolved AS r
    WHERE r.idempotency IS NOT NULL AND r.state = 'settled'
        AND i.account_id = r.account_id AND i.key = r.idempotency AND i.request_id = r.request_id
), freed AS (
    DELETE FROM ledger.idempotency AS i
    USING resolved AS r
    WHERE r.idempotency IS NOT NULL AND r.state = 'voided'
        AND i.account_id = r.account_id AND i.key = r.idempotency AND i.request_id = r.request_id
)
SELECT r.request_id, r.paid, r.trial, NULL::bigint AS budget_id, NULL::timestamptz AS starts_at FROM resolved AS r
UNION ALL
SELECT NULL, NULL, NULL, g.budget_id, g.starts_at FROM given_back AS g WHERE g.used_up

-- The invariants of holds, packed or not, of what they take of budgets and capacities, and of who may make and end
-- them. As in the file before, each view is empty in a sound ledger.

CREATE VIEW ledger.audit_held_is_not_its_holds AS
SELECT COALESCE(a.id, h.account_id) AS account_id, a.paid_held, COALESCE(h.paid, 0) AS paid_of_holds,
    a.trial_held, COALESCE(h.trial, 0) AS trial_of_holds
FROM ledger.account AS a
FULL JOIN (SELECT account_id, sum(paid) AS paid, sum(trial) AS trial
           FROM ledger.any_hold AS hold WHERE state = 'open' GROUP BY account_id) AS h ON h.account_id = a.id
WHERE a.id IS NULL OR a.paid_held <> COALESCE(h.paid, 0) OR a.trial_held <> COALESCE(h.trial, 0);
COMMENT ON VIEW ledger.audit_held_is_not_its_holds IS 'what is held of a wallet must be the sum of its open holds';

CREATE VIEW ledger.audit_hold_and_usage_disagree AS
SELECT COALESCE(h.request_id, u.request_id) AS request_id, h.state, h.owner,
    u.request_id IS NOT NULL AS has_usage, u.paid, u.trial, u.outcome
FROM ledger.any_hold AS h
FULL JOIN ledger.usage AS u USING (request_id)
WHERE h.request_id IS NULL
    OR (h.state = 'open' AND u.request_id IS NOT NULL)
    OR (h.state <> 'open' AND u.request_id IS NULL)
    OR (h.state = 'voided' AND u.paid + u.trial > 0)
    OR (h.key_id IS DISTINCT FROM u.key_id AND u.request_id IS NOT NULL)
    -- A hold that was resolved a second time is given away by the time of it.
    OR (h.account_id, h.resolved_at, h.opened_at, h.model, h.endpoint, h.group_name)
        <> (u.account_id, u.settled_at, u.opened_at, u.model, u.endpoint, u.group_name);
COMMENT ON VIEW ledger.audit_hold_and_usage_disagree IS
    'an open hold has no usage row, a resolved one has exactly one that tells the same, a voided one cost nothing, and there is no usage without a hold';

CREATE VIEW ledger.audit_charge_above_hold AS
SELECT u.request_id, u.paid, u.trial, h.paid AS held_paid, h.trial AS held_trial
FROM ledger.usage AS u
JOIN ledger.any_hold AS h USING (request_id)
WHERE u.paid > h.paid OR u.trial > h.trial;
COMMENT ON VIEW ledger.audit_charge_above_hold IS 'no call is charged more than was held for it';

CREATE VIEW ledger.audit_other_price_version AS
SELECT u.request_id, encode(u.price_version, 'hex') AS usage_version, encode(h.price_version, 'hex') AS hold_version
FROM ledger.usage AS u
JOIN ledger.any_hold AS h USING (request_id)
WHERE u.price_version <> h.price_version;
COMMENT ON VIEW ledger.audit_other_price_version IS 'a call is charged under the prices it was reserved under';

CREATE VIEW ledger.audit_work_charged_twice AS
SELECT h.owner, h.owner_id, array_agg(h.request_id ORDER BY h.request_id) AS requests
FROM ledger.any_hold AS h
JOIN ledger.usage AS u USING (request_id)
WHERE h.owner = 'task' AND u.paid + u.trial > 0
GROUP BY h.owner, h.owner_id
HAVING count(*) > 1
UNION ALL
-- A request owns its hold itself, so a second one of it is the one under another id.
SELECT h.owner, h.owner_id, ARRAY[h.owner_id, h.request_id]
FROM ledger.any_hold AS h
WHERE h.owner = 'request' AND h.owner_id <> h.request_id;
COMMENT ON VIEW ledger.audit_work_charged_twice IS 'a request and a task are charged at most once, under whatever id';

CREATE VIEW ledger.audit_request_held_twice AS
SELECT h.request_id, count(*) AS holds, array_agg(DISTINCT h.account_id) AS accounts
FROM (SELECT h.request_id, h.account_id FROM ledger.any_hold AS h
      UNION ALL
      SELECT f.request_id, f.account_id FROM ledger.hold_release AS f) AS h
GROUP BY h.request_id
HAVING count(*) > 1;
COMMENT ON VIEW ledger.audit_request_held_twice IS 'a request has one hold, under one account';

CREATE VIEW ledger.audit_idempotency_key_taken_twice AS
SELECT k.account_id, k.idempotency, k.request_before, k.request_id, k.opened_before, k.opened_at
FROM (SELECT h.account_id, h.idempotency, h.request_id, h.opened_at,
          lag(h.request_id) OVER key AS request_before, lag(h.opened_at) OVER key AS opened_before
      FROM ledger.any_hold AS h
      WHERE h.idempotency IS NOT NULL AND h.state <> 'voided'
          AND h.request_id NOT IN (SELECT t.request_id FROM ledger.transfer AS t WHERE t.kind = 'undelivered')
      WINDOW key AS (PARTITION BY h.account_id, h.idempotency ORDER BY h.opened_at, h.request_id)) AS k
WHERE k.opened_at < k.opened_before + interval '24 hours';
COMMENT ON VIEW ledger.audit_idempotency_key_taken_twice IS
    'a client''s key names one call in a day, unless the call was voided or not delivered';

CREATE VIEW ledger.audit_hold_overdue AS
SELECT h.request_id, h.account_id, h.owner, h.node, h.epoch, h.deadline, n.epoch AS node_epoch
FROM ledger.any_hold AS h
LEFT JOIN ledger.node AS n ON n.name = h.node
WHERE h.state = 'open'
    AND CASE h.owner
        -- Tasks are not swept; their worker has a day to notice that one is late.
        WHEN 'task' THEN h.deadline < app.now() - interval '1 day'
        ELSE h.deadline < app.now() - interval '5 minutes' OR h.epoch IS DISTINCT FROM n.epoch
    END;
COMMENT ON VIEW ledger.audit_hold_overdue IS
    'an open hold is within its deadline and, unless a task owns it, of a node''s current epoch';

CREATE VIEW ledger.audit_stale_epoch AS
SELECT h.request_id, 'hold' AS written, h.node, h.epoch, h.opened_at AS at, own.started_at AS began_at,
    next.started_at AS replaced_at
FROM ledger.any_hold AS h
LEFT JOIN ledger.node_epoch AS own ON own.node = h.node AND own.epoch = h.epoch
LEFT JOIN ledger.node_epoch AS next ON next.node = h.node AND next.epoch = h.epoch + 1
WHERE own.node IS NULL OR h.opened_at < own.started_at OR h.opened_at > next.started_at
UNION ALL
-- What an epoch voids at its start is older than that start, by a wait for a lock.
SELECT u.request_id, 'usage', u.node, u.epoch, u.settled_at, own.started_at, next.started_at
FROM ledger.usage AS u
LEFT JOIN ledger.node_epoch AS own ON own.node = u.node AND own.epoch = u.epoch
LEFT JOIN ledger.node_epoch AS next ON next.node = u.node AND next.epoch = u.epoch + 1
WHERE own.node IS NULL OR u.settled_at > next.started_at;
COMMENT ON VIEW ledger.audit_stale_epoch IS
    'nothing is written under an epoch that has ended or never began';

CREATE VIEW ledger.audit_resolved_by_another_node AS
SELECT u.request_id, h.owner, h.node AS held_by, h.epoch AS held_in, u.node AS resolved_by,
    u.epoch AS resolved_in, u.outcome
FROM ledger.usage AS u
JOIN ledger.any_hold AS h USING (request_id)
WHERE h.owner <> 'task' AND (u.node <> h.node OR u.epoch <> h.epoch)
    AND NOT (h.state = 'voided' AND u.outcome IN ('interrupted', 'expired'));
COMMENT ON VIEW ledger.audit_resolved_by_another_node IS
    'a hold is resolved in the epoch that made it; another may only void it, and only a task''s may be charged by any';

-- Budgets, capacities and keys.
CREATE VIEW ledger.audit_budget_is_not_its_calls AS
WITH summed AS (
    SELECT budget_id, starts_at, sum(amount) AS amount FROM ledger.budget_taken GROUP BY budget_id, starts_at
)
SELECT COALESCE(p.budget_id, s.budget_id) AS budget_id, COALESCE(p.starts_at, s.starts_at) AS starts_at,
    p.used, COALESCE(s.amount, 0) AS of_calls
FROM ledger.budget_period AS p
FULL JOIN summed AS s ON s.budget_id = p.budget_id AND s.starts_at = p.starts_at
WHERE p.used - p.dropped IS DISTINCT FROM COALESCE(s.amount, 0);
COMMENT ON VIEW ledger.audit_budget_is_not_its_calls IS 'what a budget has used is its open holds and its charges, less what went back in time';

CREATE VIEW ledger.audit_budget_passed AS
SELECT p.budget_id, p.starts_at, p.used, p.cap
FROM ledger.budget_period AS p
WHERE p.used < 0 OR p.used > p.cap;
COMMENT ON VIEW ledger.audit_budget_passed IS 'no budget is used beyond its limit or below nothing';

CREATE VIEW ledger.audit_budget_bypassed AS
WITH of_key AS (
    SELECT s.key_id AS spender, b.id, b.account_id, b.key_id, b.period, b.timezone, b.created_at, b.removed_at
    FROM ledger.spender AS s
    CROSS JOIN LATERAL unnest(s.chain) AS link (key_id)
    JOIN ledger.budget AS b ON b.key_id = link.key_id AND b.account_id = s.account_id
), due AS (
    SELECT h.request_id, h.key_id, h.opened_at, h.budget_ids, h.budget_starts, b.id AS budget_id,
        b.key_id AS budget_of_key, b.period, b.timezone, b.created_at, b.removed_at
    FROM ledger.any_hold AS h
    JOIN ledger.budget AS b ON b.account_id = h.account_id
    WHERE b.key_id IS NULL
    UNION ALL
    SELECT h.request_id, h.key_id, h.opened_at, h.budget_ids, h.budget_starts, b.id,
        b.key_id, b.period, b.timezone, b.created_at, b.removed_at
    FROM ledger.any_hold AS h
    JOIN of_key AS b ON b.spender = h.key_id AND b.account_id = h.account_id
)
SELECT d.request_id, d.key_id, d.budget_id, d.budget_of_key, d.opened_at
FROM due AS d
WHERE d.created_at < d.opened_at
    -- A call that began before the removal may have waited for it; longer than this nothing waits.
    AND (d.removed_at IS NULL OR d.removed_at > d.opened_at + interval '10 seconds')
    -- Not among the hold's budgets gives no place, and so no start.
    AND d.budget_starts[array_position(d.budget_ids, d.budget_id)]
        IS DISTINCT FROM ledger.period_start(d.period, d.timezone, d.opened_at);
COMMENT ON VIEW ledger.audit_budget_bypassed IS
    'every call counts in the budgets of its account, its key and the key''s parents, in the period it began in';

CREATE VIEW ledger.audit_budget_of_another_key AS
SELECT h.request_id, h.account_id, h.key_id, c.budget_id, b.account_id AS budget_of_account, b.key_id AS budget_of_key
FROM ledger.any_hold AS h
CROSS JOIN LATERAL unnest(h.budget_ids) AS c (budget_id)
LEFT JOIN ledger.budget AS b ON b.id = c.budget_id
LEFT JOIN ledger.spender AS s ON s.key_id = h.key_id
WHERE b.id IS NULL OR b.account_id <> h.account_id
    OR (b.key_id IS NOT NULL AND NOT COALESCE(b.key_id = ANY (s.chain), false));
COMMENT ON VIEW ledger.audit_budget_of_another_key IS 'no call counts in a budget that is not of its account, its key or the key''s parents';

CREATE VIEW ledger.audit_capacity_is_not_its_calls AS
WITH taken AS (
    SELECT t.name, t.day, count(*) AS places FROM ledger.capacity_taken AS t GROUP BY t.name, t.day
)
SELECT COALESCE(c.name, t.name) AS name, COALESCE(c.day, t.day) AS day, c.used, t.places
FROM ledger.capacity AS c
FULL JOIN taken AS t USING (name, day)
WHERE COALESCE(c.used - c.dropped, 0) <> COALESCE(t.places, 0) OR c.used > c.cap;
COMMENT ON VIEW ledger.audit_capacity_is_not_its_calls IS 'the used capacity of a day is its calls that were neither voided nor undelivered, within its cap';

CREATE VIEW ledger.audit_unknown_spender AS
SELECT h.request_id, h.account_id, h.key_id, s.account_id AS account_of_key
FROM ledger.any_hold AS h
LEFT JOIN ledger.account AS a ON a.id = h.account_id
LEFT JOIN ledger.spender AS s ON s.key_id = h.key_id
WHERE a.id IS NULL OR (h.key_id IS NOT NULL AND s.account_id IS DISTINCT FROM h.account_id);
COMMENT ON VIEW ledger.audit_unknown_spender IS 'every call is of an account that exists and, if of a key, of one of that account''s';

CREATE VIEW ledger.audit_key_chain_is_broken AS
SELECT s.key_id, s.account_id, s.chain, p.account_id AS account_of_parent, p.chain AS chain_of_parent
FROM ledger.spender AS s
LEFT JOIN ledger.spender AS p ON p.key_id = s.chain[2]
WHERE s.chain[1] IS DISTINCT FROM s.key_id
    OR (cardinality(s.chain) > 1
        AND (s.account_id IS DISTINCT FROM p.account_id OR s.chain[2:] IS DISTINCT FROM p.chain));
COMMENT ON VIEW ledger.audit_key_chain_is_broken IS 'a key''s parents are its own parent and that one''s parents, all of one account';

-- Packed holds.
CREATE VIEW ledger.audit_batch_written_twice AS
SELECT b.epoch_id, b.lane, b.seq, count(*) AS batches
FROM ledger.hold_batch AS b
GROUP BY b.epoch_id, b.lane, b.seq
HAVING count(*) > 1;
COMMENT ON VIEW ledger.audit_batch_written_twice IS 'a sequence of a lane names one batch';

CREATE VIEW ledger.audit_batch_is_uneven AS
SELECT b.epoch_id, b.lane, b.seq
FROM ledger.hold_batch AS b
WHERE cardinality(b.request_ids) <> ANY (ARRAY[cardinality(b.account_ids), cardinality(b.key_ids), cardinality(b.paid),
        cardinality(b.trial), cardinality(b.paid_only), cardinality(b.terms_ids), cardinality(b.lifetimes_ms)])
    OR cardinality(b.capacities) <> cardinality(b.request_ids) OR cardinality(b.idempotency) <> cardinality(b.request_ids)
    OR (cardinality(b.budget_positions), cardinality(b.budget_ids))
        IS DISTINCT FROM (cardinality(b.budget_ids), cardinality(b.budget_starts))
    OR (b.capacities IS NULL) <> (b.capacity_day IS NULL);
COMMENT ON VIEW ledger.audit_batch_is_uneven IS 'the lists of a batch have one element for each of its holds';

CREATE VIEW ledger.audit_packed_hold_below_watermark AS
SELECT h.request_id, h.account_id, h.epoch_id, h.lane, h.seq, mark.seq AS watermark
FROM ledger.packed_hold AS h
JOIN ledger.hold_watermark AS mark ON mark.epoch_id = h.epoch_id AND mark.lane = h.lane
WHERE h.state = 'open' AND h.seq <= mark.seq;
COMMENT ON VIEW ledger.audit_packed_hold_below_watermark IS 'what is open below the watermark is a row';

CREATE VIEW ledger.audit_usage_is_not_its_packed_hold AS
SELECT u.request_id, u.account_id, u.held_paid, u.held_trial, h.paid, h.trial, h.request_id IS NULL AS hold_is_missing
FROM ledger.usage AS u
LEFT JOIN ledger.packed_hold AS h ON h.request_id = u.request_id AND h.epoch_id = u.hold_epoch AND h.lane = u.hold_lane
    AND h.seq = u.hold_seq AND h.position = u.hold_position
WHERE num_nonnulls(u.hold_epoch, u.hold_lane, u.hold_seq, u.hold_position, u.batch_lane, u.batch_seq) > 0
    AND (h.request_id IS NULL OR u.batch_lane IS NULL OR u.batch_seq IS NULL
        OR (u.account_id, u.held_paid, u.held_trial) <> (h.account_id, h.paid, h.trial));
COMMENT ON VIEW ledger.audit_usage_is_not_its_packed_hold IS
    'a usage row names its batch and a hold that was written, of its account, and has what was held in each wallet';

CREATE VIEW ledger.audit_extension_out_of_place AS
SELECT x.epoch_id, x.lane, x.seq, x.position, x.batch_seq, x.at, h.request_id, h.resolved_at
FROM ledger.hold_extension AS x
LEFT JOIN ledger.packed_hold AS h ON h.epoch_id = x.epoch_id AND h.lane = x.lane AND h.seq = x.seq AND h.position = x.position
LEFT JOIN ledger.hold_watermark AS mark ON mark.epoch_id = x.epoch_id AND mark.lane = x.lane
LEFT JOIN ledger.hold_batch AS b ON b.epoch_id = x.epoch_id AND b.lane = x.lane AND b.seq = x.batch_seq AND b.opened_at = x.at
LEFT JOIN ledger.hold_release AS f ON f.epoch_id = x.epoch_id AND f.lane = x.lane AND f.seq = x.seq AND f.position = x.position
WHERE b.seq IS NULL OR x.at > COALESCE(h.resolved_at, f.at)
    OR (h.request_id IS NULL AND f.epoch_id IS NULL AND x.seq > COALESCE(mark.seq, -1));
COMMENT ON VIEW ledger.audit_extension_out_of_place IS
    'an extension is of a batch that was written and of a hold that was open then';

CREATE VIEW ledger.audit_wrong_release AS
SELECT f.epoch_id, f.lane, f.seq, f.position, f.request_id, f.account_id, f.paid, f.trial, u.request_id IS NULL AS usage_is_missing
FROM ledger.hold_release AS f
LEFT JOIN ledger.hold_batch AS b ON b.day = f.day AND b.epoch_id = f.epoch_id AND b.lane = f.lane AND b.seq = f.seq
LEFT JOIN LATERAL (SELECT COALESCE(sum(x.paid), 0) AS paid, COALESCE(sum(x.trial), 0) AS trial FROM ledger.hold_extension AS x
    WHERE x.epoch_id = f.epoch_id AND x.lane = f.lane AND x.seq = f.seq AND x.position = f.position) AS x ON true
LEFT JOIN ledger.usage AS u ON u.request_id = f.request_id
WHERE u.request_id IS NULL
    OR (u.hold_epoch, u.hold_lane, u.hold_seq, u.hold_position) IS NOT DISTINCT FROM (f.epoch_id, f.lane, f.seq, f.position)
    OR (b.request_ids[f.position], b.account_ids[f.position], b.paid[f.position] + x.paid, b.trial[f.position] + x.trial)
        IS DISTINCT FROM (f.request_id, f.account_id, f.paid, f.trial);
COMMENT ON VIEW ledger.audit_wrong_release IS
    'a hold is released without a usage row only if another hold of its request has one, and with what it held';

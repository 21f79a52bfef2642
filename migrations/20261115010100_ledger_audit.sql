-- One view for each invariant. All are empty in a sound ledger; a row shows what is wrong and where.
-- `trunkline audit` asks every view whose name begins with audit_, so a new invariant is a new view and
-- nothing else. They read whole tables: run them on a quiet hour or a replica that is up to date, not in a
-- request. Every join below is on equal columns, so that each is one hash of two tables however large they
-- are; a comparison that is not an equation stands in WHERE.

CREATE VIEW ledger.audit_books_do_not_balance AS
SELECT own.total AS wallets, others.total AS others
FROM (SELECT COALESCE(sum(a.paid_posted + a.trial_posted), 0) AS total FROM ledger.account AS a) AS own,
    (SELECT COALESCE(sum(CASE WHEN t.credit < 0 THEN t.amount ELSE 0 END
            - CASE WHEN t.debit < 0 THEN t.amount ELSE 0 END), 0) AS total
     FROM ledger.transfer AS t) AS others
WHERE own.total + others.total <> 0;
COMMENT ON VIEW ledger.audit_books_do_not_balance IS 'all wallets and all system parties together must be zero';

CREATE VIEW ledger.audit_balance_is_not_its_transfers AS
WITH moved AS (
    SELECT party, sum(amount) AS amount
    FROM (SELECT t.credit AS party, t.amount FROM ledger.transfer AS t
          UNION ALL SELECT t.debit, -t.amount FROM ledger.transfer AS t) AS both_sides
    WHERE party >= 0
    GROUP BY party
), wallets AS (
    SELECT a.id AS account_id, w.leg, a.id * 2 + w.leg AS party, w.posted
    FROM ledger.account AS a
    CROSS JOIN LATERAL (VALUES (0, a.paid_posted), (1, a.trial_posted)) AS w (leg, posted)
)
SELECT w.account_id, w.leg, w.posted, COALESCE(m.amount, 0) AS transferred
FROM wallets AS w
LEFT JOIN moved AS m USING (party)
WHERE w.posted <> COALESCE(m.amount, 0);
COMMENT ON VIEW ledger.audit_balance_is_not_its_transfers IS 'a wallet must hold the sum of its transfers';

CREATE VIEW ledger.audit_held_is_not_its_holds AS
SELECT COALESCE(a.id, h.account_id) AS account_id, a.paid_held, COALESCE(h.paid, 0) AS paid_of_holds,
    a.trial_held, COALESCE(h.trial, 0) AS trial_of_holds
FROM ledger.account AS a
FULL JOIN (SELECT account_id, sum(paid) AS paid, sum(trial) AS trial
           FROM ledger.hold WHERE state = 'open' GROUP BY account_id) AS h ON h.account_id = a.id
WHERE a.id IS NULL OR a.paid_held <> COALESCE(h.paid, 0) OR a.trial_held <> COALESCE(h.trial, 0);
COMMENT ON VIEW ledger.audit_held_is_not_its_holds IS 'what is held of a wallet must be the sum of its open holds';

CREATE VIEW ledger.audit_overspent AS
SELECT a.id AS account_id, a.paid_posted, a.paid_held, a.trial_posted, a.trial_held
FROM ledger.account AS a
WHERE a.paid_posted - a.paid_held < 0 OR a.trial_posted - a.trial_held < 0 OR a.paid_held < 0 OR a.trial_held < 0;
COMMENT ON VIEW ledger.audit_overspent IS 'no wallet may promise more than it holds';

CREATE VIEW ledger.audit_hold_and_usage_disagree AS
SELECT COALESCE(h.request_id, u.request_id) AS request_id, h.state, h.owner,
    u.request_id IS NOT NULL AS has_usage, u.paid, u.trial, u.outcome
FROM ledger.hold AS h
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

CREATE VIEW ledger.audit_failure_was_charged AS
SELECT u.request_id, u.account_id, u.outcome, u.paid, u.trial
FROM ledger.usage AS u
WHERE u.paid + u.trial <> 0
    AND u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted');
COMMENT ON VIEW ledger.audit_failure_was_charged IS 'a call that delivered nothing is not charged';

CREATE VIEW ledger.audit_charge_is_not_the_usage AS
WITH charged AS (
    SELECT t.request_id, t.account_id,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 0), 0) AS paid,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 1), 0) AS trial,
        min(t.at) AS first_at, max(t.at) AS last_at
    FROM ledger.transfer AS t
    WHERE t.kind = 'charge'
    GROUP BY t.request_id, t.account_id
)
SELECT COALESCE(u.request_id, c.request_id) AS request_id, u.paid AS usage_paid, u.trial AS usage_trial,
    c.paid AS charged_paid, c.trial AS charged_trial
FROM ledger.usage AS u
FULL JOIN charged AS c ON c.request_id = u.request_id AND c.account_id = u.account_id
WHERE COALESCE(u.paid, 0) <> COALESCE(c.paid, 0) OR COALESCE(u.trial, 0) <> COALESCE(c.trial, 0)
    OR u.request_id IS NULL
    OR c.first_at <> u.settled_at OR c.last_at <> u.settled_at;
COMMENT ON VIEW ledger.audit_charge_is_not_the_usage IS 'every charge is the amount and the moment of its usage row, leg by leg, and the other way round';

CREATE VIEW ledger.audit_charge_above_hold AS
SELECT u.request_id, u.paid, u.trial, h.paid AS held_paid, h.trial AS held_trial
FROM ledger.usage AS u
JOIN ledger.hold AS h USING (request_id)
WHERE u.paid > h.paid OR u.trial > h.trial;
COMMENT ON VIEW ledger.audit_charge_above_hold IS 'no call is charged more than was held for it';

CREATE VIEW ledger.audit_wrong_refund AS
WITH back AS (
    SELECT t.request_id, t.account_id,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 0), 0) AS paid,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 1), 0) AS trial,
        count(*) AS moves, count(DISTINCT (t.kind, t.leg)) AS reasons
    FROM ledger.transfer AS t
    WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
    GROUP BY t.request_id, t.account_id
)
SELECT b.request_id, b.account_id, b.paid AS refunded_paid, b.trial AS refunded_trial,
    COALESCE(p.amount, 0) AS charged_paid, COALESCE(q.amount, 0) AS charged_trial
FROM back AS b
LEFT JOIN ledger.transfer AS p ON p.request_id = b.request_id AND p.account_id = b.account_id
    AND p.kind = 'charge' AND p.leg = 0
LEFT JOIN ledger.transfer AS q ON q.request_id = b.request_id AND q.account_id = b.account_id
    AND q.kind = 'charge' AND q.leg = 1
WHERE b.paid > COALESCE(p.amount, 0) OR b.trial > COALESCE(q.amount, 0)
    -- Trial money goes back only when all paid money has.
    OR (b.trial > 0 AND b.paid < COALESCE(p.amount, 0))
    OR b.moves > b.reasons;
COMMENT ON VIEW ledger.audit_wrong_refund IS
    'money goes back to the wallet that paid, paid money first, once for each reason and never more than was paid';

CREATE VIEW ledger.audit_work_charged_twice AS
SELECT h.owner, h.owner_id, array_agg(h.request_id ORDER BY h.request_id) AS requests
FROM ledger.hold AS h
JOIN ledger.usage AS u USING (request_id)
WHERE h.owner = 'task' AND u.paid + u.trial > 0
GROUP BY h.owner, h.owner_id
HAVING count(*) > 1
UNION ALL
-- A request owns its hold itself, so a second one of it is the one under another id.
SELECT h.owner, h.owner_id, ARRAY[h.owner_id, h.request_id]
FROM ledger.hold AS h
WHERE h.owner = 'request' AND h.owner_id <> h.request_id;
COMMENT ON VIEW ledger.audit_work_charged_twice IS 'a request and a task are charged at most once, under whatever id';

CREATE VIEW ledger.audit_idempotency_key_taken_twice AS
SELECT k.account_id, k.idempotency, k.request_before, k.request_id, k.opened_before, k.opened_at
FROM (SELECT h.account_id, h.idempotency, h.request_id, h.opened_at,
          lag(h.request_id) OVER key AS request_before, lag(h.opened_at) OVER key AS opened_before
      FROM ledger.hold AS h
      WHERE h.idempotency IS NOT NULL AND h.state <> 'voided'
          AND h.request_id NOT IN (SELECT t.request_id FROM ledger.transfer AS t WHERE t.kind = 'undelivered')
      WINDOW key AS (PARTITION BY h.account_id, h.idempotency ORDER BY h.opened_at, h.request_id)) AS k
WHERE k.opened_at < k.opened_before + interval '24 hours';
COMMENT ON VIEW ledger.audit_idempotency_key_taken_twice IS
    'a client''s key names one call in a day, unless the call was voided or not delivered';

CREATE VIEW ledger.audit_other_price_version AS
SELECT u.request_id, encode(u.price_version, 'hex') AS usage_version, encode(h.price_version, 'hex') AS hold_version
FROM ledger.usage AS u
JOIN ledger.hold AS h USING (request_id)
WHERE u.price_version <> h.price_version;
COMMENT ON VIEW ledger.audit_other_price_version IS 'a call is charged under the prices it was reserved under';

CREATE VIEW ledger.audit_hold_overdue AS
SELECT h.request_id, h.account_id, h.owner, h.node, h.epoch, h.deadline, n.epoch AS node_epoch
FROM ledger.hold AS h
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
FROM ledger.hold AS h
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
JOIN ledger.hold AS h USING (request_id)
WHERE h.owner <> 'task' AND (u.node <> h.node OR u.epoch <> h.epoch)
    AND NOT (h.state = 'voided' AND u.outcome IN ('interrupted', 'expired'));
COMMENT ON VIEW ledger.audit_resolved_by_another_node IS
    'a hold is resolved in the epoch that made it; another may only void it, and only a task''s may be charged by any';

CREATE VIEW ledger.audit_budget_is_not_its_calls AS
WITH taken AS (
    SELECT b.budget_id, b.starts_at,
        CASE h.state WHEN 'open' THEN h.paid + h.trial ELSE COALESCE(u.paid + u.trial, 0) END AS amount
    FROM ledger.hold AS h
    LEFT JOIN ledger.usage AS u USING (request_id)
    CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
    UNION ALL
    SELECT b.budget_id, b.starts_at, -t.amount
    FROM ledger.transfer AS t
    JOIN ledger.hold AS h USING (request_id)
    CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
    JOIN ledger.budget_period AS p ON p.budget_id = b.budget_id AND p.starts_at = b.starts_at
    WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered') AND t.at < p.ends_at
), summed AS (
    SELECT budget_id, starts_at, sum(amount) AS amount FROM taken GROUP BY budget_id, starts_at
)
SELECT COALESCE(p.budget_id, s.budget_id) AS budget_id, COALESCE(p.starts_at, s.starts_at) AS starts_at,
    p.used, COALESCE(s.amount, 0) AS of_calls
FROM ledger.budget_period AS p
FULL JOIN summed AS s ON s.budget_id = p.budget_id AND s.starts_at = p.starts_at
WHERE p.used IS DISTINCT FROM COALESCE(s.amount, 0);
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
    FROM ledger.hold AS h
    JOIN ledger.budget AS b ON b.account_id = h.account_id
    WHERE b.key_id IS NULL
    UNION ALL
    SELECT h.request_id, h.key_id, h.opened_at, h.budget_ids, h.budget_starts, b.id,
        b.key_id, b.period, b.timezone, b.created_at, b.removed_at
    FROM ledger.hold AS h
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
FROM ledger.hold AS h
CROSS JOIN LATERAL unnest(h.budget_ids) AS c (budget_id)
LEFT JOIN ledger.budget AS b ON b.id = c.budget_id
LEFT JOIN ledger.spender AS s ON s.key_id = h.key_id
WHERE b.id IS NULL OR b.account_id <> h.account_id
    OR (b.key_id IS NOT NULL AND NOT COALESCE(b.key_id = ANY (s.chain), false));
COMMENT ON VIEW ledger.audit_budget_of_another_key IS 'no call counts in a budget that is not of its account, its key or the key''s parents';

CREATE VIEW ledger.audit_unknown_spender AS
SELECT h.request_id, h.account_id, h.key_id, s.account_id AS account_of_key
FROM ledger.hold AS h
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

CREATE VIEW ledger.audit_transfer_party_unknown AS
SELECT t.request_id, t.kind, t.leg, t.debit, t.credit, t.account_id, t.amount
FROM ledger.transfer AS t
LEFT JOIN ledger.system_party AS debtor ON debtor.id = t.debit
LEFT JOIN ledger.system_party AS creditor ON creditor.id = t.credit
LEFT JOIN ledger.account AS payer ON payer.id = t.account_id
WHERE payer.id IS NULL
    OR (t.debit < 0 AND debtor.id IS NULL) OR (t.credit < 0 AND creditor.id IS NULL)
    OR (t.debit >= 0 AND t.debit <> t.account_id * 2 + t.leg)
    OR (t.credit >= 0 AND t.credit <> t.account_id * 2 + t.leg)
    OR (t.debit < 0) = (t.credit < 0)
    OR t.amount <= 0;
COMMENT ON VIEW ledger.audit_transfer_party_unknown IS 'a transfer is between a wallet of its account and a system party, both of which exist';

CREATE VIEW ledger.audit_transfer_the_wrong_way AS
SELECT t.request_id, t.kind, t.leg, t.debit, t.credit, t.account_id, t.amount
FROM ledger.transfer AS t
-- -1 is revenue, -2 payments, -3 grants, -4 adjustments.
WHERE NOT CASE t.kind
    WHEN 'charge' THEN t.debit >= 0 AND t.credit = -1
    WHEN 'refund' THEN t.debit = -1 AND t.credit >= 0
    WHEN 'settlement_adjustment' THEN t.debit = -1 AND t.credit >= 0
    WHEN 'undelivered' THEN t.debit = -1 AND t.credit >= 0
    WHEN 'top_up' THEN t.debit = -2 AND t.credit >= 0 AND t.leg = 0
    WHEN 'trial_grant' THEN t.debit = -3 AND t.credit >= 0 AND t.leg = 1
    WHEN 'adjust' THEN t.debit = -4 OR t.credit = -4
    ELSE false
END;
COMMENT ON VIEW ledger.audit_transfer_the_wrong_way IS 'each kind of transfer goes its own way: charges to revenue, refunds out of it, payments in';

CREATE VIEW ledger.audit_top_up_is_not_its_transfer AS
WITH payment AS (
    SELECT u.request_id, u.account_id, u.provider, u.event_id, u.amount,
        CASE u.wallet WHEN 'paid' THEN 'top_up' ELSE 'trial_grant' END AS kind,
        count(*) OVER (PARTITION BY u.provider, u.event_id) AS of_event,
        count(*) OVER (PARTITION BY u.request_id) AS of_request
    FROM ledger.top_up AS u
), applied AS (
    SELECT t.request_id, t.account_id, t.kind, sum(t.amount) AS amount
    FROM ledger.transfer AS t
    WHERE t.kind IN ('top_up', 'trial_grant')
    GROUP BY t.request_id, t.account_id, t.kind
)
SELECT COALESCE(p.request_id, a.request_id) AS request_id, p.provider, p.event_id, p.amount, a.amount AS transferred
FROM payment AS p
FULL JOIN applied AS a ON a.request_id = p.request_id AND a.account_id = p.account_id AND a.kind = p.kind
WHERE p.amount IS DISTINCT FROM a.amount OR p.of_event > 1 OR p.of_request > 1;
COMMENT ON VIEW ledger.audit_top_up_is_not_its_transfer IS 'every payment was applied once, every top-up has its payment';

CREATE VIEW ledger.audit_adjustment_is_not_its_transfer AS
WITH applied AS (
    SELECT t.request_id, t.account_id, t.leg, sum(CASE WHEN t.credit >= 0 THEN t.amount ELSE -t.amount END) AS amount
    FROM ledger.transfer AS t
    WHERE t.kind = 'adjust'
    GROUP BY t.request_id, t.account_id, t.leg
)
SELECT COALESCE(a.request_id, t.request_id) AS request_id, a.account_id, a.wallet, a.amount, t.amount AS transferred
FROM ledger.adjustment AS a
FULL JOIN applied AS t ON t.request_id = a.request_id AND t.account_id = a.account_id
    AND t.leg = CASE a.wallet WHEN 'paid' THEN 0 ELSE 1 END
WHERE a.amount IS DISTINCT FROM t.amount;
COMMENT ON VIEW ledger.audit_adjustment_is_not_its_transfer IS 'every correction has its reason and its transfer';

CREATE VIEW ledger.audit_capacity_is_not_its_calls AS
WITH taken AS (
    SELECT h.capacity AS name, h.capacity_day AS day, count(*) AS places
    FROM ledger.hold AS h
    WHERE h.capacity IS NOT NULL AND h.state <> 'voided'
        AND h.request_id NOT IN (SELECT t.request_id FROM ledger.transfer AS t WHERE t.kind = 'undelivered')
    GROUP BY h.capacity, h.capacity_day
)
SELECT COALESCE(c.name, t.name) AS name, COALESCE(c.day, t.day) AS day, c.used, t.places
FROM ledger.capacity AS c
FULL JOIN taken AS t USING (name, day)
WHERE COALESCE(c.used, 0) <> COALESCE(t.places, 0) OR c.used > c.cap;
COMMENT ON VIEW ledger.audit_capacity_is_not_its_calls IS 'the used capacity of a day is its calls that were neither voided nor undelivered, within its cap';

CREATE VIEW ledger.audit_partitions_running_out AS
SELECT parent.name AS table_name, day.day::date AS missing_day
FROM (VALUES ('hold'), ('usage'), ('transfer')) AS parent (name),
    generate_series((app.now() AT TIME ZONE 'UTC')::date, (app.now() AT TIME ZONE 'UTC')::date + 3, interval '1 day') AS day (day)
WHERE to_regclass('ledger.' || parent.name || '_' || to_char(day.day, 'YYYYMMDD')) IS NULL;
COMMENT ON VIEW ledger.audit_partitions_running_out IS 'partitions exist for today and the next three days; if not, the job that makes them is dead';

COMMENT ON VIEW app.audit_clock_shifted IS 'the clock in SQL is not shifted';

-- One view for each invariant. All are empty in a sound ledger; a row shows what is wrong and where.
-- `trunkline audit` asks every view whose name begins with audit_, so a new invariant is a new view and
-- nothing else. They read whole tables: run them on a quiet hour or a replica that is up to date, not in a
-- request. Every join below is on equal columns, so that each is one hash of two tables however large they
-- are; a comparison that is not an equation stands in WHERE.
--
-- This file is about wallets, transfers, usage and their sums; the next one is about holds.

CREATE VIEW ledger.audit_books_do_not_balance AS
SELECT own.total AS wallets, others.total AS others
FROM (SELECT COALESCE(sum(a.paid_posted + a.trial_posted), 0) AS total FROM ledger.account AS a) AS own,
    (SELECT COALESCE(sum(CASE WHEN t.credit < 0 THEN t.amount ELSE 0 END
            - CASE WHEN t.debit < 0 THEN t.amount ELSE 0 END), 0) AS total
     FROM ledger.posting AS t) AS others
WHERE own.total + others.total <> 0;
COMMENT ON VIEW ledger.audit_books_do_not_balance IS 'all wallets and all system parties together must be zero';

CREATE VIEW ledger.audit_balance_is_not_its_transfers AS
WITH moved AS (
    SELECT party, sum(amount) AS amount
    FROM (SELECT t.credit AS party, t.amount FROM ledger.posting AS t
          UNION ALL SELECT t.debit, -t.amount FROM ledger.posting AS t) AS both_sides
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
COMMENT ON VIEW ledger.audit_balance_is_not_its_transfers IS 'a wallet must hold the sum of its transfers and charges';

CREATE VIEW ledger.audit_overspent AS
SELECT a.id AS account_id, a.paid_posted, a.paid_held, a.trial_posted, a.trial_held
FROM ledger.account AS a
WHERE a.paid_posted + a.credit_limit - a.paid_held < 0 OR a.trial_posted - a.trial_held < 0
    OR a.paid_held < 0 OR a.trial_held < 0;
COMMENT ON VIEW ledger.audit_overspent IS 'no wallet may promise more than it holds and may owe';

CREATE VIEW ledger.audit_low_balance_flag_wrong AS
SELECT a.id AS account_id, a.paid_posted + a.trial_posted AS posted, a.low_balance_nanos, a.balance_low
FROM ledger.account AS a
WHERE a.balance_low <> COALESCE(a.paid_posted + a.trial_posted < a.low_balance_nanos, false);
COMMENT ON VIEW ledger.audit_low_balance_flag_wrong IS
    'an account below its threshold has had its balance.low event, and one above it has the flag cleared';

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
    WHEN 'day_total' THEN t.debit >= 0 AND t.credit = -1
    WHEN 'refund' THEN t.debit = -1 AND t.credit >= 0
    WHEN 'settlement_adjustment' THEN t.debit = -1 AND t.credit >= 0
    WHEN 'undelivered' THEN t.debit = -1 AND t.credit >= 0
    WHEN 'top_up' THEN t.debit = -2 AND t.credit >= 0 AND t.leg = 0
    WHEN 'trial_grant' THEN t.debit = -3 AND t.credit >= 0 AND t.leg = 1
    WHEN 'adjust' THEN t.debit = -4 OR t.credit = -4
    ELSE false
END;
COMMENT ON VIEW ledger.audit_transfer_the_wrong_way IS
    'each kind of transfer goes its own way: charges of a day to revenue, refunds out of it, payments in';

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

CREATE VIEW ledger.audit_wrong_refund AS
WITH back AS (
    SELECT t.request_id, t.account_id,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 0), 0) AS paid,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 1), 0) AS trial,
        count(*) AS moves, count(DISTINCT (t.kind, t.leg)) AS reasons
    FROM ledger.transfer AS t
    WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
        AND t.request_id >= (SELECT k.floor FROM ledger.usage_kept AS k)
    GROUP BY t.request_id, t.account_id
)
SELECT b.request_id, b.account_id, b.paid AS refunded_paid, b.trial AS refunded_trial,
    COALESCE(u.paid, 0) AS charged_paid, COALESCE(u.trial, 0) AS charged_trial
FROM back AS b
LEFT JOIN ledger.usage AS u ON u.request_id = b.request_id AND u.account_id = b.account_id
WHERE b.paid > COALESCE(u.paid, 0) OR b.trial > COALESCE(u.trial, 0)
    -- Trial money goes back only when all paid money has.
    OR (b.trial > 0 AND b.paid < COALESCE(u.paid, 0))
    OR b.moves > b.reasons;
COMMENT ON VIEW ledger.audit_wrong_refund IS
    'money goes back to the wallet that paid, paid money first, once for each reason and never more than was paid';

CREATE VIEW ledger.audit_failure_was_charged AS
SELECT u.request_id, u.account_id, u.outcome, u.paid, u.trial
FROM ledger.usage AS u
WHERE u.paid + u.trial <> 0
    AND u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted');
COMMENT ON VIEW ledger.audit_failure_was_charged IS 'a call that delivered nothing is not charged';

CREATE VIEW ledger.audit_unknown_outcome AS
SELECT u.request_id, u.account_id, u.outcome
FROM ledger.usage AS u
WHERE u.outcome <> ALL (ARRAY['complete', 'client_gone', 'balance_exhausted', 'accepted', 'refused', 'upstream_failed',
    'upstream_timeout', 'no_result', 'interrupted', 'expired', 'drained', 'database_away', 'cancelled']);
COMMENT ON VIEW ledger.audit_unknown_outcome IS 'a call ended in one of the ways that there are';

CREATE VIEW ledger.audit_unconfirmed_delivery_was_not_charged AS
SELECT d.request_id, d.account_id, u.account_id AS account_of_call, u.outcome, u.paid, u.trial
FROM ledger.unconfirmed_delivery AS d
LEFT JOIN ledger.usage AS u USING (request_id)
WHERE d.request_id >= (SELECT k.floor FROM ledger.usage_kept AS k)
    AND (u.request_id IS NULL OR u.account_id <> d.account_id OR u.paid + u.trial = 0);
COMMENT ON VIEW ledger.audit_unconfirmed_delivery_was_not_charged IS
    'a delivery in doubt is of a call that was charged to its account';

CREATE VIEW ledger.audit_late_failure_was_kept AS
SELECT f.request_id, f.account_id, f.outcome, u.account_id AS account_of_call, u.outcome AS outcome_of_call,
    u.paid + u.trial AS charged, COALESCE(b.amount, 0) AS refunded
FROM ledger.late_failure AS f
LEFT JOIN ledger.usage AS u USING (request_id)
LEFT JOIN (SELECT t.request_id, sum(t.amount) AS amount
           FROM ledger.transfer AS t
           WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
           GROUP BY t.request_id) AS b USING (request_id)
WHERE f.request_id >= (SELECT k.floor FROM ledger.usage_kept AS k)
    AND (u.request_id IS NULL OR u.account_id <> f.account_id OR u.outcome <> 'accepted'
        OR u.paid + u.trial <> COALESCE(b.amount, 0));
COMMENT ON VIEW ledger.audit_late_failure_was_kept IS
    'a call that failed after its charge was accepted before, and all of its charge was refunded';

-- Every usage row and every refund is added, what customers are shown is taken away: nothing may be left. Late failures
-- are counted by their usage rows and not by the copies.
CREATE VIEW ledger.audit_usage_day_disagrees AS
SELECT c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name, sum(c.calls) AS calls_missing,
    sum(c.failed) AS failed_missing, sum(c.input_units) AS input_units_missing,
    sum(c.output_units) AS output_units_missing, sum(c.call_units) AS call_units_missing,
    sum(c.second_units) AS second_units_missing, sum(c.paid) AS paid_missing, sum(c.trial) AS trial_missing,
    sum(c.refunded) AS refunded_missing, sum(c.cost) AS cost_missing
FROM (SELECT u.account_id, (u.settled_at AT TIME ZONE 'UTC')::date AS day, COALESCE(u.key_id, 0) AS key_id,
          u.model, u.endpoint, u.group_name, 1 AS calls,
          CASE WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 0 ELSE 1 END AS failed,
          ledger.input_units(u.units) AS input_units, ledger.output_units(u.units) AS output_units,
          ledger.call_units(u.units) AS call_units, ledger.second_units(u.units) AS second_units,
          u.paid, u.trial, 0 AS refunded, COALESCE(u.cost, 0) AS cost
      FROM ledger.usage AS u
      UNION ALL
      SELECT u.account_id, (u.settled_at AT TIME ZONE 'UTC')::date, COALESCE(u.key_id, 0), u.model, u.endpoint,
          u.group_name, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0
      FROM ledger.late_failure AS f
      JOIN ledger.usage AS u USING (request_id)
      UNION ALL
      SELECT t.account_id, (t.at AT TIME ZONE 'UTC')::date, COALESCE(h.key_id, 0), h.model, h.endpoint, h.group_name,
          0, 0, 0, 0, 0, 0, 0, 0, t.amount, 0
      FROM ledger.transfer AS t
      LEFT JOIN ledger.any_hold AS h USING (request_id)
      WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
      UNION ALL
      SELECT d.account_id, d.day, d.key_id, d.model, d.endpoint, d.group_name, -d.calls, -d.failed,
          -d.input_units, -d.output_units, -d.call_units, -d.second_units, -d.paid, -d.trial, -d.refunded, -d.cost
      FROM ledger.usage_sum AS d) AS c
-- From the first day whose sums have all their calls.
WHERE c.day >= (SELECT k.sums_from FROM ledger.usage_kept AS k)
GROUP BY c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name
HAVING sum(c.calls) <> 0 OR sum(c.failed) <> 0 OR sum(c.input_units) <> 0 OR sum(c.output_units) <> 0
    OR sum(c.call_units) <> 0 OR sum(c.second_units) <> 0 OR sum(c.paid) <> 0 OR sum(c.trial) <> 0
    OR sum(c.refunded) <> 0 OR sum(c.cost) <> 0;
COMMENT ON VIEW ledger.audit_usage_day_disagrees IS
    'the sums of a day that customers are shown are its usage rows and its refunds, to the nano-USD';

-- Margins are held to the sums of usage, which the audit holds to the calls and refunds: this reads no call that is
-- summed. Then the rows of all accounts, and those of an account's day, are held to the details.
CREATE VIEW ledger.audit_margin_day_disagrees AS
SELECT c.account_id, c.day, NULL::bigint AS channel_id, c.model, c.group_name, sum(c.calls) AS calls_missing,
    sum(c.failed) AS failed_missing, sum(c.paid) AS paid_missing, sum(c.trial) AS trial_missing,
    sum(c.refunded) AS refunded_missing, sum(c.cost) AS cost_missing
FROM (SELECT d.account_id, d.day, d.model, d.group_name, d.calls, d.failed, d.paid, d.trial, d.refunded, d.cost
      FROM ledger.usage_sum AS d
      UNION ALL
      SELECT d.account_id, d.day, d.model, d.group_name, -d.calls, -d.failed, -d.paid, -d.trial, -d.refunded, -d.cost
      FROM ledger.margin_sum AS d WHERE d.account_id > 0 AND d.channel_id >= 0) AS c
-- From the first day whose sums have all their calls.
WHERE c.day >= (SELECT k.sums_from FROM ledger.usage_kept AS k)
GROUP BY c.account_id, c.day, c.model, c.group_name
HAVING sum(c.calls) <> 0 OR sum(c.failed) <> 0 OR sum(c.paid) <> 0 OR sum(c.trial) <> 0
    OR sum(c.refunded) <> 0 OR sum(c.cost) <> 0
UNION ALL
SELECT a.account_id, c.day, a.channel_id, a.model, a.group_name, sum(a.sign * c.calls), sum(a.sign * c.failed),
    sum(a.sign * c.paid), sum(a.sign * c.trial), sum(a.sign * c.refunded), sum(a.sign * c.cost)
FROM ledger.margin_sum AS c
CROSS JOIN LATERAL (
    SELECT -1 AS sign, c.account_id, c.channel_id, c.model, c.group_name WHERE c.account_id = 0 OR c.channel_id = -1
    UNION ALL
    SELECT 1, k.account_id, k.channel_id, k.model, k.group_name
    FROM (VALUES (0, c.channel_id, c.model, c.group_name), (c.account_id, -1, '', ''))
        AS k (account_id, channel_id, model, group_name)
    WHERE c.account_id > 0 AND c.channel_id >= 0
) AS a
WHERE c.day >= (SELECT k.sums_from FROM ledger.usage_kept AS k)
GROUP BY a.account_id, c.day, a.channel_id, a.model, a.group_name
HAVING sum(a.sign * c.calls) <> 0 OR sum(a.sign * c.failed) <> 0 OR sum(a.sign * c.paid) <> 0
    OR sum(a.sign * c.trial) <> 0 OR sum(a.sign * c.refunded) <> 0 OR sum(a.sign * c.cost) <> 0
    OR sum(a.sign * c.uncosted_calls) <> 0 OR sum(a.sign * c.uncosted_sale) <> 0
    OR sum(a.sign * c.estimated_calls) <> 0 OR sum(a.sign * c.estimated_cost) <> 0
    OR sum(a.sign * c.below_cost_calls) <> 0 OR sum(a.sign * c.below_cost_loss) <> 0;
COMMENT ON VIEW ledger.audit_margin_day_disagrees IS
    'the margins of a day are the sums of its usage, and its totals are the sums of its details, to the nano-USD';

CREATE VIEW ledger.audit_partitions_running_out AS
SELECT parent.name AS table_name, day.day::date AS missing_day
FROM (VALUES ('hold'), ('usage'), ('transfer')) AS parent (name),
    generate_series((app.now() AT TIME ZONE 'UTC')::date, (app.now() AT TIME ZONE 'UTC')::date + 3, interval '1 day') AS day (day)
WHERE to_regclass('ledger.' || parent.name || '_' || to_char(day.day, 'YYYYMMDD')) IS NULL;
COMMENT ON VIEW ledger.audit_partitions_running_out IS 'partitions exist for today and the next three days; if not, the job that makes them is dead';

CREATE VIEW ledger.audit_day_missing AS
SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day
FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = pg_catalog.to_regclass('ledger.transfer')
    AND pg_catalog.to_regclass('ledger.usage_' || right(c.relname, 8)) IS NULL
    AND right(c.relname, 8) >= (SELECT to_char(k.from_day, 'YYYYMMDD') FROM ledger.usage_kept AS k);
COMMENT ON VIEW ledger.audit_day_missing IS 'a day has its usage rows, or was dropped with its totals written';

CREATE VIEW ledger.audit_stored_response_overdue AS
SELECT i.account_id, i.request_id, i.created_at
FROM ledger.idempotency AS i
WHERE i.response IS NOT NULL AND i.created_at < app.now() - interval '48 hours';
COMMENT ON VIEW ledger.audit_stored_response_overdue IS
    'a stored response is deleted within two days of its call';

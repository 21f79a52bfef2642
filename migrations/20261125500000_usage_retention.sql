-- The usage log is kept for as many days as the operator sets, and then dropped by whole days. Holds and transfers
-- stay: they are the accounting. The audit compares single calls from the first day that is kept; charges before it
-- are still held to wallets and budgets, by their transfers.
CREATE TABLE ledger.usage_kept (
    is_only  boolean NOT NULL DEFAULT true,
    from_day date    NOT NULL,
    -- The lowest id of that day.
    floor    uuid    NOT NULL,
    CONSTRAINT usage_kept_pkey PRIMARY KEY (is_only),
    CONSTRAINT usage_kept_is_only_row CHECK (is_only)
);
-- Sums were kept for 400 days so far, whatever the age of single calls.
INSERT INTO ledger.usage_kept (from_day, floor)
SELECT day.day, app.uuid_v7_floor(day.day::timestamp AT TIME ZONE 'UTC')
FROM (SELECT (app.now() AT TIME ZONE 'UTC')::date - 400 AS day) AS day;
GRANT SELECT ON ledger.usage_kept TO trunkline_data, trunkline_console;

-- Days go in their order, so that one date says what is there. A day with an open hold or with a call that is not
-- summed yet stays, and those after it. SECURITY DEFINER because the job that calls this runs as the data plane,
-- which owns nothing.
CREATE FUNCTION ledger.drop_usage_partitions(before_day date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $drop$
DECLARE
    gone integer := 0;
    one record;
    kept_from date := before_day;
    is_needed boolean;
BEGIN
    IF before_day > (app.now() AT TIME ZONE 'UTC')::date - 30 THEN
        RAISE EXCEPTION 'the usage log is kept for 30 days at least';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ledger.make_partitions'));
    FOR one IN
        SELECT c.relname AS child, right(c.relname, 8) AS suffix, to_date(right(c.relname, 8), 'YYYYMMDD') AS day
        FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'ledger.usage'::regclass AND c.relname ~ '^usage_[0-9]{8}$'
            AND to_date(right(c.relname, 8), 'YYYYMMDD') < before_day
        ORDER BY c.relname
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM ledger.%I AS h WHERE h.state = ''open'')', 'hold_' || one.suffix)
            INTO is_needed;
        is_needed := is_needed
            OR EXISTS (SELECT FROM ledger.usage_unsummed AS n, unnest(n.request_ids) AS w (request_id)
                WHERE w.request_id < app.uuid_v7_floor((one.day + 1)::timestamp AT TIME ZONE 'UTC'))
            OR EXISTS (SELECT FROM ledger.reversal_unsummed AS r
                WHERE r.request_id < app.uuid_v7_floor((one.day + 1)::timestamp AT TIME ZONE 'UTC'));
        IF is_needed THEN
            kept_from := one.day;
            EXIT;
        END IF;
        EXECUTE format('DROP TABLE ledger.%I', one.child);
        gone := gone + 1;
    END LOOP;
    UPDATE ledger.usage_kept AS k
    SET from_day = kept_from, floor = app.uuid_v7_floor(kept_from::timestamp AT TIME ZONE 'UTC')
    WHERE k.from_day < kept_from;
    RETURN gone;
END
$drop$;
GRANT EXECUTE ON FUNCTION ledger.drop_usage_partitions(date) TO trunkline_data;

-- As before, and no day of which single calls are kept; late failures go with the sums they are added to.
CREATE INDEX late_failure_age ON ledger.late_failure (day);
CREATE OR REPLACE FUNCTION ledger.purge_usage_days(before_day date, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $forget$
DECLARE
    until_day date := LEAST(before_day, (SELECT k.from_day FROM ledger.usage_kept AS k));
    gone integer;
    gone_margins integer;
BEGIN
    DELETE FROM ledger.usage_day AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.usage_day AS old WHERE old.day < until_day LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM ledger.margin_day AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.margin_day AS old WHERE old.day < until_day LIMIT most));
    GET DIAGNOSTICS gone_margins = ROW_COUNT;
    DELETE FROM ledger.late_failure AS f
    WHERE f.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.late_failure AS old WHERE old.day < until_day LIMIT most));
    RETURN gone + gone_margins;
END
$forget$;

CREATE OR REPLACE VIEW ledger.audit_hold_and_usage_disagree AS
SELECT COALESCE(h.request_id, u.request_id) AS request_id, h.state, h.owner,
    u.request_id IS NOT NULL AS has_usage, u.paid, u.trial, u.outcome
FROM ledger.hold AS h
FULL JOIN ledger.usage AS u USING (request_id)
WHERE h.request_id IS NULL
    OR (h.state = 'open' AND u.request_id IS NOT NULL)
    OR (h.state <> 'open' AND u.request_id IS NULL AND h.request_id >= (SELECT k.floor FROM ledger.usage_kept AS k))
    OR (h.state = 'voided' AND u.paid + u.trial > 0)
    OR (h.key_id IS DISTINCT FROM u.key_id AND u.request_id IS NOT NULL)
    -- A hold that was resolved a second time is given away by the time of it.
    OR (h.account_id, h.resolved_at, h.opened_at, h.model, h.endpoint, h.group_name)
        <> (u.account_id, u.settled_at, u.opened_at, u.model, u.endpoint, u.group_name);

CREATE OR REPLACE VIEW ledger.audit_charge_is_not_the_usage AS
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
WHERE COALESCE(u.request_id, c.request_id) >= (SELECT k.floor FROM ledger.usage_kept AS k)
    AND (COALESCE(u.paid, 0) <> COALESCE(c.paid, 0) OR COALESCE(u.trial, 0) <> COALESCE(c.trial, 0)
        OR u.request_id IS NULL
        OR c.first_at <> u.settled_at OR c.last_at <> u.settled_at);

CREATE OR REPLACE VIEW ledger.audit_budget_is_not_its_calls AS
WITH dropped AS (
    SELECT t.request_id, sum(t.amount) AS amount
    FROM ledger.transfer AS t
    WHERE t.kind = 'charge' AND t.request_id < (SELECT k.floor FROM ledger.usage_kept AS k)
    GROUP BY t.request_id
), taken AS (
    SELECT b.budget_id, b.starts_at,
        CASE h.state WHEN 'open' THEN h.paid + h.trial
            ELSE COALESCE(u.paid + u.trial, d.amount, 0) END AS amount
    FROM ledger.hold AS h
    LEFT JOIN ledger.usage AS u USING (request_id)
    LEFT JOIN dropped AS d USING (request_id)
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

CREATE OR REPLACE VIEW ledger.audit_unconfirmed_delivery_was_not_charged AS
SELECT d.request_id, d.account_id, u.account_id AS account_of_call, u.outcome, u.paid, u.trial
FROM ledger.unconfirmed_delivery AS d
LEFT JOIN ledger.usage AS u USING (request_id)
WHERE d.request_id >= (SELECT k.floor FROM ledger.usage_kept AS k)
    AND (u.request_id IS NULL OR u.account_id <> d.account_id OR u.paid + u.trial = 0);

CREATE OR REPLACE VIEW ledger.audit_late_failure_was_kept AS
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

CREATE OR REPLACE VIEW ledger.audit_usage_day_disagrees AS
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
      LEFT JOIN ledger.hold AS h USING (request_id)
      WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
      UNION ALL
      SELECT d.account_id, d.day, d.key_id, d.model, d.endpoint, d.group_name, -d.calls, -d.failed,
          -d.input_units, -d.output_units, -d.call_units, -d.second_units, -d.paid, -d.trial, -d.refunded, -d.cost
      FROM ledger.usage_sum AS d) AS c
-- A task is settled within a week of its call, which may be of a day that was dropped.
WHERE c.day >= (SELECT k.from_day + 8 FROM ledger.usage_kept AS k)
GROUP BY c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name
HAVING sum(c.calls) <> 0 OR sum(c.failed) <> 0 OR sum(c.input_units) <> 0 OR sum(c.output_units) <> 0
    OR sum(c.call_units) <> 0 OR sum(c.second_units) <> 0 OR sum(c.paid) <> 0 OR sum(c.trial) <> 0
    OR sum(c.refunded) <> 0 OR sum(c.cost) <> 0;

CREATE OR REPLACE VIEW ledger.audit_margin_day_disagrees AS
SELECT c.account_id, c.day, NULL::bigint AS channel_id, c.model, c.group_name, sum(c.calls) AS calls_missing,
    sum(c.failed) AS failed_missing, sum(c.paid) AS paid_missing, sum(c.trial) AS trial_missing,
    sum(c.refunded) AS refunded_missing, sum(c.cost) AS cost_missing
FROM (SELECT d.account_id, d.day, d.model, d.group_name, d.calls, d.failed, d.paid, d.trial, d.refunded, d.cost
      FROM ledger.usage_sum AS d
      UNION ALL
      SELECT d.account_id, d.day, d.model, d.group_name, -d.calls, -d.failed, -d.paid, -d.trial, -d.refunded, -d.cost
      FROM ledger.margin_sum AS d WHERE d.account_id > 0 AND d.channel_id >= 0) AS c
-- Older sums are deleted some at a time.
WHERE c.day >= (SELECT k.from_day + 8 FROM ledger.usage_kept AS k)
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
WHERE c.day >= (SELECT k.from_day + 8 FROM ledger.usage_kept AS k)
GROUP BY a.account_id, c.day, a.channel_id, a.model, a.group_name
HAVING sum(a.sign * c.calls) <> 0 OR sum(a.sign * c.failed) <> 0 OR sum(a.sign * c.paid) <> 0
    OR sum(a.sign * c.trial) <> 0 OR sum(a.sign * c.refunded) <> 0 OR sum(a.sign * c.cost) <> 0
    OR sum(a.sign * c.uncosted_calls) <> 0 OR sum(a.sign * c.uncosted_sale) <> 0
    OR sum(a.sign * c.estimated_calls) <> 0 OR sum(a.sign * c.estimated_cost) <> 0
    OR sum(a.sign * c.below_cost_calls) <> 0 OR sum(a.sign * c.below_cost_loss) <> 0;

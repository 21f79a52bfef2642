-- What customers ask most is "how much, on which day, by which key, for which model". The rows of
-- single calls answer it exactly and too slowly, so their sums are kept beside them, and must be right
-- at every moment, to the nano-USD.
--
-- A settlement that updated its sums would pay for it a third of its own price (measured, with every call
-- of another account), so it only notes which calls wait: one row for a whole batch. A job sums them up
-- some seconds later, and readers add what is not summed yet, in one statement and so in one snapshot:
-- ledger.usage_sum. A refund is rare and adds to its sum at once.
--
-- One row for each account, day, key, model, endpoint and group. The day is that of the settlement, in UTC,
-- by the database's clock; what goes back counts on the day it goes back. Writers of several of these rows
-- write them in the order of their key.

-- What a call was billed for, by what its units are. Inlined by the planner; a test holds the lists
-- and the faces of the product together. Input is whatever went in: tokens, for speech characters,
-- for transcription seconds.
CREATE FUNCTION ledger.input_units(units jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN COALESCE((units -> 'input')::bigint, 0) + COALESCE((units -> 'cache_read')::bigint, 0)
        + COALESCE((units -> 'cache_write')::bigint, 0) + COALESCE((units -> 'cache_write_1h')::bigint, 0)
        + COALESCE((units -> 'image_input')::bigint, 0) + COALESCE((units -> 'audio_input')::bigint, 0);
CREATE FUNCTION ledger.output_units(units jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN COALESCE((units -> 'output')::bigint, 0) + COALESCE((units -> 'image_output')::bigint, 0)
        + COALESCE((units -> 'audio_output')::bigint, 0);
CREATE FUNCTION ledger.call_units(units jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN COALESCE((units -> 'per_call')::bigint, 0);
CREATE FUNCTION ledger.second_units(units jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN COALESCE((units -> 'video_second')::bigint, 0);

-- The key leads to an account's days as one stretch of the index. Today's rows are updated all day,
-- none of what is updated is in an index, and there is room in the page: updates stay in it.
CREATE TABLE ledger.usage_day (
    account_id   bigint NOT NULL,
    day          date   NOT NULL,
    -- 0 for calls without a key: part of the primary key, and so never null.
    key_id       bigint NOT NULL,
    model        text   NOT NULL,
    endpoint     text   NOT NULL,
    group_name   text   NOT NULL,
    calls        bigint NOT NULL DEFAULT 0,
    -- Of them, those that delivered nothing and cost nothing.
    failed       bigint NOT NULL DEFAULT 0,
    input_units  bigint NOT NULL DEFAULT 0,
    output_units bigint NOT NULL DEFAULT 0,
    call_units   bigint NOT NULL DEFAULT 0,
    second_units bigint NOT NULL DEFAULT 0,
    paid         bigint NOT NULL DEFAULT 0,
    trial        bigint NOT NULL DEFAULT 0,
    refunded     bigint NOT NULL DEFAULT 0,
    -- What upstreams bill us, where known. For the operator's eyes.
    cost         bigint NOT NULL DEFAULT 0,
    CONSTRAINT usage_day_pkey PRIMARY KEY (account_id, day, key_id, model, endpoint, group_name),
    CONSTRAINT usage_day_counts_not_negative CHECK (calls >= 0 AND failed >= 0 AND failed <= calls
        AND input_units >= 0 AND output_units >= 0 AND call_units >= 0 AND second_units >= 0),
    CONSTRAINT usage_day_money_not_negative CHECK (paid >= 0 AND trial >= 0 AND refunded >= 0 AND cost >= 0)
) WITH (fillfactor = 70);
-- For the sweep of what is too old.
CREATE INDEX usage_day_age ON ledger.usage_day (day);

-- Calls that are not in those sums yet: those of one batch in one row, without an index, because all of
-- it is read whenever any of it is. Ids do not get shorter by being compressed.
CREATE TABLE ledger.usage_unsummed (
    request_ids uuid[]   NOT NULL,
    account_ids bigint[] NOT NULL,
    CONSTRAINT usage_unsummed_paired CHECK (cardinality(request_ids) = cardinality(account_ids))
);
ALTER TABLE ledger.usage_unsummed
    ALTER COLUMN request_ids SET STORAGE EXTERNAL,
    ALTER COLUMN account_ids SET STORAGE EXTERNAL;

-- What the two say together: ask this one. Each waiting call is one look at its primary key.
CREATE VIEW ledger.usage_sum AS
SELECT d.account_id, d.day, d.key_id, d.model, d.endpoint, d.group_name, d.calls, d.failed, d.input_units,
    d.output_units, d.call_units, d.second_units, d.paid, d.trial, d.refunded, d.cost
FROM ledger.usage_day AS d
UNION ALL
SELECT w.account_id, (u.settled_at AT TIME ZONE 'UTC')::date, COALESCE(u.key_id, 0), u.model, u.endpoint,
    u.group_name, 1::bigint,
    CASE WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 0 ELSE 1 END::bigint,
    ledger.input_units(u.units), ledger.output_units(u.units), ledger.call_units(u.units),
    ledger.second_units(u.units), u.paid, u.trial, 0::bigint, COALESCE(u.cost, 0)
FROM ledger.usage_unsummed AS n
CROSS JOIN LATERAL unnest(n.request_ids, n.account_ids) AS w (request_id, account_id)
CROSS JOIN LATERAL (
    SELECT * FROM ledger.usage AS one WHERE one.request_id = w.request_id OFFSET 0
) AS u;

-- Sums up what waits, some batches at a time; tells how many. One at a time: who comes second has
-- nothing to do. Nothing is lost or counted twice: what waits no more is in the sums, or neither is so.
CREATE FUNCTION ledger.sum_up(most_batches integer) RETURNS integer
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $sum$
DECLARE
    taken_batches integer;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('ledger.sum_up')) THEN
        RETURN 0;
    END IF;
    WITH taken AS (
        DELETE FROM ledger.usage_unsummed AS n
        WHERE n.ctid = ANY (ARRAY(SELECT first.ctid FROM ledger.usage_unsummed AS first LIMIT most_batches))
        RETURNING n.request_ids
    ), summed AS (
        INSERT INTO ledger.usage_day AS d (account_id, day, key_id, model, endpoint, group_name, calls, failed,
            input_units, output_units, call_units, second_units, paid, trial, cost)
        SELECT u.account_id, (u.settled_at AT TIME ZONE 'UTC')::date, COALESCE(u.key_id, 0), u.model, u.endpoint,
            u.group_name, count(*),
            count(*) FILTER (WHERE u.outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted')),
            sum(ledger.input_units(u.units)), sum(ledger.output_units(u.units)), sum(ledger.call_units(u.units)),
            sum(ledger.second_units(u.units)), sum(u.paid), sum(u.trial), COALESCE(sum(u.cost), 0)
        FROM taken AS t
        CROSS JOIN LATERAL unnest(t.request_ids) AS w (request_id)
        CROSS JOIN LATERAL (
            SELECT * FROM ledger.usage AS one WHERE one.request_id = w.request_id OFFSET 0
        ) AS u
        GROUP BY 1, 2, 3, 4, 5, 6
        ORDER BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (account_id, day, key_id, model, endpoint, group_name) DO UPDATE
        SET calls = d.calls + excluded.calls, failed = d.failed + excluded.failed,
            input_units = d.input_units + excluded.input_units, output_units = d.output_units + excluded.output_units,
            call_units = d.call_units + excluded.call_units, second_units = d.second_units + excluded.second_units,
            paid = d.paid + excluded.paid, trial = d.trial + excluded.trial, cost = d.cost + excluded.cost
    )
    SELECT count(*) INTO taken_batches FROM taken;
    RETURN taken_batches;
END
$sum$;

-- What was there before. Nothing but these sums is new, so they can be made of what there is.
INSERT INTO ledger.usage_day (account_id, day, key_id, model, endpoint, group_name, calls, failed,
    input_units, output_units, call_units, second_units, paid, trial, refunded, cost)
SELECT c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name, sum(c.calls), sum(c.failed),
    sum(c.input_units), sum(c.output_units), sum(c.call_units), sum(c.second_units),
    sum(c.paid), sum(c.trial), sum(c.refunded), sum(c.cost)
FROM (SELECT u.account_id, (u.settled_at AT TIME ZONE 'UTC')::date AS day, COALESCE(u.key_id, 0) AS key_id,
          u.model, u.endpoint, u.group_name, 1 AS calls,
          CASE WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 0 ELSE 1 END AS failed,
          ledger.input_units(u.units) AS input_units, ledger.output_units(u.units) AS output_units,
          ledger.call_units(u.units) AS call_units, ledger.second_units(u.units) AS second_units,
          u.paid, u.trial, 0 AS refunded, COALESCE(u.cost, 0) AS cost
      FROM ledger.usage AS u
      UNION ALL
      SELECT t.account_id, (t.at AT TIME ZONE 'UTC')::date, COALESCE(h.key_id, 0), h.model, h.endpoint, h.group_name,
          0, 0, 0, 0, 0, 0, 0, 0, t.amount, 0
      FROM ledger.transfer AS t
      JOIN ledger.hold AS h USING (request_id)
      WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')) AS c
WHERE c.day >= (app.now() AT TIME ZONE 'UTC')::date - 400
GROUP BY c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name;

-- Forgets days that are older than those kept, some at a time: the job that calls it comes again.
-- SECURITY DEFINER because that job runs as the data plane, which may not delete here.
CREATE FUNCTION ledger.purge_usage_days(before_day date, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $forget$
DECLARE
    gone integer;
BEGIN
    IF before_day > (app.now() AT TIME ZONE 'UTC')::date - 400 THEN
        RAISE EXCEPTION 'the usage of a day is kept for 400 days';
    END IF;
    DELETE FROM ledger.usage_day AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.usage_day AS old WHERE old.day < before_day LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$forget$;

-- Threshold of the event balance.low; null disables it. `balance_low` is set when the event was sent, so
-- that the next one comes only after the balance was above it. What is held does not count: it is not spent
-- yet.
ALTER TABLE ledger.account
    ADD COLUMN low_balance_nanos bigint,
    ADD COLUMN balance_low boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT account_low_balance_positive CHECK (low_balance_nanos > 0) NOT VALID,
    ADD CONSTRAINT account_low_needs_a_mark CHECK (NOT balance_low OR low_balance_nanos IS NOT NULL) NOT VALID;
-- When the event of a used-up budget period was written: once per period.
ALTER TABLE ledger.budget_period ADD COLUMN reached_at timestamptz;

-- A UUID v7 of now, for events without a call of their own.
CREATE FUNCTION ledger.fresh_id() RETURNS uuid
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN overlay(gen_random_uuid()::text PLACING left(app.uuid_v7_floor(app.now())::text, 15) FROM 1)::uuid;

GRANT SELECT ON ledger.usage_day, ledger.usage_unsummed, ledger.usage_sum TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE ON ledger.usage_day TO trunkline_data;
GRANT INSERT, DELETE ON ledger.usage_unsummed TO trunkline_data;
GRANT EXECUTE ON FUNCTION ledger.sum_up(integer) TO trunkline_data;
GRANT UPDATE (balance_low) ON ledger.account TO trunkline_data;
GRANT UPDATE (balance_low, low_balance_nanos) ON ledger.account TO trunkline_console;
GRANT EXECUTE ON FUNCTION ledger.input_units(jsonb), ledger.output_units(jsonb), ledger.call_units(jsonb),
    ledger.second_units(jsonb) TO trunkline_data, trunkline_console, trunkline_audit;
GRANT EXECUTE ON FUNCTION ledger.fresh_id(), ledger.purge_usage_days(date, integer)
    TO trunkline_data, trunkline_console;

-- Every usage row and every refund is added, what customers are shown is taken away: nothing may be left.
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
      SELECT t.account_id, (t.at AT TIME ZONE 'UTC')::date, COALESCE(h.key_id, 0), h.model, h.endpoint, h.group_name,
          0, 0, 0, 0, 0, 0, 0, 0, t.amount, 0
      FROM ledger.transfer AS t
      LEFT JOIN ledger.hold AS h USING (request_id)
      WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
      UNION ALL
      SELECT d.account_id, d.day, d.key_id, d.model, d.endpoint, d.group_name, -d.calls, -d.failed,
          -d.input_units, -d.output_units, -d.call_units, -d.second_units, -d.paid, -d.trial, -d.refunded, -d.cost
      FROM ledger.usage_sum AS d) AS c
-- Older sums are forgotten, some hours late.
WHERE c.day >= (app.now() AT TIME ZONE 'UTC')::date - 400
GROUP BY c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name
HAVING sum(c.calls) <> 0 OR sum(c.failed) <> 0 OR sum(c.input_units) <> 0 OR sum(c.output_units) <> 0
    OR sum(c.call_units) <> 0 OR sum(c.second_units) <> 0 OR sum(c.paid) <> 0 OR sum(c.trial) <> 0
    OR sum(c.refunded) <> 0 OR sum(c.cost) <> 0;
COMMENT ON VIEW ledger.audit_usage_day_disagrees IS
    'the sums of a day that customers are shown are its usage rows and its refunds, to the nano-USD';

CREATE VIEW ledger.audit_low_balance_flag_wrong AS
SELECT a.id AS account_id, a.paid_posted + a.trial_posted AS posted, a.low_balance_nanos, a.balance_low
FROM ledger.account AS a
WHERE a.balance_low <> COALESCE(a.paid_posted + a.trial_posted < a.low_balance_nanos, false);
COMMENT ON VIEW ledger.audit_low_balance_flag_wrong IS
    'an account below its threshold has had its balance.low event, and one above it has the flag cleared';

-- What customers ask most is "how much, on which day, by which key, for which model". The rows of
-- single calls answer it exactly and too slowly, so their sums are kept beside them, and must be right
-- at every moment, to the nano-USD. Operators ask the same by channel, for what calls were sold and what they cost.
--
-- A settlement that updated its sums would pay for it a third of its own price (measured, with every call
-- of another account), so it only notes which calls wait: one row for a whole batch. A job sums them up
-- some seconds later, and readers add what is not summed yet, in one statement and so in one snapshot:
-- ledger.usage_sum and ledger.margin_sum. A refund is rare and adds to its sum of usage at once.
--
-- Days are those of the settlement, in UTC, by the database's clock; what goes back counts on the day it goes back.

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

-- One row for each account, day, key, model, endpoint and group. Writers of several of these rows write them in the
-- order of their key. The key leads to an account's days as one stretch of the index. Today's rows are updated all
-- day, none of what is updated is in an index, and there is room in the page: updates stay in it.
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

-- Calls that are not in the sums yet: those of one batch in one row, without an index, because all of
-- it is read whenever any of it is. Ids do not get shorter by being compressed.
CREATE TABLE ledger.usage_unsummed (
    request_ids uuid[]   NOT NULL,
    account_ids bigint[] NOT NULL,
    CONSTRAINT usage_unsummed_paired CHECK (cardinality(request_ids) = cardinality(account_ids))
);
ALTER TABLE ledger.usage_unsummed
    ALTER COLUMN request_ids SET STORAGE EXTERNAL,
    ALTER COLUMN account_ids SET STORAGE EXTERNAL;

-- What the two say together: ask this one. Each waiting call is one look at its primary key. A late failure counts no
-- call, only that one failed.
CREATE VIEW ledger.usage_sum WITH (security_invoker = true) AS
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
    SELECT one.key_id, one.model, one.endpoint, one.group_name, one.units, one.paid, one.trial, one.cost, one.outcome,
        one.settled_at
    FROM ledger.usage AS one WHERE one.request_id = w.request_id OFFSET 0
) AS u
UNION ALL
SELECT f.account_id, f.day, f.key_id, f.model, f.endpoint, f.group_name, 0::bigint, 1::bigint, 0::bigint, 0::bigint,
    0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint
FROM ledger.late_failure AS f;

-- Refunds and late failures that wait to be added to the sums of margins. Triggers note them, not the statements that
-- make them, so that none is left out. A late failure counts on the day of its call, a refund on the day on which it
-- is made.
CREATE TABLE ledger.reversal_unsummed (
    request_id uuid        NOT NULL,
    at         timestamptz NOT NULL,
    amount     bigint      NOT NULL,
    failed     smallint    NOT NULL,
    CONSTRAINT reversal_unsummed_is_one CHECK ((amount > 0 AND failed = 0) OR (amount = 0 AND failed = 1))
);
CREATE FUNCTION ledger.note_refund() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.reversal_unsummed (request_id, at, amount, failed)
    VALUES (NEW.request_id, NEW.at, NEW.amount, 0);
    RETURN NULL;
END
$note$;
CREATE TRIGGER transfer_notes_refund AFTER INSERT ON ledger.transfer
    FOR EACH ROW WHEN (NEW.kind IN ('refund', 'settlement_adjustment', 'undelivered'))
    EXECUTE FUNCTION ledger.note_refund();
CREATE FUNCTION ledger.note_late_failure() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.reversal_unsummed (request_id, at, amount, failed)
    VALUES (NEW.request_id, NEW.day::timestamp AT TIME ZONE 'UTC', 0, 1);
    RETURN NULL;
END
$note$;
CREATE TRIGGER late_failure_is_noted AFTER INSERT ON ledger.late_failure
    FOR EACH ROW EXECUTE FUNCTION ledger.note_late_failure();

-- What calls were sold for and what they cost, by day, channel, model, customer and group. A page of an operator reads
-- these sums and never the calls of all accounts.
--
-- Three kinds of rows, so that no page reads more than it shows: `account_id` 0 is all accounts together, however many
-- there are; `channel_id` -1, without model and group, is all of an account's day; the others are the details. The
-- channel is the last one that was called; 0 if none was.
CREATE TABLE ledger.margin_day (
    account_id       bigint NOT NULL,
    day              date   NOT NULL,
    channel_id       bigint NOT NULL,
    model            text   NOT NULL,
    group_name       text   NOT NULL,
    calls            bigint NOT NULL DEFAULT 0,
    failed           bigint NOT NULL DEFAULT 0,
    paid             bigint NOT NULL DEFAULT 0,
    trial            bigint NOT NULL DEFAULT 0,
    refunded         bigint NOT NULL DEFAULT 0,
    -- By the channel's price list at the time of the call. A cost that is not known is no cost of zero: delivered calls
    -- without one are counted, and what they were sold for, less their refunds, is kept out of the margin.
    cost             bigint NOT NULL DEFAULT 0,
    uncosted_calls   bigint NOT NULL DEFAULT 0,
    uncosted_sale    bigint NOT NULL DEFAULT 0,
    -- Of the cost, what was inferred because the upstream did not report the usage.
    estimated_calls  bigint NOT NULL DEFAULT 0,
    estimated_cost   bigint NOT NULL DEFAULT 0,
    -- Delivered calls that were charged less than they cost, and by how much.
    below_cost_calls bigint NOT NULL DEFAULT 0,
    below_cost_loss  bigint NOT NULL DEFAULT 0,
    CONSTRAINT margin_day_pkey PRIMARY KEY (account_id, day, channel_id, model, group_name),
    CONSTRAINT margin_day_counts_not_negative CHECK (calls >= 0 AND failed BETWEEN 0 AND calls
        AND uncosted_calls BETWEEN 0 AND calls AND estimated_calls BETWEEN 0 AND calls
        AND below_cost_calls BETWEEN 0 AND calls),
    CONSTRAINT margin_day_money_not_negative CHECK (paid >= 0 AND trial >= 0 AND refunded >= 0 AND cost >= 0
        AND estimated_cost >= 0 AND below_cost_loss >= 0)
) WITH (fillfactor = 70);
-- All customers of some days; those of one model, which is also the sweep of what is too old; those of one channel.
CREATE INDEX margin_day_of_accounts ON ledger.margin_day (day, account_id) WHERE channel_id = -1;
CREATE INDEX margin_day_of_model ON ledger.margin_day (day, model);
CREATE INDEX margin_day_of_channel ON ledger.margin_day (day, channel_id);

-- The part of one call.
CREATE VIEW ledger.margin_call WITH (security_invoker = true) AS
SELECT u.request_id, u.account_id, (u.settled_at AT TIME ZONE 'UTC')::date AS day,
    COALESCE((u.attempts -> -1 ->> 'channel')::bigint, 0) AS channel_id, u.model, u.group_name,
    CASE WHEN d.is_delivered THEN 0 ELSE 1 END AS failed, u.paid, u.trial, COALESCE(u.cost, 0) AS cost,
    CASE WHEN d.is_delivered AND u.cost IS NULL THEN 1 ELSE 0 END AS uncosted_calls,
    CASE WHEN u.cost IS NULL THEN u.paid + u.trial ELSE 0 END AS uncosted_sale,
    CASE WHEN u.estimated AND u.cost > 0 THEN 1 ELSE 0 END AS estimated_calls,
    CASE WHEN u.estimated THEN COALESCE(u.cost, 0) ELSE 0 END AS estimated_cost,
    CASE WHEN d.is_delivered AND u.cost > u.paid + u.trial THEN 1 ELSE 0 END AS below_cost_calls,
    CASE WHEN d.is_delivered AND u.cost > u.paid + u.trial THEN u.cost - u.paid - u.trial ELSE 0 END AS below_cost_loss
FROM ledger.usage AS u
CROSS JOIN LATERAL (
    SELECT u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') AS is_delivered
) AS d;

-- What waits, as it will be added: calls, refunds and late failures, each in the three kinds of rows.
CREATE VIEW ledger.margin_unsummed WITH (security_invoker = true) AS
SELECT a.account_id, p.day, a.channel_id, a.model, a.group_name, p.calls, p.failed, p.paid, p.trial, p.refunded, p.cost,
    p.uncosted_calls, p.uncosted_sale, p.estimated_calls, p.estimated_cost, p.below_cost_calls, p.below_cost_loss
FROM (SELECT c.account_id, c.day, c.channel_id, c.model, c.group_name, 1 AS calls, c.failed, c.paid, c.trial,
          0::bigint AS refunded, c.cost, c.uncosted_calls, c.uncosted_sale, c.estimated_calls, c.estimated_cost,
          c.below_cost_calls, c.below_cost_loss
      FROM ledger.usage_unsummed AS n
      CROSS JOIN LATERAL unnest(n.request_ids) AS w (request_id)
      CROSS JOIN LATERAL (
          SELECT * FROM ledger.margin_call AS one WHERE one.request_id = w.request_id OFFSET 0
      ) AS c
      UNION ALL
      SELECT c.account_id, (r.at AT TIME ZONE 'UTC')::date, c.channel_id, c.model, c.group_name, 0, r.failed, 0, 0,
          r.amount, 0, 0, CASE WHEN c.is_uncosted THEN -r.amount ELSE 0 END, 0, 0, 0, 0
      FROM ledger.reversal_unsummed AS r
      CROSS JOIN LATERAL (
          SELECT one.account_id, COALESCE((one.attempts -> -1 ->> 'channel')::bigint, 0) AS channel_id, one.model,
              one.group_name, one.cost IS NULL AS is_uncosted
          FROM ledger.usage AS one WHERE one.request_id = r.request_id OFFSET 0
      ) AS c) AS p
CROSS JOIN LATERAL (VALUES (p.account_id, p.channel_id, p.model, p.group_name),
    (0, p.channel_id, p.model, p.group_name), (p.account_id, -1, '', '')) AS a (account_id, channel_id, model, group_name);

-- What the two say together: ask this one.
CREATE VIEW ledger.margin_sum WITH (security_invoker = true) AS
SELECT d.account_id, d.day, d.channel_id, d.model, d.group_name, d.calls, d.failed, d.paid, d.trial, d.refunded, d.cost,
    d.uncosted_calls, d.uncosted_sale, d.estimated_calls, d.estimated_cost, d.below_cost_calls, d.below_cost_loss
FROM ledger.margin_day AS d
UNION ALL
SELECT * FROM ledger.margin_unsummed;

-- Sums up what waits, some batches at a time; tells how many. One at a time: who comes second has
-- nothing to do. Nothing is lost or counted twice: what waits no more is in the sums, or neither is so. Refunds and
-- late failures are taken with the batches; those beyond the bound wait for the next time.
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
    ), taken_reversals AS (
        DELETE FROM ledger.reversal_unsummed AS n
        WHERE n.ctid = ANY (ARRAY(SELECT first.ctid FROM ledger.reversal_unsummed AS first LIMIT most_batches * 100))
        RETURNING n.request_id, n.at, n.amount, n.failed
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
    ), margins AS (
        INSERT INTO ledger.margin_day AS d (account_id, day, channel_id, model, group_name, calls, failed, paid, trial,
            refunded, cost, uncosted_calls, uncosted_sale, estimated_calls, estimated_cost, below_cost_calls, below_cost_loss)
        SELECT a.account_id, p.day, a.channel_id, a.model, a.group_name, sum(p.calls), sum(p.failed), sum(p.paid),
            sum(p.trial), sum(p.refunded), sum(p.cost), sum(p.uncosted_calls), sum(p.uncosted_sale),
            sum(p.estimated_calls), sum(p.estimated_cost), sum(p.below_cost_calls), sum(p.below_cost_loss)
        FROM (SELECT c.account_id, c.day, c.channel_id, c.model, c.group_name, 1 AS calls, c.failed, c.paid, c.trial,
                  0 AS refunded, c.cost, c.uncosted_calls, c.uncosted_sale, c.estimated_calls, c.estimated_cost,
                  c.below_cost_calls, c.below_cost_loss
              FROM taken AS t
              CROSS JOIN LATERAL unnest(t.request_ids) AS w (request_id)
              CROSS JOIN LATERAL (
                  SELECT * FROM ledger.margin_call AS one WHERE one.request_id = w.request_id OFFSET 0
              ) AS c
              UNION ALL
              SELECT c.account_id, (r.at AT TIME ZONE 'UTC')::date, c.channel_id, c.model, c.group_name, 0, r.failed, 0,
                  0, r.amount, 0, 0, CASE WHEN c.is_uncosted THEN -r.amount ELSE 0 END, 0, 0, 0, 0
              FROM taken_reversals AS r
              CROSS JOIN LATERAL (
                  SELECT one.account_id, COALESCE((one.attempts -> -1 ->> 'channel')::bigint, 0) AS channel_id, one.model,
                      one.group_name, one.cost IS NULL AS is_uncosted
                  FROM ledger.usage AS one WHERE one.request_id = r.request_id OFFSET 0
              ) AS c) AS p
        CROSS JOIN LATERAL (VALUES (p.account_id, p.channel_id, p.model, p.group_name),
            (0, p.channel_id, p.model, p.group_name), (p.account_id, -1, '', ''))
            AS a (account_id, channel_id, model, group_name)
        GROUP BY 1, 2, 3, 4, 5
        ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (account_id, day, channel_id, model, group_name) DO UPDATE
        SET calls = d.calls + excluded.calls, failed = d.failed + excluded.failed, paid = d.paid + excluded.paid,
            trial = d.trial + excluded.trial, refunded = d.refunded + excluded.refunded, cost = d.cost + excluded.cost,
            uncosted_calls = d.uncosted_calls + excluded.uncosted_calls,
            uncosted_sale = d.uncosted_sale + excluded.uncosted_sale,
            estimated_calls = d.estimated_calls + excluded.estimated_calls,
            estimated_cost = d.estimated_cost + excluded.estimated_cost,
            below_cost_calls = d.below_cost_calls + excluded.below_cost_calls,
            below_cost_loss = d.below_cost_loss + excluded.below_cost_loss
    )
    SELECT count(*) INTO taken_batches FROM taken;
    RETURN taken_batches;
END
$sum$;

GRANT SELECT ON ledger.usage_day, ledger.usage_unsummed, ledger.usage_sum, ledger.reversal_unsummed, ledger.margin_day,
    ledger.margin_call, ledger.margin_unsummed, ledger.margin_sum TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE ON ledger.usage_day, ledger.margin_day TO trunkline_data;
GRANT INSERT, DELETE ON ledger.usage_unsummed TO trunkline_data;
GRANT INSERT ON ledger.reversal_unsummed TO trunkline_data, trunkline_console;
GRANT DELETE ON ledger.reversal_unsummed TO trunkline_data;
GRANT EXECUTE ON FUNCTION ledger.input_units(jsonb), ledger.output_units(jsonb), ledger.call_units(jsonb),
    ledger.second_units(jsonb) TO trunkline_data, trunkline_console, trunkline_audit;
GRANT EXECUTE ON FUNCTION ledger.sum_up(integer) TO trunkline_data;

-- What calls were sold for and what they cost, by day, channel, model, customer and group. A page of an operator reads
-- these sums and never the calls of all accounts. They are filled as the sums of usage are: the job that sums up adds
-- both in one statement, and readers add what is not summed yet (ledger.margin_sum).
--
-- Three kinds of rows, so that no page reads more than it shows: `account_id` 0 is all accounts together, however many
-- there are; `channel_id` -1, without model and group, is all of an account's day; the others are the details. The day is that of the settlement, and of a refund the day on which it is made, both in UTC.
-- The channel is the last one that was called; 0 if none was.
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
CREATE VIEW ledger.margin_call AS
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
CREATE VIEW ledger.margin_unsummed AS
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
CREATE VIEW ledger.margin_sum AS
SELECT d.account_id, d.day, d.channel_id, d.model, d.group_name, d.calls, d.failed, d.paid, d.trial, d.refunded, d.cost,
    d.uncosted_calls, d.uncosted_sale, d.estimated_calls, d.estimated_cost, d.below_cost_calls, d.below_cost_loss
FROM ledger.margin_day AS d
UNION ALL
SELECT * FROM ledger.margin_unsummed;

-- From here on nobody sums up until this file is done: what was summed before is added below, what is summed after
-- goes through the new function.
SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('ledger.sum_up'));
INSERT INTO ledger.margin_day
SELECT a.account_id, p.day, a.channel_id, a.model, a.group_name, sum(p.calls), sum(p.failed), sum(p.paid), sum(p.trial),
    sum(p.refunded), sum(p.cost), sum(p.uncosted_calls), sum(p.uncosted_sale), sum(p.estimated_calls),
    sum(p.estimated_cost), sum(p.below_cost_calls), sum(p.below_cost_loss)
FROM (SELECT c.account_id, c.day, c.channel_id, c.model, c.group_name, 1 AS calls, c.failed, c.paid, c.trial, 0 AS refunded,
          c.cost, c.uncosted_calls, c.uncosted_sale, c.estimated_calls, c.estimated_cost, c.below_cost_calls, c.below_cost_loss
      FROM ledger.margin_call AS c
      WHERE NOT EXISTS (SELECT FROM ledger.usage_unsummed AS n, unnest(n.request_ids) AS w (request_id)
          WHERE w.request_id = c.request_id)
      UNION ALL
      SELECT u.account_id, (t.at AT TIME ZONE 'UTC')::date, COALESCE((u.attempts -> -1 ->> 'channel')::bigint, 0), u.model,
          u.group_name, 0, 0, 0, 0, t.amount, 0, 0, CASE WHEN u.cost IS NULL THEN -t.amount ELSE 0 END, 0, 0, 0, 0
      FROM ledger.transfer AS t
      JOIN ledger.usage AS u USING (request_id)
      WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
          AND NOT EXISTS (SELECT FROM ledger.reversal_unsummed AS r
              WHERE r.request_id = t.request_id AND r.at = t.at AND r.failed = 0)
      UNION ALL
      SELECT u.account_id, f.day, COALESCE((u.attempts -> -1 ->> 'channel')::bigint, 0), u.model, u.group_name, 0, 1, 0, 0,
          0, 0, 0, 0, 0, 0, 0, 0
      FROM ledger.late_failure AS f
      JOIN ledger.usage AS u USING (request_id)
      WHERE NOT EXISTS (SELECT FROM ledger.reversal_unsummed AS r
          WHERE r.request_id = f.request_id AND r.failed = 1)) AS p
CROSS JOIN LATERAL (VALUES (p.account_id, p.channel_id, p.model, p.group_name),
    (0, p.channel_id, p.model, p.group_name), (p.account_id, -1, '', '')) AS a (account_id, channel_id, model, group_name)
WHERE p.day >= (app.now() AT TIME ZONE 'UTC')::date - 400
GROUP BY a.account_id, p.day, a.channel_id, a.model, a.group_name;

-- As before, and the margins. Refunds and late failures are taken with the batches; those beyond the bound wait for the
-- next time.
CREATE OR REPLACE FUNCTION ledger.sum_up(most_batches integer) RETURNS integer
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

-- As before, and the margins of the same days.
CREATE OR REPLACE FUNCTION ledger.purge_usage_days(before_day date, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $forget$
DECLARE
    gone integer;
    gone_margins integer;
BEGIN
    IF before_day > (app.now() AT TIME ZONE 'UTC')::date - 400 THEN
        RAISE EXCEPTION 'the usage of a day is kept for 400 days';
    END IF;
    DELETE FROM ledger.usage_day AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.usage_day AS old WHERE old.day < before_day LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    DELETE FROM ledger.margin_day AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.margin_day AS old WHERE old.day < before_day LIMIT most));
    GET DIAGNOSTICS gone_margins = ROW_COUNT;
    RETURN gone + gone_margins;
END
$forget$;

GRANT SELECT ON ledger.margin_day, ledger.margin_call, ledger.margin_unsummed, ledger.margin_sum
    TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE ON ledger.margin_day TO trunkline_data;

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
-- Older sums are forgotten, some hours late.
WHERE c.day >= (app.now() AT TIME ZONE 'UTC')::date - 400
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
WHERE c.day >= (app.now() AT TIME ZONE 'UTC')::date - 400
GROUP BY a.account_id, c.day, a.channel_id, a.model, a.group_name
HAVING sum(a.sign * c.calls) <> 0 OR sum(a.sign * c.failed) <> 0 OR sum(a.sign * c.paid) <> 0
    OR sum(a.sign * c.trial) <> 0 OR sum(a.sign * c.refunded) <> 0 OR sum(a.sign * c.cost) <> 0
    OR sum(a.sign * c.uncosted_calls) <> 0 OR sum(a.sign * c.uncosted_sale) <> 0
    OR sum(a.sign * c.estimated_calls) <> 0 OR sum(a.sign * c.estimated_cost) <> 0
    OR sum(a.sign * c.below_cost_calls) <> 0 OR sum(a.sign * c.below_cost_loss) <> 0;
COMMENT ON VIEW ledger.audit_margin_day_disagrees IS
    'the margins of a day are the sums of its usage, and its totals are the sums of its details, to the nano-USD';

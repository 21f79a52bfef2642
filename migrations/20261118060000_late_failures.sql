-- Calls that were charged and failed afterwards: a video that its upstream took and did not finish. The usage row
-- of such a call says `accepted` and is never changed; the row here says how the call ended, and is written in
-- the transaction that refunds it. What customers see is the latter: logs, errors, counts of failed calls.
--
-- `day` and what follows it are copies of the usage row's, so that daily sums need no look at it.
CREATE TABLE ledger.late_failure (
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    outcome    text        NOT NULL,
    day        date        NOT NULL,
    key_id     bigint      NOT NULL,
    model      text        NOT NULL,
    endpoint   text        NOT NULL,
    group_name text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT late_failure_pkey PRIMARY KEY (request_id),
    CONSTRAINT late_failure_outcome CHECK (outcome IN (
        'refused', 'upstream_failed', 'upstream_timeout', 'no_result',
        'interrupted', 'expired', 'drained', 'database_away', 'cancelled'))
);
-- For the search of failed calls, and for the sums of days.
CREATE INDEX late_failure_of_account ON ledger.late_failure (account_id, request_id);
CREATE INDEX late_failure_of_day ON ledger.late_failure (account_id, day);
GRANT SELECT, INSERT ON ledger.late_failure TO trunkline_data;
GRANT SELECT ON ledger.late_failure TO trunkline_console;

-- What failed before this table was there.
INSERT INTO ledger.late_failure (request_id, account_id, outcome, day, key_id, model, endpoint, group_name)
SELECT u.request_id, u.account_id, CASE t.error_code WHEN 'cancelled' THEN 'cancelled' ELSE 'upstream_failed' END,
    (u.settled_at AT TIME ZONE 'UTC')::date, COALESCE(u.key_id, 0), u.model, u.endpoint, u.group_name
FROM app.video_task AS t
JOIN ledger.usage AS u ON u.request_id = t.id
WHERE t.state = 'failed' AND u.outcome = 'accepted';

-- The third part is new: it counts no call, only that one failed.
CREATE OR REPLACE VIEW ledger.usage_sum AS
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
) AS u
UNION ALL
SELECT f.account_id, f.day, f.key_id, f.model, f.endpoint, f.group_name, 0::bigint, 1::bigint, 0::bigint, 0::bigint,
    0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint
FROM ledger.late_failure AS f;

-- The same with the late failures, which are counted by their usage rows and not by the copies.
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
-- Older sums are forgotten, some hours late.
WHERE c.day >= (app.now() AT TIME ZONE 'UTC')::date - 400
GROUP BY c.account_id, c.day, c.key_id, c.model, c.endpoint, c.group_name
HAVING sum(c.calls) <> 0 OR sum(c.failed) <> 0 OR sum(c.input_units) <> 0 OR sum(c.output_units) <> 0
    OR sum(c.call_units) <> 0 OR sum(c.second_units) <> 0 OR sum(c.paid) <> 0 OR sum(c.trial) <> 0
    OR sum(c.refunded) <> 0 OR sum(c.cost) <> 0;

CREATE VIEW ledger.audit_late_failure_was_kept AS
SELECT f.request_id, f.account_id, f.outcome, u.account_id AS account_of_call, u.outcome AS outcome_of_call,
    u.paid + u.trial AS charged, COALESCE(b.amount, 0) AS refunded
FROM ledger.late_failure AS f
LEFT JOIN ledger.usage AS u USING (request_id)
LEFT JOIN (SELECT t.request_id, sum(t.amount) AS amount
           FROM ledger.transfer AS t
           WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
           GROUP BY t.request_id) AS b USING (request_id)
WHERE u.request_id IS NULL OR u.account_id <> f.account_id OR u.outcome <> 'accepted'
    OR u.paid + u.trial <> COALESCE(b.amount, 0);
COMMENT ON VIEW ledger.audit_late_failure_was_kept IS
    'a call that failed after its charge was accepted before, and all of its charge was refunded';

CREATE VIEW app.audit_failed_task_is_told_as_accepted AS
SELECT t.id, t.account_id, u.outcome
FROM app.video_task AS t
JOIN ledger.usage AS u ON u.request_id = t.id
LEFT JOIN ledger.late_failure AS f ON f.request_id = t.id
WHERE t.state = 'failed' AND u.outcome = 'accepted' AND f.request_id IS NULL;
COMMENT ON VIEW app.audit_failed_task_is_told_as_accepted IS 'the call of a task that failed has failed';

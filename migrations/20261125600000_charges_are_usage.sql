-- A usage row is the charge. It has the account, both amounts and the moment, and its primary key lets a request
-- be charged once; a transfer beside it said the same a second time, for a row, two index entries and a quarter of
-- the log of a call. Transfers are for everything else. Both together are ledger.posting: statements, sums and
-- the audit read that.
--
-- Usage rows leave after 400 days, and money must not leave with them: dropping a day writes what it charged, by
-- account and wallet, as transfers of kind `day_total`, in the same transaction.
ALTER TABLE ledger.transfer DISABLE TRIGGER transfer_is_append_only;
DELETE FROM ledger.transfer WHERE kind = 'charge';
ALTER TABLE ledger.transfer ENABLE TRIGGER transfer_is_append_only;
ALTER TABLE ledger.transfer DROP CONSTRAINT transfer_kind;
ALTER TABLE ledger.transfer ADD CONSTRAINT transfer_kind CHECK (kind IN (
    'refund', 'settlement_adjustment', 'undelivered', 'top_up', 'trial_grant', 'adjust', 'day_total'));
DROP INDEX ledger.transfer_of_account;
CREATE INDEX transfer_of_account ON ledger.transfer (account_id, request_id);

CREATE VIEW ledger.posting AS
SELECT t.request_id, t.kind, t.leg, t.account_id, t.debit, t.credit, t.amount, t.at
FROM ledger.transfer AS t
UNION ALL
SELECT u.request_id, 'charge', w.leg, u.account_id, u.account_id * 2 + w.leg, -1::bigint, w.amount, u.settled_at
FROM ledger.usage AS u
CROSS JOIN LATERAL (VALUES (0::smallint, u.paid), (1::smallint, u.trial)) AS w (leg, amount)
WHERE w.amount > 0;
COMMENT ON VIEW ledger.posting IS 'all money that moved: the charges, which are usage rows, and the transfers';
GRANT SELECT ON ledger.posting TO trunkline_data, trunkline_console;

-- What an account may owe: admission counts it as money of the paid wallet.
ALTER TABLE ledger.account
    ADD COLUMN credit_limit bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT account_credit_limit_not_negative CHECK (credit_limit >= 0),
    DROP CONSTRAINT account_paid_covers_holds,
    ADD CONSTRAINT account_paid_covers_holds CHECK (paid_posted + credit_limit - paid_held >= 0);
GRANT UPDATE (credit_limit) ON ledger.account TO trunkline_console;

-- What a reseller charges its own customer for the call; null if the account resells nothing. Not `cost`, which is
-- what an upstream bills us.
ALTER TABLE ledger.usage
    ADD COLUMN resale bigint,
    ADD CONSTRAINT usage_resale_not_negative CHECK (resale >= 0);

-- Days whose holds and usage rows are gone, and what budgets and capacities had counted of them.
CREATE TABLE ledger.dropped_day (
    day     date        NOT NULL,
    from_id uuid        NOT NULL,
    to_id   uuid        NOT NULL,
    at      timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT dropped_day_pkey PRIMARY KEY (day)
);
ALTER TABLE ledger.budget_period ADD COLUMN dropped bigint NOT NULL DEFAULT 0;
ALTER TABLE ledger.capacity ADD COLUMN dropped bigint NOT NULL DEFAULT 0;
GRANT SELECT ON ledger.dropped_day TO trunkline_data, trunkline_console;

-- Drops a day's holds and usage rows; false if something of the day is not over yet: an open hold, a call, a refund or
-- a late failure that waits to be summed up, a settlement or a refund that is not 400 days old itself. Sums of usage and
-- margins do not need the rows any more then. SECURITY DEFINER because the job that calls it runs as the data plane,
-- which owns nothing. It waits shortly for its locks: the job comes back.
CREATE FUNCTION ledger.drop_day(old_day date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
AS $drop$
DECLARE
    last_kept date := (app.now() AT TIME ZONE 'UTC')::date - 400;
    first_id uuid := app.uuid_v7_floor(old_day::timestamp AT TIME ZONE 'UTC');
    next_id uuid := app.uuid_v7_floor((old_day + 1)::timestamp AT TIME ZONE 'UTC');
    moment timestamptz := (old_day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    IF old_day >= last_kept THEN
        RAISE EXCEPTION 'the usage of a day is kept for 400 days';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ledger.make_partitions'));
    IF to_regclass('ledger.usage_' || to_char(old_day, 'YYYYMMDD')) IS NULL THEN
        RETURN false;
    END IF;
    -- Nothing is written to these days any more; this makes sure of it while they are summed up.
    EXECUTE format('LOCK TABLE ledger.%I, ledger.%I IN SHARE MODE',
        'hold_' || to_char(old_day, 'YYYYMMDD'), 'usage_' || to_char(old_day, 'YYYYMMDD'));
    IF EXISTS (SELECT FROM ledger.hold AS h
               WHERE h.request_id >= first_id AND h.request_id < next_id AND h.state = 'open')
        OR EXISTS (SELECT FROM ledger.usage_unsummed AS n, unnest(n.request_ids) AS w (request_id)
                   WHERE w.request_id >= first_id AND w.request_id < next_id)
        OR EXISTS (SELECT FROM ledger.reversal_unsummed AS r
                   WHERE r.request_id >= first_id AND r.request_id < next_id)
        OR EXISTS (SELECT FROM ledger.usage AS u
                   WHERE u.request_id >= first_id AND u.request_id < next_id
                       AND (u.settled_at AT TIME ZONE 'UTC')::date >= last_kept)
        OR EXISTS (SELECT FROM ledger.transfer AS t
                   WHERE t.request_id >= first_id AND t.request_id < next_id
                       AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
                       AND (t.at AT TIME ZONE 'UTC')::date >= last_kept) THEN
        RETURN false;
    END IF;
    INSERT INTO ledger.transfer (request_id, kind, leg, account_id, debit, credit, amount, at)
    SELECT s.id, 'day_total', w.leg, s.account_id, s.account_id * 2 + w.leg, -1, w.amount, moment
    FROM (SELECT g.account_id, g.paid, g.trial, overlay(gen_random_uuid()::text
              PLACING left(app.uuid_v7_floor(moment - interval '1 millisecond')::text, 15) FROM 1)::uuid AS id
          FROM (SELECT u.account_id, sum(u.paid)::bigint AS paid, sum(u.trial)::bigint AS trial
                FROM ledger.usage AS u
                WHERE u.request_id >= first_id AND u.request_id < next_id
                GROUP BY u.account_id) AS g OFFSET 0) AS s
    CROSS JOIN LATERAL (VALUES (0::smallint, s.paid), (1::smallint, s.trial)) AS w (leg, amount)
    WHERE w.amount > 0;
    UPDATE ledger.budget_period AS p
    SET dropped = p.dropped + d.amount
    FROM (SELECT t.budget_id, t.starts_at, sum(t.amount)::bigint AS amount
          FROM ledger.budget_taken AS t
          WHERE t.request_id >= first_id AND t.request_id < next_id
          GROUP BY t.budget_id, t.starts_at) AS d
    WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at;
    UPDATE ledger.capacity AS c
    SET dropped = c.dropped + d.places
    FROM (SELECT t.name, t.day, count(*) AS places
          FROM ledger.capacity_taken AS t
          WHERE t.request_id >= first_id AND t.request_id < next_id
          GROUP BY t.name, t.day) AS d
    WHERE c.name = d.name AND c.day = d.day;
    DELETE FROM ledger.late_failure AS f WHERE f.request_id >= first_id AND f.request_id < next_id;
    DELETE FROM ledger.unconfirmed_delivery AS d WHERE d.request_id >= first_id AND d.request_id < next_id;
    -- A run is told by its call, and would be told as one that never began.
    DELETE FROM app.workflow_run AS r WHERE r.request_id >= first_id AND r.request_id < next_id;
    INSERT INTO ledger.dropped_day (day, from_id, to_id) VALUES (old_day, first_id, next_id);
    EXECUTE format('DROP TABLE ledger.%I, ledger.%I',
        'hold_' || to_char(old_day, 'YYYYMMDD'), 'usage_' || to_char(old_day, 'YYYYMMDD'));
    RETURN true;
END
$drop$;

-- The oldest day that may go and has not, if any.
CREATE FUNCTION ledger.next_day_to_drop() RETURNS date
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    RETURN (SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = to_regclass('ledger.usage')
                AND to_date(right(c.relname, 8), 'YYYYMMDD') < (app.now() AT TIME ZONE 'UTC')::date - 400);
GRANT EXECUTE ON FUNCTION ledger.drop_day(date), ledger.next_day_to_drop() TO trunkline_data, trunkline_console;

-- What each call takes of its budgets: its hold while it is open, then its charge, less what went back in time.
CREATE VIEW ledger.budget_taken AS
SELECT h.request_id, b.budget_id, b.starts_at,
    CASE h.state WHEN 'open' THEN h.paid + h.trial ELSE COALESCE(u.paid + u.trial, 0) END AS amount
FROM ledger.hold AS h
LEFT JOIN ledger.usage AS u USING (request_id)
CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
UNION ALL
SELECT t.request_id, b.budget_id, b.starts_at, -t.amount
FROM ledger.transfer AS t
JOIN ledger.hold AS h USING (request_id)
CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
JOIN ledger.budget_period AS p ON p.budget_id = b.budget_id AND p.starts_at = b.starts_at
WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered') AND t.at < p.ends_at;

CREATE VIEW ledger.capacity_taken AS
SELECT h.request_id, h.capacity AS name, h.capacity_day AS day
FROM ledger.hold AS h
WHERE h.capacity IS NOT NULL AND h.state <> 'voided'
    AND h.request_id NOT IN (SELECT t.request_id FROM ledger.transfer AS t WHERE t.kind = 'undelivered');

-- The audit. A charge cannot differ from its usage row any more, so that view goes.
DROP VIEW ledger.audit_charge_is_not_the_usage;

CREATE OR REPLACE VIEW ledger.audit_books_do_not_balance AS
SELECT own.total AS wallets, others.total AS others
FROM (SELECT COALESCE(sum(a.paid_posted + a.trial_posted), 0) AS total FROM ledger.account AS a) AS own,
    (SELECT COALESCE(sum(CASE WHEN t.credit < 0 THEN t.amount ELSE 0 END
            - CASE WHEN t.debit < 0 THEN t.amount ELSE 0 END), 0) AS total
     FROM ledger.posting AS t) AS others
WHERE own.total + others.total <> 0;

CREATE OR REPLACE VIEW ledger.audit_balance_is_not_its_transfers AS
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

CREATE OR REPLACE VIEW ledger.audit_overspent AS
SELECT a.id AS account_id, a.paid_posted, a.paid_held, a.trial_posted, a.trial_held
FROM ledger.account AS a
WHERE a.paid_posted + a.credit_limit - a.paid_held < 0 OR a.trial_posted - a.trial_held < 0
    OR a.paid_held < 0 OR a.trial_held < 0;
COMMENT ON VIEW ledger.audit_overspent IS 'no wallet may promise more than it holds and may owe';

CREATE OR REPLACE VIEW ledger.audit_wrong_refund AS
WITH back AS (
    SELECT t.request_id, t.account_id,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 0), 0) AS paid,
        COALESCE(sum(t.amount) FILTER (WHERE t.leg = 1), 0) AS trial,
        count(*) AS moves, count(DISTINCT (t.kind, t.leg)) AS reasons
    FROM ledger.transfer AS t
    WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
        AND NOT EXISTS (SELECT FROM ledger.dropped_day AS d WHERE t.request_id >= d.from_id AND t.request_id < d.to_id)
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

CREATE OR REPLACE VIEW ledger.audit_transfer_the_wrong_way AS
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

CREATE OR REPLACE VIEW ledger.audit_budget_is_not_its_calls AS
WITH summed AS (
    SELECT budget_id, starts_at, sum(amount) AS amount FROM ledger.budget_taken GROUP BY budget_id, starts_at
)
SELECT COALESCE(p.budget_id, s.budget_id) AS budget_id, COALESCE(p.starts_at, s.starts_at) AS starts_at,
    p.used, COALESCE(s.amount, 0) AS of_calls
FROM ledger.budget_period AS p
FULL JOIN summed AS s ON s.budget_id = p.budget_id AND s.starts_at = p.starts_at
WHERE p.used - p.dropped IS DISTINCT FROM COALESCE(s.amount, 0);

CREATE OR REPLACE VIEW ledger.audit_capacity_is_not_its_calls AS
WITH taken AS (
    SELECT t.name, t.day, count(*) AS places FROM ledger.capacity_taken AS t GROUP BY t.name, t.day
)
SELECT COALESCE(c.name, t.name) AS name, COALESCE(c.day, t.day) AS day, c.used, t.places
FROM ledger.capacity AS c
FULL JOIN taken AS t USING (name, day)
WHERE COALESCE(c.used - c.dropped, 0) <> COALESCE(t.places, 0) OR c.used > c.cap;

-- A day that was dropped before its time, or a charge that went without its total.
CREATE VIEW ledger.audit_day_missing AS
SELECT day.day::date AS day
FROM (SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD')) AS first_day
      FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
      WHERE i.inhparent = pg_catalog.to_regclass('ledger.transfer')) AS f
CROSS JOIN LATERAL generate_series(f.first_day, (app.now() AT TIME ZONE 'UTC')::date, interval '1 day') AS day (day)
WHERE to_regclass('ledger.usage_' || to_char(day.day, 'YYYYMMDD')) IS NULL
    AND to_regclass('ledger.transfer_' || to_char(day.day, 'YYYYMMDD')) IS NOT NULL
    AND NOT EXISTS (SELECT FROM ledger.dropped_day AS d WHERE d.day = day.day::date);
COMMENT ON VIEW ledger.audit_day_missing IS 'a day has its usage rows, or was dropped with its totals written';

-- Tasks are kept for longer than their money's rows.
CREATE OR REPLACE VIEW app.audit_task_and_money_disagree AS
SELECT t.id, t.account_id, t.state, h.state AS hold, u.paid + u.trial AS charged, COALESCE(b.amount, 0) AS given_back
FROM app.video_task AS t
LEFT JOIN ledger.hold AS h ON h.request_id = t.id
LEFT JOIN ledger.usage AS u ON u.request_id = t.id
LEFT JOIN (SELECT r.request_id, sum(r.amount) AS amount FROM ledger.transfer AS r
           WHERE r.kind IN ('refund', 'undelivered') GROUP BY r.request_id) AS b ON b.request_id = t.id
WHERE NOT EXISTS (SELECT FROM ledger.dropped_day AS d WHERE t.id >= d.from_id AND t.id < d.to_id)
    AND (h.request_id IS NULL OR h.owner <> 'task' OR h.account_id <> t.account_id
        OR (t.state IN ('accepted', 'submitting', 'unknown') AND h.state <> 'open')
        OR (t.state IN ('submitted', 'running', 'completed') AND (h.state <> 'settled' OR COALESCE(b.amount, 0) > 0))
        OR (t.state = 'failed' AND (h.state = 'open' OR COALESCE(u.paid + u.trial, 0) <> COALESCE(b.amount, 0))));

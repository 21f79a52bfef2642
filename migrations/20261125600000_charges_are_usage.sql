-- A usage row is the charge. It has the account, both amounts and the moment, and its primary key lets a request
-- be charged once; a transfer beside it said the same a second time, for a row, two index entries and a quarter of
-- the log of a call. Transfers are for everything else. Both together are ledger.posting: statements, sums and
-- the audit read that.
--
-- Usage rows leave after the days that the operator keeps them, and money must not leave with them: dropping a day
-- writes what it charged, by account and wallet, as transfers of kind `day_total`, in the same transaction. The function
-- that does it is in the next file.
--
-- The days of ADR 95 left without totals, because their charges stayed as transfers. No database is old enough to have
-- dropped one.
DO $dropped$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'ledger.hold'::regclass
                   AND pg_catalog.to_regclass('ledger.usage_' || right(c.relname, 8)) IS NULL) THEN
        RAISE EXCEPTION 'the usage rows of some days are gone, and their charges would go with this file';
    END IF;
END
$dropped$;
DROP FUNCTION ledger.drop_usage_partitions(date);
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
    DROP CONSTRAINT account_paid_covers_holds,
    DROP CONSTRAINT account_trial_covers_holds,
    DROP CONSTRAINT account_paid_held_not_negative,
    DROP CONSTRAINT account_trial_held_not_negative,
    DROP CONSTRAINT account_kind,
    DROP CONSTRAINT account_low_balance_positive,
    DROP CONSTRAINT account_low_needs_a_mark,
    -- One CHECK, and of what a batch changes: PostgreSQL reads the text of each anew in every statement, and eight took a
    -- fifth of what a batch of one call costs.
    ADD CONSTRAINT account_covers_holds CHECK (least(paid_held, trial_held, paid_posted + credit_limit - paid_held,
        trial_posted - trial_held) >= 0);
CREATE FUNCTION ledger.check_account_settings() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $check$
BEGIN
    IF NEW.kind NOT IN ('live', 'test') OR NEW.credit_limit < 0 OR NEW.low_balance_nanos <= 0
        OR (NEW.balance_low AND NEW.low_balance_nanos IS NULL) THEN
        RAISE EXCEPTION 'an account has a kind, no negative credit limit, and is low only below a mark'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'account_settings_are_sound';
    END IF;
    RETURN NULL;
END
$check$;
CREATE TRIGGER account_settings_are_sound
    AFTER INSERT OR UPDATE OF kind, credit_limit, low_balance_nanos, balance_low ON ledger.account
    FOR EACH ROW EXECUTE FUNCTION ledger.check_account_settings();
GRANT UPDATE (credit_limit) ON ledger.account TO trunkline_console;

-- What a reseller charges its own customer for the call; null if the account resells nothing. Not `cost`, which is
-- what an upstream bills us.
ALTER TABLE ledger.usage
    ADD COLUMN resale bigint;

-- Days before ledger.usage_kept.from_day have neither holds nor usage rows. What budgets and capacities had counted of
-- them is `dropped`. A call may be settled or refunded on a later day than its own: `sums_from` is the first day whose
-- sums have all their calls, and from which the audit compares them.
ALTER TABLE ledger.usage_kept ADD COLUMN sums_from date;
UPDATE ledger.usage_kept SET sums_from = from_day;
ALTER TABLE ledger.usage_kept ALTER COLUMN sums_from SET NOT NULL;
ALTER TABLE ledger.budget_period ADD COLUMN dropped bigint NOT NULL DEFAULT 0;
ALTER TABLE ledger.capacity ADD COLUMN dropped bigint NOT NULL DEFAULT 0;

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

CREATE VIEW ledger.audit_day_missing AS
SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day
FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = pg_catalog.to_regclass('ledger.transfer')
    AND pg_catalog.to_regclass('ledger.usage_' || right(c.relname, 8)) IS NULL
    AND right(c.relname, 8) >= (SELECT to_char(k.from_day, 'YYYYMMDD') FROM ledger.usage_kept AS k);
COMMENT ON VIEW ledger.audit_day_missing IS 'a day has its usage rows, or was dropped with its totals written';

-- Holds go with their usage, so each that is over has its usage row again.
CREATE OR REPLACE VIEW ledger.audit_hold_and_usage_disagree AS
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

-- Sums are compared from the first day that has all its calls. The rest of these views is as it was.
DO $sums$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT v.viewname, v.definition, pg_catalog.regexp_replace(v.definition,
            '\(k\.from_day \+ 8\)( AS "\?column\?")?', 'k.sums_from', 'g') AS changed
        FROM pg_catalog.pg_views AS v
        WHERE v.schemaname = 'ledger'
            AND v.viewname IN ('audit_usage_day_disagrees', 'audit_margin_day_disagrees')
    LOOP
        IF one.changed ~ 'from_day' OR one.changed = one.definition THEN
            RAISE EXCEPTION 'ledger.% is not as this file expects it', one.viewname;
        END IF;
        EXECUTE pg_catalog.format('CREATE OR REPLACE VIEW ledger.%I AS %s', one.viewname, one.changed);
    END LOOP;
END
$sums$;

-- Tasks are kept for longer than their money's rows.
CREATE OR REPLACE VIEW app.audit_task_and_money_disagree AS
SELECT t.id, t.account_id, t.state, h.state AS hold, u.paid + u.trial AS charged, COALESCE(b.amount, 0) AS given_back
FROM app.video_task AS t
LEFT JOIN ledger.hold AS h ON h.request_id = t.id
LEFT JOIN ledger.usage AS u ON u.request_id = t.id
LEFT JOIN (SELECT r.request_id, sum(r.amount) AS amount FROM ledger.transfer AS r
           WHERE r.kind IN ('refund', 'undelivered') GROUP BY r.request_id) AS b ON b.request_id = t.id
WHERE t.id >= (SELECT k.floor FROM ledger.usage_kept AS k)
    AND (h.request_id IS NULL OR h.owner <> 'task' OR h.account_id <> t.account_id
        OR (t.state IN ('accepted', 'submitting', 'unknown') AND h.state <> 'open')
        OR (t.state IN ('submitted', 'running', 'completed') AND (h.state <> 'settled' OR COALESCE(b.amount, 0) > 0))
        OR (t.state = 'failed' AND (h.state = 'open' OR COALESCE(u.paid + u.trial, 0) <> COALESCE(b.amount, 0))));

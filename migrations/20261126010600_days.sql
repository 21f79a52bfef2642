-- The days of the ledger's tables: how they are made, which of them are kept, and how the oldest is dropped. Holds,
-- usage rows and the batches of a day go together; transfers stay.

-- Days before `from_day` have neither holds nor usage rows; the audit compares single calls from there on. A call may
-- be settled or refunded on a later day than its own: `sums_from` is the first day whose sums have all their calls,
-- and from which the audit compares them.
CREATE TABLE ledger.usage_kept (
    is_only   boolean NOT NULL DEFAULT true,
    from_day  date    NOT NULL,
    -- The lowest id of that day.
    floor     uuid    NOT NULL,
    sums_from date    NOT NULL,
    CONSTRAINT usage_kept_pkey PRIMARY KEY (is_only),
    CONSTRAINT usage_kept_is_only_row CHECK (is_only)
);
-- A new database has no calls: any day does that is not after the first of them.
INSERT INTO ledger.usage_kept (from_day, floor, sums_from)
SELECT day.day, app.uuid_v7_floor(day.day::timestamp AT TIME ZONE 'UTC'), day.day
FROM (SELECT (app.now() AT TIME ZONE 'UTC')::date - 400 AS day) AS day;
GRANT SELECT ON ledger.usage_kept TO trunkline_data, trunkline_console;

-- Partitions are days (UTC) and are made in advance; a row for which there is none is refused, and
-- the audit raises the alarm long before. SECURITY DEFINER because the job that calls this every hour
-- runs as the data plane, which owns nothing.
CREATE FUNCTION ledger.make_partitions(first_day date, days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    parents CONSTANT text[] := ARRAY['hold', 'usage', 'transfer', 'hold_batch', 'hold_extension'];
    made integer := 0;
    day date;
    parent text;
    child text;
BEGIN
    IF days NOT BETWEEN 1 AND 400 THEN
        RAISE EXCEPTION 'between 1 and 400 days of partitions can be made at once';
    END IF;
    -- A node that starts does not wait for a day that is dropped at the same time.
    IF NOT EXISTS (
        SELECT FROM generate_series(0, days - 1) AS n (n)
        CROSS JOIN LATERAL (SELECT to_char(first_day + n.n, 'YYYYMMDD') AS suffix) AS d
        WHERE to_regproc('ledger.apply_' || d.suffix) IS NULL
            OR EXISTS (SELECT FROM unnest(parents) AS p (name) WHERE to_regclass('ledger.' || p.name || '_' || d.suffix) IS NULL)
    ) THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ledger.make_partitions'));
    FOR day IN SELECT first_day + n FROM generate_series(0, days - 1) AS n LOOP
        FOREACH parent IN ARRAY parents LOOP
            child := parent || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('ledger.' || child) IS NULL THEN
                IF parent IN ('hold_batch', 'hold_extension') THEN
                    EXECUTE format(
                        'CREATE TABLE ledger.%I PARTITION OF ledger.%I FOR VALUES FROM (%L) TO (%L)',
                        child, parent, day, day + 1);
                ELSE
                    EXECUTE format(
                        'CREATE TABLE ledger.%I PARTITION OF ledger.%I FOR VALUES FROM (%L) TO (%L)',
                        child, parent,
                        app.uuid_v7_floor(day::timestamp AT TIME ZONE 'UTC'),
                        app.uuid_v7_floor((day + 1)::timestamp AT TIME ZONE 'UTC'));
                END IF;
                -- The ledger names the day's partitions, so that a statement is planned once and opens
                -- nothing else; a partition that is named needs its own grants.
                EXECUTE format('GRANT SELECT, INSERT ON ledger.%I TO trunkline_data', child);
                IF parent = 'hold' THEN
                    EXECUTE format(
                        'GRANT UPDATE (paid, trial, state, resolved_at) ON ledger.%I TO trunkline_data', child);
                ELSIF parent = 'hold_batch' THEN
                    -- A row of one batch fills a page before it is moved out of line.
                    EXECUTE format('ALTER TABLE ledger.%I SET (toast_tuple_target = 8160)', child);
                END IF;
                made := made + 1;
            END IF;
        END LOOP;
        IF NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.pronamespace = 'ledger'::regnamespace
                       AND p.proname = 'apply_' || to_char(day, 'YYYYMMDD')) THEN
            PERFORM ledger.make_apply(day);
        END IF;
    END LOOP;
    RETURN made;
END
$make$;
GRANT EXECUTE ON FUNCTION ledger.make_partitions(date, integer) TO trunkline_data, trunkline_console;

-- Drops the oldest day before one that is given: its holds, its usage rows and its function, with the totals of its
-- charges written. False if there is none, or if something of it is not over yet: an open hold; a call, a refund or a
-- late failure that waits to be summed up; a call that waits to be entered in its chain; a settlement or a refund that
-- is kept itself. Days go in their order, so that one date says what is there: later ones wait too. SECURITY DEFINER
-- because the job that calls it runs as the data plane, which owns nothing. It waits shortly for its locks: the job
-- comes back.
CREATE FUNCTION ledger.drop_oldest_day(before_day date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
AS $drop$
DECLARE
    old_day date;
    suffix text;
    kept_from date;
    first_id uuid;
    next_id uuid;
    moment timestamptz;
    packed text;
    is_open boolean;
BEGIN
    IF before_day > (app.now() AT TIME ZONE 'UTC')::date - 30 THEN
        RAISE EXCEPTION 'calls are kept for 30 days at least';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ledger.make_partitions'));
    -- Compared as text: the planner may ask names that are no days.
    SELECT min(right(c.relname, 8)) INTO suffix
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'ledger.usage'::regclass AND right(c.relname, 8) < to_char(before_day, 'YYYYMMDD');
    old_day := to_date(suffix, 'YYYYMMDD');
    kept_from := COALESCE(old_day, before_day);
    IF old_day IS NOT NULL THEN
        moment := (old_day + 1)::timestamp AT TIME ZONE 'UTC';
        first_id := app.uuid_v7_floor(old_day::timestamp AT TIME ZONE 'UTC');
        next_id := app.uuid_v7_floor(moment);
        -- Nothing is written to these days any more; this makes sure of it while they are summed up.
        EXECUTE format('LOCK TABLE ledger.%I, ledger.%I, ledger.%I, ledger.%I IN SHARE MODE',
            'hold_' || suffix, 'hold_batch_' || suffix, 'usage_' || suffix, 'transfer_' || suffix);
        packed := ledger.packed_holds_of_day(suffix);
        EXECUTE format('SELECT EXISTS (SELECT FROM (%s) AS h WHERE h.state = ''open'')', packed) INTO is_open;
        IF NOT (is_open
            OR EXISTS (SELECT FROM ledger.hold AS h
                       WHERE h.request_id >= first_id AND h.request_id < next_id AND h.state = 'open')
            OR EXISTS (SELECT FROM ledger.usage_unsummed AS n, unnest(n.request_ids) AS w (request_id)
                       WHERE w.request_id >= first_id AND w.request_id < next_id)
            OR EXISTS (SELECT FROM ledger.unchained AS c, unnest(c.request_ids) AS w (request_id)
                       WHERE c.kind = 'charge' AND w.request_id >= first_id AND w.request_id < next_id)
            OR EXISTS (SELECT FROM ledger.reversal_unsummed AS r
                       WHERE r.request_id >= first_id AND r.request_id < next_id)
            OR EXISTS (SELECT FROM ledger.usage AS u
                       WHERE u.request_id >= first_id AND u.request_id < next_id
                           AND (u.settled_at AT TIME ZONE 'UTC')::date >= before_day)
            OR EXISTS (SELECT FROM ledger.transfer AS t
                       WHERE t.request_id >= first_id AND t.request_id < next_id
                           AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
                           AND (t.at AT TIME ZONE 'UTC')::date >= before_day)) THEN
            kept_from := old_day + 1;
        END IF;
    END IF;
    UPDATE ledger.usage_kept AS k
    SET from_day = greatest(k.from_day, kept_from),
        floor = app.uuid_v7_floor(greatest(k.from_day, kept_from)::timestamp AT TIME ZONE 'UTC'),
        sums_from = greatest(k.sums_from, before_day)
    WHERE kept_from > k.from_day OR kept_from > old_day;
    IF old_day IS NULL OR kept_from = old_day THEN
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
    -- What budgets and capacities had counted of this day, as ledger.budget_taken and ledger.capacity_taken say it of all
    -- days; nothing of it is open.
    EXECUTE format($sums$
        WITH held AS MATERIALIZED (
            SELECT h.request_id, h.budget_ids, h.budget_starts, h.capacity, h.capacity_day, h.state FROM ledger.%1$I AS h
            UNION ALL
            SELECT h.request_id, h.budget_ids, h.budget_starts, h.capacity, h.capacity_day, h.state FROM (%2$s) AS h
        ), taken AS (
            SELECT b.budget_id, b.starts_at, u.paid + u.trial AS amount
            FROM held AS h
            JOIN ledger.%3$I AS u USING (request_id)
            CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
            UNION ALL
            SELECT b.budget_id, b.starts_at, -t.amount
            FROM ledger.%4$I AS t
            JOIN held AS h USING (request_id)
            CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
            JOIN ledger.budget_period AS p ON p.budget_id = b.budget_id AND p.starts_at = b.starts_at
            WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered') AND t.at < p.ends_at
        ), budgets AS (
            UPDATE ledger.budget_period AS p
            SET dropped = p.dropped + d.amount
            FROM (SELECT t.budget_id, t.starts_at, sum(t.amount)::bigint AS amount
                  FROM taken AS t GROUP BY t.budget_id, t.starts_at) AS d
            WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at
        )
        UPDATE ledger.capacity AS c
        SET dropped = c.dropped + d.places
        FROM (SELECT h.capacity AS name, h.capacity_day AS day, count(*) AS places
              FROM held AS h
              WHERE h.capacity IS NOT NULL AND h.state <> 'voided'
                  AND NOT EXISTS (SELECT FROM ledger.%4$I AS t WHERE t.request_id = h.request_id AND t.kind = 'undelivered')
              GROUP BY h.capacity, h.capacity_day) AS d
        WHERE c.name = d.name AND c.day = d.day
        $sums$, 'hold_' || suffix, packed, 'usage_' || suffix, 'transfer_' || suffix);
    DELETE FROM ledger.unconfirmed_delivery AS d WHERE d.request_id >= first_id AND d.request_id < next_id;
    -- A run is told by its call, and would be told as one that never began.
    DELETE FROM app.workflow_run AS r WHERE r.request_id >= first_id AND r.request_id < next_id;
    DELETE FROM ledger.hold_release AS f WHERE f.day = old_day;
    EXECUTE format('DROP TABLE ledger.%I, ledger.%I, ledger.%I, ledger.%I',
        'hold_' || suffix, 'usage_' || suffix, 'hold_batch_' || suffix, 'hold_extension_' || suffix);
    EXECUTE format('DROP FUNCTION ledger.%I', 'apply_' || suffix);
    RETURN true;
END
$drop$;
GRANT EXECUTE ON FUNCTION ledger.drop_oldest_day(date) TO trunkline_data;

-- Forgets the sums of days whose calls are not kept, with the late failures that are added to them, some at a time:
-- the job that calls it comes again. SECURITY DEFINER because that job runs as the data plane, which may not delete
-- here.
CREATE FUNCTION ledger.purge_usage_days(before_day date, most integer) RETURNS integer
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
GRANT EXECUTE ON FUNCTION ledger.purge_usage_days(date, integer) TO trunkline_data, trunkline_console;

-- Yesterday's calls may still be running; seven days ahead leaves a week to notice that the job died.
SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9);

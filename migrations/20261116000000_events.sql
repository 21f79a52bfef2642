-- Events of accounts, in the order in which they became visible. A row is written in the transaction of its
-- cause; its number comes from a counter row of the account, so the numbers have no gaps and no reader sees
-- 8 before 7. A reader that meets a gap reads this table. Account 0 is the system account, whose events go
-- to all accounts.
--
-- app.outbox gets a copy of each row to publish (JetStream). The copy may be lost; this table is
-- authoritative and is kept for seven days.
--
-- Lock order: accounts of the ledger first, then these counters by account, as late as can be.
CREATE TABLE app.event_counter (
    account_id bigint NOT NULL,
    value      bigint NOT NULL,
    CONSTRAINT event_counter_pkey PRIMARY KEY (account_id),
    CONSTRAINT event_counter_value_positive CHECK (value > 0)
) WITH (fillfactor = 50);

CREATE TABLE app.event (
    account_id bigint      NOT NULL,
    seq        bigint      NOT NULL,
    id         uuid        NOT NULL,
    topic      text        NOT NULL,
    task_id    uuid,
    body       jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (account_id, seq, created_at),
    CONSTRAINT event_seq_positive CHECK (seq > 0),
    CONSTRAINT event_topic_bounded CHECK (char_length(topic) BETWEEN 1 AND 100),
    CONSTRAINT event_body_bounded CHECK (octet_length(body::text) <= 65536)
) PARTITION BY RANGE (created_at);
-- An event must never break the transaction of its cause: a day for which there is no table yet goes here.
CREATE TABLE app.event_default PARTITION OF app.event DEFAULT;

-- SECURITY DEFINER because the job that calls these runs as the data plane, which owns nothing.
CREATE FUNCTION app.make_event_partitions(first_day date, days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    made integer := 0;
    day date;
    child text;
BEGIN
    IF days NOT BETWEEN 1 AND 400 THEN
        RAISE EXCEPTION 'between 1 and 400 days of partitions can be made at once';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('app.make_event_partitions'));
    FOR day IN SELECT first_day + n FROM generate_series(0, days - 1) AS n LOOP
        child := 'event_' || to_char(day, 'YYYYMMDD');
        -- Rows that came before their table stay where they are: a table over them would be refused.
        IF to_regclass('app.' || child) IS NULL AND NOT EXISTS (
            SELECT FROM app.event_default AS e
            WHERE e.created_at >= day::timestamp AT TIME ZONE 'UTC'
                AND e.created_at < (day + 1)::timestamp AT TIME ZONE 'UTC')
        THEN
            EXECUTE format('CREATE TABLE app.%I PARTITION OF app.event FOR VALUES FROM (%L) TO (%L)',
                child, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$make$;

-- Drops whole days. The numbers continue: the counters stay.
CREATE FUNCTION app.drop_event_partitions(before_day date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $forget$
DECLARE
    gone integer := 0;
    child text;
BEGIN
    IF before_day > (app.now() AT TIME ZONE 'UTC')::date - 7 THEN
        RAISE EXCEPTION 'events are kept for seven days';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('app.make_event_partitions'));
    FOR child IN SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'app.event'::regclass AND c.relname ~ '^event_[0-9]{8}$'
            AND to_date(right(c.relname, 8), 'YYYYMMDD') < before_day
    LOOP
        EXECUTE format('DROP TABLE app.%I', child);
        gone := gone + 1;
    END LOOP;
    DELETE FROM app.event_default AS e WHERE e.created_at < before_day::timestamp AT TIME ZONE 'UTC';
    RETURN gone;
END
$forget$;

SELECT app.make_event_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9);

GRANT SELECT, INSERT ON app.event_counter, app.event TO trunkline_data, trunkline_console;
GRANT UPDATE (value) ON app.event_counter TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION app.make_event_partitions(date, integer) TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION app.drop_event_partitions(date) TO trunkline_data;

-- What `trunkline audit` asks: every number up to the counter is there, from the first that is kept.
CREATE VIEW app.audit_event_numbers_have_holes AS
SELECT c.account_id, c.value, e.events, e.first, e.last
FROM app.event_counter AS c
LEFT JOIN (SELECT account_id, count(*) AS events, min(seq) AS first, max(seq) AS last
           FROM app.event GROUP BY account_id) AS e USING (account_id)
WHERE e.account_id IS NOT NULL AND (e.last <> c.value OR e.last - e.first + 1 <> e.events);
COMMENT ON VIEW app.audit_event_numbers_have_holes IS
    'the events of an account are numbered without gaps, or a reader waits for ever';

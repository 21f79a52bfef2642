-- Dear reader,
--
-- There is one clock in SQL and it is app.now(). Budgets roll over, holds expire and partitions are
-- chosen by it, and all of that must be tested without waiting for midnight: so a test may move it,
-- for every session at once, by writing one row. In production the table is empty and app.now() is
-- the start of the transaction, as now() is. Nobody but the owner may write the row, and the audit
-- reports it if it is ever there.
CREATE TABLE app.clock_shift (
    one   boolean  NOT NULL DEFAULT true,
    shift interval NOT NULL,
    CONSTRAINT clock_shift_pkey PRIMARY KEY (one),
    CONSTRAINT clock_shift_at_most_one_row CHECK (one)
);
GRANT SELECT ON app.clock_shift TO trunkline_data, trunkline_console;

-- A SQL body in the standard's form is bound when it is created, so no search_path can lead it
-- astray. It costs about 2.5 microseconds a call (measured): nothing for a comparison, where a STABLE
-- function is asked once, something for a default on ten thousand rows.
CREATE FUNCTION app.now() RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pg_catalog.now() + COALESCE((SELECT s.shift FROM app.clock_shift AS s), interval '0');
GRANT EXECUTE ON FUNCTION app.now() TO trunkline_data, trunkline_console, trunkline_audit;

-- A row here is an alarm: somebody's test clock is in a database that is being looked at.
CREATE VIEW app.audit_clock_shifted AS
    SELECT s.shift FROM app.clock_shift AS s;

-- The lowest UUID v7 of an instant, to cut partitions and to ask for "everything since". It agrees
-- with terms::uuid_v7 of zeros, to the bit; a test holds the two together.
--
-- The epoch is subtracted instead of asking for extract(epoch from at) because the latter depends, as
-- far as PostgreSQL knows, on the session's time zone, and this must be IMMUTABLE to cut partitions.
-- Before 1970 there is only the lowest id of all; beyond 48 bits of milliseconds, the year 10889,
-- only the highest.
CREATE FUNCTION app.uuid_v7_floor(at timestamptz) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN overlay(
        overlay(
            lpad(to_hex(greatest(0, least(281474976710655,
                floor(extract(epoch FROM (at - timestamptz '1970-01-01 00:00:00+00')) * 1000)))::bigint), 12, '0')
            PLACING '-' FROM 9 FOR 0)
        PLACING '-7000-8000-000000000000' FROM 14 FOR 0)::uuid;
GRANT EXECUTE ON FUNCTION app.uuid_v7_floor(timestamptz) TO trunkline_data, trunkline_console, trunkline_audit;

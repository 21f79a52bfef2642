-- There is one clock in SQL and it is app.now(). Budgets roll over, holds expire and partitions are
-- chosen by it, and all of that must be tested without waiting for midnight: so a test may move it, for
-- every session at once, by replacing this function with one that adds an interval. Only the owner may
-- do that, and the audit reports it. Cached plans notice: PostgreSQL plans a statement again when a
-- function in it was replaced.
--
-- The body is one call and nothing else, so that PostgreSQL puts it into the statement that asks and no
-- function is left to be called. It once added a shift that was read from a table; a body with a
-- sub-select is never put in, and cost every statement of the ledger 38 to 89 microseconds (measured).
--
-- The standard's form of a body is bound when it is created, so no search_path can lead it astray.
CREATE FUNCTION app.now() RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pg_catalog.now();
GRANT EXECUTE ON FUNCTION app.now() TO trunkline_data, trunkline_console, trunkline_audit;

-- A row here is an alarm: a test clock is active in this database.
CREATE VIEW app.audit_clock_shifted AS
    SELECT app.now() - pg_catalog.now() AS shift WHERE app.now() <> pg_catalog.now();

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

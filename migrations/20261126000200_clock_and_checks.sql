-- There is one clock in SQL and it is app.now(). Budgets roll over, holds expire and partitions are
-- chosen by it, and all of that must be tested without waiting for midnight: so a test may move it, for
-- every session at once, by replacing this function with one that adds an interval. Only the owner may
-- do that, and the audit reports it. Cached plans notice: PostgreSQL plans a statement again when a
-- function in it was replaced.
--
-- The body is one call and nothing else, so that PostgreSQL puts it into the statement that asks and no
-- function is left to be called. A body with a sub-select, such as one that reads a shift from a table, is
-- never put in, and costs every statement of the ledger 38 to 89 microseconds (measured).
--
-- The standard's form of a body is bound when it is created, so no search_path can lead it astray.
CREATE FUNCTION app.now() RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pg_catalog.now();
GRANT EXECUTE ON FUNCTION app.now() TO trunkline_data, trunkline_console, trunkline_audit;

-- A row here is an alarm: a test clock is active in this database.
CREATE VIEW app.audit_clock_shifted AS
    SELECT app.now() - pg_catalog.now() AS shift WHERE app.now() <> pg_catalog.now();
COMMENT ON VIEW app.audit_clock_shifted IS 'the clock in SQL is not shifted';

-- The lowest UUID v7 of an instant, to cut partitions and to ask for "everything since". It agrees
-- with trunkline_types::uuid_v7 of zeros, to the bit; a test holds the two together.
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

-- A UUID v7 of now, for events without a call of their own.
CREATE FUNCTION ledger.fresh_id() RETURNS uuid
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN overlay(gen_random_uuid()::text PLACING left(app.uuid_v7_floor(app.now())::text, 15) FROM 1)::uuid;
GRANT EXECUTE ON FUNCTION ledger.fresh_id() TO trunkline_data, trunkline_console;

-- For triggers of rows that must not change; the argument tells why.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
AS $refuse$
BEGIN
    RAISE EXCEPTION '% on %.%: %', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'restrict_violation';
END
$refuse$;

-- Every word is there and none is too long.
CREATE FUNCTION app.is_list_of_words(words text[], fewest integer, most integer, longest integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN cardinality(words) BETWEEN fewest AND most
        AND (SELECT COALESCE(bool_and(COALESCE(char_length(w.word) BETWEEN 1 AND longest, false)), true)
             FROM unnest(words) AS w (word));
GRANT EXECUTE ON FUNCTION app.is_list_of_words(text[], integer, integer, integer)
    TO trunkline_data, trunkline_console;

-- An object of texts, with neither too many nor too long ones.
CREATE FUNCTION app.is_map_of_texts(map jsonb, fewest integer, most integer, longest_key integer, longest_value integer)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN jsonb_typeof(map) = 'object'
        AND (SELECT count(*) BETWEEN fewest AND most
                 AND COALESCE(bool_and(char_length(e.key) BETWEEN 1 AND longest_key
                     AND jsonb_typeof(e.value) = 'string'
                     AND char_length(e.value #>> '{}') BETWEEN 1 AND longest_value), true)
             FROM jsonb_each(CASE jsonb_typeof(map) WHEN 'object' THEN map ELSE '{}' END) AS e (key, value));
GRANT EXECUTE ON FUNCTION app.is_map_of_texts(jsonb, integer, integer, integer, integer)
    TO trunkline_data, trunkline_console;

-- Roles and schemas: who may do what. No table of the product is here; this file is first so that every
-- later table is created under these privileges.
--
-- Four roles, none of which can log in. Logins are the operator's business and are given exactly one of
-- them. Roles belong to the whole cluster while this file runs once per database, perhaps in forty test
-- databases at the same moment, so creating them must survive a race: the second transaction finds the
-- role, or a unique violation, and continues. That is not quite enough: its catalog cache says until its
-- next transaction that the role does not exist. The runner retries this file.
--
-- The roles are looked up before they are created because a DBA may have created them in advance for a
-- login that may not.
DO $roles$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['trunkline_owner', 'trunkline_data', 'trunkline_console', 'trunkline_audit']
    LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
            BEGIN
                EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- another migration created it first
            END;
        END IF;
    END LOOP;
END
$roles$;

-- From here on the migrating login must be able to become the owner. A superuser can. A login with
-- CREATEROLE grants itself the membership; only after trying, because on PostgreSQL 16 the maker of a role
-- is a "member" who may nevertheless not SET ROLE to it.
DO $membership$
BEGIN
    SET LOCAL ROLE trunkline_owner;
    SET LOCAL ROLE NONE;
EXCEPTION WHEN insufficient_privilege THEN
    BEGIN
        EXECUTE pg_catalog.format('GRANT trunkline_owner TO %I', session_user);
    EXCEPTION WHEN unique_violation THEN
        NULL; -- the same login, migrating another database at the same moment
    END;
END
$membership$;

-- Two schemas. The tables of `ledger` are written by one crate only.
CREATE SCHEMA app AUTHORIZATION trunkline_owner;
CREATE SCHEMA ledger AUTHORIZATION trunkline_owner;

SET LOCAL ROLE trunkline_owner;

GRANT USAGE ON SCHEMA app, ledger TO trunkline_data, trunkline_console, trunkline_audit;

-- The audit role reads everything, also later tables, and changes nothing. The data plane and the console
-- get nothing by default: each table grants what they need.
ALTER DEFAULT PRIVILEGES FOR ROLE trunkline_owner IN SCHEMA app, ledger
    GRANT SELECT ON TABLES TO trunkline_audit;
ALTER DEFAULT PRIVILEGES FOR ROLE trunkline_owner IN SCHEMA app, ledger
    GRANT SELECT ON SEQUENCES TO trunkline_audit;

-- PostgreSQL lets everybody execute every new function unless told otherwise. (This one cannot be
-- said per schema: a default that is given globally can only be taken away globally.)
ALTER DEFAULT PRIVILEGES FOR ROLE trunkline_owner
    REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- What was applied here. The runner in crates/db writes it; the others read it to learn whether the schema
-- is the one they were built for. Times are the server's own: the shiftable clock of the next file is for
-- the product's time, not for the history of migrations.
CREATE TABLE app.migration (
    version       bigint      NOT NULL,
    name          text        NOT NULL,
    checksum      bytea       NOT NULL,
    applied_at    timestamptz NOT NULL DEFAULT pg_catalog.now(),
    applied_by    text        NOT NULL DEFAULT session_user,
    -- Whether the release before this migration may run on the schema after it. An executable reads it for
    -- migrations that it does not know, and does not start where one says no.
    previous_runs boolean     NOT NULL DEFAULT true,
    CONSTRAINT migration_pkey PRIMARY KEY (version),
    CONSTRAINT migration_checksum_is_sha384 CHECK (octet_length(checksum) = 48)
);
GRANT SELECT ON app.migration TO trunkline_data, trunkline_console;

-- Who may connect. These privileges belong to the database as an object, not to its contents: neither a
-- dump nor a template contains them. So this is a function, and the runner calls it after every migration,
-- also when there was nothing to apply. Only the database's owner can do it; for other logins the
-- privileges stay as the DBA set them.
CREATE FUNCTION app.seal_database() RETURNS boolean
    LANGUAGE plpgsql
AS $seal$
DECLARE
    may_seal boolean;
BEGIN
    SELECT pg_catalog.pg_has_role(d.datdba, 'USAGE') INTO may_seal
    FROM pg_catalog.pg_database AS d
    WHERE d.datname = pg_catalog.current_database();
    IF may_seal THEN
        EXECUTE pg_catalog.format('REVOKE ALL ON DATABASE %I FROM PUBLIC', pg_catalog.current_database());
        EXECUTE pg_catalog.format(
            'GRANT CONNECT ON DATABASE %I TO trunkline_owner, trunkline_data, trunkline_console, trunkline_audit',
            pg_catalog.current_database());
        BEGIN
            REVOKE ALL ON SCHEMA public FROM PUBLIC;
        EXCEPTION WHEN invalid_schema_name OR insufficient_privilege THEN
            NULL; -- dropped, or kept by the DBA: nothing of ours is in it
        END;
    END IF;
    RETURN may_seal;
END
$seal$;

-- Operators and their roles, and the second factor of whoever has one.
--
-- The previous release knows only person.is_operator and keeps writing it, so the trigger below keeps the row here:
-- who becomes an operator is an owner until someone says otherwise, and who stops being one loses the row.
CREATE TABLE app.operator (
    person_id bigint      NOT NULL,
    role      text        NOT NULL DEFAULT 'owner',
    added_at  timestamptz NOT NULL DEFAULT app.now(),
    -- An address, or the login at the command line.
    added_by  text,
    CONSTRAINT operator_pkey PRIMARY KEY (person_id),
    CONSTRAINT operator_is_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT operator_role CHECK (role IN ('owner', 'finance', 'support', 'read_only')),
    CONSTRAINT operator_added_by_bounded CHECK (char_length(added_by) BETWEEN 1 AND 254)
);
INSERT INTO app.operator (person_id, added_at) SELECT p.id, p.created_at FROM app.person AS p WHERE p.is_operator;

CREATE FUNCTION app.follow_is_operator() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $follow$
BEGIN
    IF NEW.is_operator THEN
        INSERT INTO app.operator (person_id) VALUES (NEW.id) ON CONFLICT (person_id) DO NOTHING;
    ELSE
        DELETE FROM app.operator WHERE person_id = NEW.id;
    END IF;
    RETURN NULL;
END
$follow$;
CREATE TRIGGER person_is_operator AFTER INSERT OR UPDATE OF is_operator ON app.person
    FOR EACH ROW EXECUTE FUNCTION app.follow_is_operator();

-- A shared secret of RFC 6238, sealed by the keyring: one that counts and one that is being set up, of each person.
-- `last_step` is the newest thirty seconds whose code was used; no code of it or before is taken again.
CREATE TABLE app.second_factor (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    person_id    bigint      NOT NULL,
    secret       bytea       NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT app.now(),
    confirmed_at timestamptz,
    last_step    bigint      NOT NULL DEFAULT 0,
    CONSTRAINT second_factor_pkey PRIMARY KEY (id),
    CONSTRAINT second_factor_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT second_factor_secret_bounded CHECK (octet_length(secret) BETWEEN 1 AND 1024)
);
CREATE UNIQUE INDEX second_factor_in_force ON app.second_factor (person_id) WHERE confirmed_at IS NOT NULL;
CREATE UNIQUE INDEX second_factor_pending ON app.second_factor (person_id) WHERE confirmed_at IS NULL;

-- Codes for who has lost the device: the SHA-256 of 80 random bits each, good once.
CREATE TABLE app.recovery_code (
    person_id bigint NOT NULL,
    code_hash bytea  NOT NULL,
    used_at   timestamptz,
    CONSTRAINT recovery_code_pkey PRIMARY KEY (person_id, code_hash),
    CONSTRAINT recovery_code_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT recovery_code_is_sha256 CHECK (octet_length(code_hash) = 32)
);

-- When the second factor was given on this device, and the account that an operator looks at, which is not theirs.
ALTER TABLE app.sign_in
    ADD COLUMN second_factor_at timestamptz,
    ADD COLUMN viewing_id bigint;
GRANT UPDATE (second_factor_at, viewing_id) ON app.sign_in TO trunkline_console;

GRANT SELECT, INSERT, DELETE ON app.operator TO trunkline_console;
GRANT UPDATE (role, added_by) ON app.operator TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.second_factor TO trunkline_console;
GRANT UPDATE (secret, confirmed_at, last_step) ON app.second_factor TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.recovery_code TO trunkline_console;
GRANT UPDATE (used_at) ON app.recovery_code TO trunkline_console;
GRANT EXECUTE ON FUNCTION app.follow_is_operator() TO trunkline_console;

CREATE VIEW app.audit_operator_without_owner AS
SELECT count(*) AS operators FROM app.operator HAVING count(*) > 0 AND NOT bool_or(role = 'owner');
COMMENT ON VIEW app.audit_operator_without_owner IS
    'where there are operators there is an owner, or no operator can change roles';

-- People: who may open the console, of which organisations they are members, and on which devices they
-- are signed in. An organisation is an account of app.account; API keys belong to accounts, not to
-- people, and the data plane knows no person: trunkline_data may do nothing with these tables.
--
-- Nothing in here opens anything by being read. A password is an argon2id text; a sign-in, a link and an
-- invitation are the SHA-256 of 256 random bits, so there is nothing to guess and no salt to add.
--
-- The bounds in the checks are constants in crates/store/src/people.rs; a test holds the two together.

-- E-mail addresses are ASCII and lower-case: the same address is one person, however it is typed.
-- `password_hash` is null for people who sign in through a provider. Rows are never deleted: what a person
-- did must find its name.
CREATE TABLE app.person (
    id                bigint      GENERATED ALWAYS AS IDENTITY,
    email             text        NOT NULL,
    name              text        NOT NULL,
    password_hash     text,
    email_verified_at timestamptz,
    is_operator       boolean     NOT NULL DEFAULT false,
    created_at        timestamptz NOT NULL DEFAULT app.now(),
    disabled_at       timestamptz,
    CONSTRAINT person_pkey PRIMARY KEY (id),
    CONSTRAINT person_email_once UNIQUE (email),
    CONSTRAINT person_email_bounded CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT person_email_is_one CHECK (email ~ '^[!-?A-~]+@[!-?A-~]+$' AND email !~ '[A-Z]'),
    CONSTRAINT person_name_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT person_password_is_argon2id CHECK (
        char_length(password_hash) <= 200 AND password_hash LIKE '$argon2id$%')
);
CREATE INDEX person_operators ON app.person (id) WHERE is_operator;
-- A reset of the password is sent to the address: it is erased, never changed.
CREATE TRIGGER person_keeps_email BEFORE UPDATE OF email ON app.person
    FOR EACH ROW WHEN (NEW.email IS DISTINCT FROM OLD.email AND NEW.email <> 'erased-' || OLD.id || '@invalid')
    EXECUTE FUNCTION ledger.refuse_change('the address of a person is erased, never changed');

-- Who may do what in an organisation. The last owner stays: the code locks the owners of an account
-- before it takes one away, and the audit looks.
CREATE TABLE app.member (
    account_id bigint      NOT NULL,
    person_id  bigint      NOT NULL,
    role       text        NOT NULL,
    joined_at  timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT member_pkey PRIMARY KEY (account_id, person_id),
    CONSTRAINT member_of_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT member_is_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT member_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer'))
);
CREATE INDEX member_by_person ON app.member (person_id, account_id);

-- One row is one device that is signed in. It ends at `expires_at`, or when it is silent for seven days,
-- or when it is deleted; roles are read anew with every request and are not in here. `account_id` is the
-- organisation that is looked at. The token is another after each change of what it may do.
CREATE TABLE app.sign_in (
    id               uuid        NOT NULL,
    token_hash       bytea       NOT NULL,
    person_id        bigint      NOT NULL,
    account_id       bigint,
    created_at       timestamptz NOT NULL DEFAULT app.now(),
    last_seen_at     timestamptz NOT NULL DEFAULT app.now(),
    expires_at       timestamptz NOT NULL,
    -- Until when money and secrets may be touched without the password.
    stepped_up_until timestamptz,
    address          text        NOT NULL,
    agent            text        NOT NULL,
    -- When the second factor was given on this device.
    second_factor_at timestamptz,
    -- The account that an operator looks at, which is not theirs.
    viewing_id       bigint,
    CONSTRAINT sign_in_pkey PRIMARY KEY (id),
    CONSTRAINT sign_in_token_once UNIQUE (token_hash),
    CONSTRAINT sign_in_token_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT sign_in_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT sign_in_looks_at_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT sign_in_ends CHECK (expires_at > created_at),
    CONSTRAINT sign_in_bounded CHECK (char_length(address) <= 45 AND char_length(agent) <= 200)
) WITH (fillfactor = 80);
CREATE INDEX sign_in_of_person ON app.sign_in (person_id, created_at);
CREATE INDEX sign_in_by_age ON app.sign_in (expires_at);

-- An invitation: a one-time link for an address and a role. `mailed` means that it went to that address
-- only, so that opening it verifies the address.
CREATE TABLE app.invitation (
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    account_id  bigint      NOT NULL,
    email       text        NOT NULL,
    role        text        NOT NULL,
    token_hash  bytea       NOT NULL,
    mailed      boolean     NOT NULL,
    -- Null: by an operator at the command line.
    invited_by  bigint,
    created_at  timestamptz NOT NULL DEFAULT app.now(),
    expires_at  timestamptz NOT NULL,
    accepted_at timestamptz,
    accepted_by bigint,
    revoked_at  timestamptz,
    CONSTRAINT invitation_pkey PRIMARY KEY (id),
    CONSTRAINT invitation_token_once UNIQUE (token_hash),
    CONSTRAINT invitation_token_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT invitation_to_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT invitation_by_a_person FOREIGN KEY (invited_by) REFERENCES app.person (id),
    CONSTRAINT invitation_accepted_by_a_person FOREIGN KEY (accepted_by) REFERENCES app.person (id),
    CONSTRAINT invitation_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer')),
    CONSTRAINT invitation_email_bounded CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT invitation_ends CHECK (expires_at > created_at),
    CONSTRAINT invitation_accepted CHECK ((accepted_at IS NULL) = (accepted_by IS NULL)),
    CONSTRAINT invitation_has_one_end CHECK (accepted_at IS NULL OR revoked_at IS NULL)
);
-- One open invitation for one address: the next one takes its place.
CREATE UNIQUE INDEX invitation_open ON app.invitation (account_id, email)
    WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Other links that are good once. 'setup' makes an operator and is nobody's yet; 'verify' and 'reset'
-- are a person's.
CREATE TABLE app.person_token (
    token_hash bytea       NOT NULL,
    purpose    text        NOT NULL,
    person_id  bigint,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    CONSTRAINT person_token_pkey PRIMARY KEY (token_hash),
    CONSTRAINT person_token_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT person_token_purpose CHECK (purpose IN ('verify', 'reset', 'setup')),
    CONSTRAINT person_token_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT person_token_owner CHECK ((purpose = 'setup') = (person_id IS NULL)),
    CONSTRAINT person_token_ends CHECK (expires_at > created_at)
);
CREATE INDEX person_token_of_person ON app.person_token (person_id, purpose);
CREATE INDEX person_token_by_age ON app.person_token (expires_at);

-- Failed sign-ins, by the hash of the address that was typed (whether anybody has it or not) and by the
-- hash of the network they came from. A device on which a person signed in before has its own count, so that
-- failures of others cannot lock it out; its row is the proof that it is known. A try is counted before it is
-- looked at, so that many at once are many; a good one takes its count back.
CREATE TABLE app.sign_in_attempt (
    kind         text        NOT NULL,
    subject_hash bytea       NOT NULL,
    failures     integer     NOT NULL,
    first_at     timestamptz NOT NULL,
    last_at      timestamptz NOT NULL,
    locked_until timestamptz,
    CONSTRAINT sign_in_attempt_pkey PRIMARY KEY (kind, subject_hash),
    CONSTRAINT sign_in_attempt_kind CHECK (kind IN ('address', 'network', 'device')),
    CONSTRAINT sign_in_attempt_subject_is_sha256 CHECK (octet_length(subject_hash) = 32),
    CONSTRAINT sign_in_attempt_failures CHECK (failures >= 0)
) WITH (fillfactor = 80);
CREATE INDEX sign_in_attempt_by_age ON app.sign_in_attempt (last_at);

-- The playground of the console calls models with a key, as any client does: what it costs is charged,
-- limited and logged like all else. Each person has one such key in each organisation, short-lived and
-- made anew when it is asked for again; this says which. By its name it could not be told: anybody may
-- call any key anything.
CREATE TABLE app.playground_key (
    account_id bigint NOT NULL,
    person_id  bigint NOT NULL,
    key_id     bigint NOT NULL,
    CONSTRAINT playground_key_pkey PRIMARY KEY (account_id, person_id),
    CONSTRAINT playground_key_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    -- Both columns: a key of the same account.
    CONSTRAINT playground_key_of_same_account FOREIGN KEY (account_id, key_id)
        REFERENCES app.api_key (account_id, id)
);

-- Erasing a customer changes addresses: what names a person goes, what moved money stays.
GRANT SELECT, INSERT ON app.person TO trunkline_console;
GRANT UPDATE (email, name, password_hash, email_verified_at, is_operator, disabled_at) ON app.person
    TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.member TO trunkline_console;
GRANT UPDATE (role) ON app.member TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.sign_in TO trunkline_console;
GRANT UPDATE (token_hash, account_id, last_seen_at, stepped_up_until, second_factor_at, viewing_id) ON app.sign_in
    TO trunkline_console;
GRANT SELECT, INSERT ON app.invitation TO trunkline_console;
GRANT UPDATE (email, accepted_at, accepted_by, revoked_at) ON app.invitation TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.person_token TO trunkline_console;
GRANT UPDATE (used_at) ON app.person_token TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.sign_in_attempt TO trunkline_console;
GRANT UPDATE (failures, first_at, last_at, locked_until) ON app.sign_in_attempt TO trunkline_console;
GRANT SELECT, INSERT ON app.playground_key TO trunkline_console;
GRANT UPDATE (key_id) ON app.playground_key TO trunkline_console;

CREATE VIEW app.audit_organisation_without_owner AS
SELECT m.account_id, count(*) AS members
FROM app.member AS m
GROUP BY m.account_id
HAVING NOT bool_or(m.role = 'owner');
COMMENT ON VIEW app.audit_organisation_without_owner IS
    'an organisation with members has an owner, or no member can change roles';

CREATE VIEW app.audit_disabled_person_signed_in AS
SELECT s.id AS sign_in_id, s.person_id, p.disabled_at
FROM app.sign_in AS s
JOIN app.person AS p ON p.id = s.person_id
WHERE p.disabled_at IS NOT NULL AND s.created_at > p.disabled_at;
COMMENT ON VIEW app.audit_disabled_person_signed_in IS 'a disabled person does not sign in';

CREATE VIEW app.audit_playground_key_for_ever AS
SELECT p.account_id, p.person_id, p.key_id
FROM app.playground_key AS p
JOIN app.api_key AS k ON k.id = p.key_id
WHERE k.expires_at IS NULL AND k.revoked_at IS NULL AND k.deleted_at IS NULL;
COMMENT ON VIEW app.audit_playground_key_for_ever IS
    'a playground key expires, unless it was revoked';

-- Self-service sign-up with a verified email address, sign-in through OpenID Connect providers, operators with their
-- roles, and the second factor of whoever has one.

-- A sign-up creates no user until the email address is verified: a sign-up with a foreign address takes
-- nothing from its owner. The link in the email creates person and organisation, once. `browser_hash` is of
-- the cookie of the browser that signed up: the password counts only there, or the owner of an address
-- could be led to confirm the password of a stranger.
CREATE TABLE app.sign_up (
    token_hash    bytea       NOT NULL,
    email         text        NOT NULL,
    name          text        NOT NULL,
    organisation  text        NOT NULL,
    password_hash text        NOT NULL,
    browser_hash  bytea       NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT app.now(),
    expires_at    timestamptz NOT NULL,
    CONSTRAINT sign_up_pkey PRIMARY KEY (token_hash),
    CONSTRAINT sign_up_token_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT sign_up_browser_is_sha256 CHECK (octet_length(browser_hash) = 32),
    CONSTRAINT sign_up_email_bounded CHECK (char_length(email) BETWEEN 3 AND 254),
    CONSTRAINT sign_up_name_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT sign_up_organisation_bounded CHECK (char_length(organisation) BETWEEN 1 AND 100),
    CONSTRAINT sign_up_password_is_argon2id CHECK (
        char_length(password_hash) <= 200 AND password_hash LIKE '$argon2id$%'),
    CONSTRAINT sign_up_ends CHECK (expires_at > created_at)
);
CREATE INDEX sign_up_by_age ON app.sign_up (expires_at);
CREATE INDEX sign_up_of_email ON app.sign_up (email);

-- Who a person is at a provider. The provider's number is the truth, addresses change hands.
CREATE TABLE app.person_identity (
    issuer     text        NOT NULL,
    subject    text        NOT NULL,
    person_id  bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT person_identity_pkey PRIMARY KEY (issuer, subject),
    CONSTRAINT person_identity_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    CONSTRAINT person_identity_issuer_bounded CHECK (char_length(issuer) BETWEEN 1 AND 500),
    CONSTRAINT person_identity_subject_bounded CHECK (char_length(subject) BETWEEN 1 AND 255)
);
CREATE INDEX person_identity_of_person ON app.person_identity (person_id);

-- State of an OIDC authorization request: valid for ten minutes, for one browser, once (taking it deletes
-- it).
CREATE TABLE app.oidc_state (
    state_hash   bytea       NOT NULL,
    browser_hash bytea       NOT NULL,
    provider     text        NOT NULL,
    nonce        text        NOT NULL,
    verifier     text        NOT NULL,
    return_to    text        NOT NULL,
    -- The sign-in that is to be trusted with money again; null to sign in.
    sign_in_id   uuid,
    created_at   timestamptz NOT NULL DEFAULT app.now(),
    expires_at   timestamptz NOT NULL,
    CONSTRAINT oidc_state_pkey PRIMARY KEY (state_hash),
    CONSTRAINT oidc_state_state_is_sha256 CHECK (octet_length(state_hash) = 32),
    CONSTRAINT oidc_state_browser_is_sha256 CHECK (octet_length(browser_hash) = 32),
    CONSTRAINT oidc_state_bounded CHECK (char_length(provider) <= 64 AND char_length(nonce) <= 128
        AND char_length(verifier) <= 128 AND char_length(return_to) <= 512),
    CONSTRAINT oidc_state_ends CHECK (expires_at > created_at)
);
CREATE INDEX oidc_state_by_age ON app.oidc_state (expires_at);

-- Operators and their roles. The trigger keeps the rows as app.person.is_operator says: who becomes an operator is an
-- owner until someone says otherwise, and who stops being one loses the row.
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

GRANT SELECT, INSERT, DELETE ON app.sign_up, app.oidc_state TO trunkline_console;
GRANT SELECT, INSERT ON app.person_identity TO trunkline_console;
-- Who was erased is not found by a provider's number either.
GRANT DELETE ON app.person_identity TO trunkline_console;
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

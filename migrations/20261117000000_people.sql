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
-- hash of the network they came from. A try is counted before it is looked at, so that many at once are
-- many; a good one takes its count back.
CREATE TABLE app.sign_in_attempt (
    kind           text        NOT NULL,
    subject_hash   bytea       NOT NULL,
    failures       integer     NOT NULL,
    first_at       timestamptz NOT NULL,
    last_at        timestamptz NOT NULL,
    locked_until   timestamptz,
    CONSTRAINT sign_in_attempt_pkey PRIMARY KEY (kind, subject_hash),
    CONSTRAINT sign_in_attempt_kind CHECK (kind IN ('address', 'network')),
    CONSTRAINT sign_in_attempt_subject_is_sha256 CHECK (octet_length(subject_hash) = 32),
    CONSTRAINT sign_in_attempt_failures CHECK (failures >= 0)
) WITH (fillfactor = 80);
CREATE INDEX sign_in_attempt_by_age ON app.sign_in_attempt (last_at);

GRANT SELECT, INSERT ON app.person TO trunkline_console;
GRANT UPDATE (name, password_hash, email_verified_at, is_operator, disabled_at) ON app.person TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.member TO trunkline_console;
GRANT UPDATE (role) ON app.member TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.sign_in TO trunkline_console;
GRANT UPDATE (token_hash, account_id, last_seen_at, stepped_up_until) ON app.sign_in TO trunkline_console;
GRANT SELECT, INSERT ON app.invitation TO trunkline_console;
GRANT UPDATE (accepted_at, accepted_by, revoked_at) ON app.invitation TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.person_token TO trunkline_console;
GRANT UPDATE (used_at) ON app.person_token TO trunkline_console;
GRANT SELECT, INSERT, DELETE ON app.sign_in_attempt TO trunkline_console;
GRANT UPDATE (failures, first_at, last_at, locked_until) ON app.sign_in_attempt TO trunkline_console;

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

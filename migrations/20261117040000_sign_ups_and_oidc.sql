-- Self-service sign-up with a verified email address, and sign-in through OpenID Connect providers.

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

GRANT SELECT, INSERT, DELETE ON app.sign_up, app.oidc_state TO trunkline_console;
GRANT SELECT, INSERT ON app.person_identity TO trunkline_console;

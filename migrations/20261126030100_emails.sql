-- Outgoing emails. A row is written by the transaction that made the email necessary. A worker sends it
-- later; a crash between the mail server's response and our commit sends it twice, under the same
-- Message-ID, and never not at all.
--
-- A link opens an account, so `sealed` (link and names, sealed to this row by the keyring) is deleted as
-- soon as a mail server has accepted the email, and at the latest when the link expires.
CREATE TABLE app.email (
    id          uuid        NOT NULL,
    -- 'known' informs an address that it has an account already; a sign-up with a known address sends it,
    -- and it contains no secret.
    kind        text        NOT NULL,
    to_address  text        NOT NULL,
    sealed      bytea,
    -- 'kept': no mail server is configured; an operator passes the link on.
    state       text        NOT NULL,
    -- A claim moves the row ahead by a lease and increments `claim`: the result of an older claim is
    -- ignored.
    due_at      timestamptz NOT NULL DEFAULT app.now(),
    claim       integer     NOT NULL DEFAULT 0,
    tries       integer     NOT NULL DEFAULT 0,
    -- Our own words and the server's number, never the server's text: it may quote what it was sent.
    last_error  text,
    last_try_at timestamptz,
    created_at  timestamptz NOT NULL DEFAULT app.now(),
    expires_at  timestamptz NOT NULL,
    CONSTRAINT email_pkey PRIMARY KEY (id),
    CONSTRAINT email_kind CHECK (kind IN ('verify', 'reset', 'invitation', 'known', 'low_balance')),
    CONSTRAINT email_address_bounded CHECK (char_length(to_address) BETWEEN 3 AND 254),
    CONSTRAINT email_sealed_bounded CHECK (octet_length(sealed) <= 8192),
    CONSTRAINT email_state CHECK (state IN ('waiting', 'sent', 'failed', 'kept')),
    CONSTRAINT email_sent_is_empty CHECK (state <> 'sent' OR sealed IS NULL),
    CONSTRAINT email_waiting_is_whole CHECK (state <> 'waiting' OR sealed IS NOT NULL),
    CONSTRAINT email_error_bounded CHECK (char_length(last_error) <= 200),
    CONSTRAINT email_expires_after_birth CHECK (expires_at > created_at)
) WITH (fillfactor = 80);
CREATE INDEX email_due ON app.email (due_at) WHERE state = 'waiting';
CREATE INDEX email_listed ON app.email (created_at, id) WHERE sealed IS NOT NULL;
CREATE INDEX email_expired ON app.email (expires_at) WHERE sealed IS NOT NULL;
CREATE INDEX email_by_age ON app.email (created_at);

-- Attempts in the current hour: emails requested, codes redeemed. `subject_hash` is the hash of an address,
-- a network or an account. Counted in a transaction of its own, so that a failed attempt counts.
CREATE TABLE app.attempt_counter (
    kind         text        NOT NULL,
    subject_hash bytea       NOT NULL,
    window_start timestamptz NOT NULL,
    count        integer     NOT NULL,
    CONSTRAINT attempt_counter_pkey PRIMARY KEY (kind, subject_hash),
    CONSTRAINT attempt_counter_kind_bounded CHECK (char_length(kind) BETWEEN 1 AND 40),
    CONSTRAINT attempt_counter_subject_is_sha256 CHECK (octet_length(subject_hash) = 32),
    CONSTRAINT attempt_counter_positive CHECK (count > 0)
) WITH (fillfactor = 70);
CREATE INDEX attempt_counter_by_age ON app.attempt_counter (window_start);

-- Who wants an email when the balance falls below the threshold of its account, and in which language. It goes to
-- owners, admins and billing members.
CREATE TABLE app.low_balance_email (
    account_id bigint NOT NULL,
    language   text   NOT NULL,
    CONSTRAINT low_balance_email_pkey PRIMARY KEY (account_id),
    CONSTRAINT low_balance_email_of_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT low_balance_email_language CHECK (language IN ('en', 'zh'))
);

-- An email that is to be queued: one row for each member, written by the transaction that made the balance low and
-- deleted by the one that queues the email under the same id.
CREATE TABLE app.low_balance_notice (
    id              uuid        NOT NULL,
    account_id      bigint      NOT NULL,
    to_address      text        NOT NULL,
    name            text        NOT NULL,
    organisation    text        NOT NULL,
    language        text        NOT NULL,
    balance_nanos   bigint      NOT NULL,
    threshold_nanos bigint      NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT low_balance_notice_pkey PRIMARY KEY (id),
    CONSTRAINT low_balance_notice_of_an_account FOREIGN KEY (account_id) REFERENCES app.account (id)
);
CREATE INDEX low_balance_notice_by_age ON app.low_balance_notice (created_at, id);

-- Once for each time that the balance falls below the threshold: `balance_low` changes with the event balance.low, in
-- the same transaction.
--
-- SECURITY DEFINER because calls are settled by the data plane, which knows no person: it gets the addresses of this
-- email and no others.
CREATE FUNCTION app.note_low_balance() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO app.low_balance_notice
        (id, account_id, to_address, name, organisation, language, balance_nanos, threshold_nanos)
    SELECT ledger.fresh_id(), NEW.id, p.email, p.name, a.name, w.language,
        NEW.paid_posted + NEW.trial_posted, NEW.low_balance_nanos
    FROM app.low_balance_email AS w
    JOIN app.account AS a ON a.id = w.account_id
    JOIN app.member AS m ON m.account_id = w.account_id AND m.role IN ('owner', 'admin', 'billing')
    JOIN app.person AS p ON p.id = m.person_id
        AND p.email_verified_at IS NOT NULL AND p.disabled_at IS NULL
    WHERE w.account_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER account_balance_is_low AFTER UPDATE OF balance_low ON ledger.account
    FOR EACH ROW WHEN (NEW.balance_low AND NOT OLD.balance_low)
    EXECUTE FUNCTION app.note_low_balance();

-- The console writes emails, and deletes those of an account that is erased. The worker of the data plane sends them,
-- and queues the notices.
GRANT SELECT, INSERT, DELETE ON app.email TO trunkline_data, trunkline_console;
GRANT UPDATE (sealed, state, due_at, claim, tries, last_error, last_try_at) ON app.email TO trunkline_data;
GRANT SELECT, INSERT ON app.attempt_counter TO trunkline_console;
GRANT UPDATE (window_start, count) ON app.attempt_counter TO trunkline_console;
GRANT SELECT, DELETE ON app.attempt_counter TO trunkline_data;
GRANT SELECT, INSERT, DELETE ON app.low_balance_email TO trunkline_console;
GRANT UPDATE (language) ON app.low_balance_email TO trunkline_console;
GRANT SELECT, DELETE ON app.low_balance_notice TO trunkline_data;
GRANT DELETE ON app.low_balance_notice TO trunkline_console;
-- Erasing an account names the rows that it deletes.
GRANT SELECT (account_id) ON app.low_balance_notice TO trunkline_console;

CREATE VIEW app.audit_email_overdue AS
SELECT l.id, l.kind, l.due_at FROM app.email AS l
WHERE l.state = 'waiting' AND l.due_at < app.now() - interval '1 hour';
COMMENT ON VIEW app.audit_email_overdue IS 'a due email is sent, held for the operator, or given up';

CREATE VIEW app.audit_email_outlives_its_link AS
SELECT l.id, l.kind, l.expires_at FROM app.email AS l
WHERE l.sealed IS NOT NULL AND l.expires_at < app.now() - interval '1 day';
COMMENT ON VIEW app.audit_email_outlives_its_link IS 'no email is readable after its link expired';

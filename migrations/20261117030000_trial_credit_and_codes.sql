-- Trial credit and redemption codes. The money is in the ledger; here is why, for whom, and until when.
--
-- Lock order: the row here, then the ledger's account.

-- One per verified address, for ever: the key is the hash of the address without its tags, and the same hash
-- names the top-up in the ledger, so even a row that was lost here could not be granted twice.
CREATE TABLE app.trial_grant (
    address_hash bytea       NOT NULL,
    account_id   bigint      NOT NULL,
    amount_nanos bigint      NOT NULL,
    granted_at   timestamptz NOT NULL DEFAULT app.now(),
    expires_at   timestamptz NOT NULL,
    -- When what was left was taken back, and how much that was.
    ended_at     timestamptz,
    taken_nanos  bigint,
    CONSTRAINT trial_grant_pkey PRIMARY KEY (address_hash),
    CONSTRAINT trial_grant_hash_is_sha256 CHECK (octet_length(address_hash) = 32),
    CONSTRAINT trial_grant_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT trial_grant_amount_positive CHECK (amount_nanos > 0),
    CONSTRAINT trial_grant_ends CHECK (expires_at > granted_at),
    CONSTRAINT trial_grant_ended CHECK ((ended_at IS NULL) = (taken_nanos IS NULL)),
    CONSTRAINT trial_grant_taken_bounded CHECK (taken_nanos BETWEEN 0 AND amount_nanos)
);
CREATE INDEX trial_grant_due ON app.trial_grant (expires_at) WHERE ended_at IS NULL;
CREATE INDEX trial_grant_of_account ON app.trial_grant (account_id);
CREATE INDEX trial_grant_of_day ON app.trial_grant (granted_at);

-- The text of a code is nowhere: its SHA-256 finds the row (75 random bits, nothing to guess), `hint` is what
-- lists show of it.
CREATE TABLE app.redemption_code (
    id           uuid        NOT NULL,
    code_hash    bytea       NOT NULL,
    hint         text        NOT NULL,
    batch        text        NOT NULL,
    amount_nanos bigint      NOT NULL,
    wallet       text        NOT NULL,
    made_by      text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT app.now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    redeemed_by  bigint,
    redeemed_at  timestamptz,
    CONSTRAINT redemption_code_pkey PRIMARY KEY (id),
    CONSTRAINT redemption_code_hash_once UNIQUE (code_hash),
    CONSTRAINT redemption_code_hash_is_sha256 CHECK (octet_length(code_hash) = 32),
    CONSTRAINT redemption_code_hint_bounded CHECK (char_length(hint) BETWEEN 1 AND 12),
    CONSTRAINT redemption_code_batch_bounded CHECK (char_length(batch) BETWEEN 1 AND 60),
    CONSTRAINT redemption_code_made_by_bounded CHECK (char_length(made_by) BETWEEN 1 AND 254),
    CONSTRAINT redemption_code_amount_positive CHECK (amount_nanos > 0),
    CONSTRAINT redemption_code_wallet CHECK (wallet IN ('paid', 'trial')),
    CONSTRAINT redemption_code_expires_after_birth CHECK (expires_at > created_at),
    CONSTRAINT redemption_code_redeemed CHECK ((redeemed_by IS NULL) = (redeemed_at IS NULL)),
    CONSTRAINT redemption_code_one_end CHECK (redeemed_at IS NULL OR revoked_at IS NULL),
    CONSTRAINT redemption_code_by_an_account FOREIGN KEY (redeemed_by) REFERENCES app.account (id)
);
CREATE INDEX redemption_code_listed ON app.redemption_code (created_at, id);
CREATE INDEX redemption_code_of_batch ON app.redemption_code (batch, id);

CREATE TRIGGER redemption_code_is_used_once BEFORE UPDATE ON app.redemption_code
    FOR EACH ROW WHEN (OLD.redeemed_at IS NOT NULL OR OLD.revoked_at IS NOT NULL)
    EXECUTE FUNCTION ledger.refuse_change('a code that was redeemed or revoked stays so');
CREATE TRIGGER trial_grant_ends_once BEFORE UPDATE ON app.trial_grant
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL)
    EXECUTE FUNCTION ledger.refuse_change('a grant is taken back once');

GRANT SELECT, INSERT ON app.trial_grant, app.redemption_code TO trunkline_console;
GRANT UPDATE (revoked_at, redeemed_by, redeemed_at) ON app.redemption_code TO trunkline_console;
GRANT SELECT ON app.trial_grant TO trunkline_data;
GRANT UPDATE (ended_at, taken_nanos) ON app.trial_grant TO trunkline_data;
-- The job that takes back what is left runs in the data plane. It could move money before; now it can say why.
GRANT INSERT ON ledger.adjustment TO trunkline_data;

CREATE VIEW app.audit_trial_not_booked AS
SELECT g.account_id, encode(g.address_hash, 'hex') AS event_id, g.amount_nanos, t.amount, t.account_id AS booked_for
FROM app.trial_grant AS g
FULL JOIN (SELECT * FROM ledger.top_up WHERE provider = 'trial') AS t ON t.event_id = encode(g.address_hash, 'hex')
WHERE g.address_hash IS NULL OR t.event_id IS NULL
    OR (g.account_id, g.amount_nanos, 'trial') <> (t.account_id, t.amount, t.wallet);
COMMENT ON VIEW app.audit_trial_not_booked IS 'every grant of trial credit was booked once, and nothing else was';

CREATE VIEW app.audit_trial_outlives_its_end AS
SELECT g.account_id, g.expires_at FROM app.trial_grant AS g
WHERE g.ended_at IS NULL AND g.expires_at < app.now() - interval '1 day';
COMMENT ON VIEW app.audit_trial_outlives_its_end IS 'what is left of an expired grant is taken back';

CREATE VIEW app.audit_code_not_booked AS
SELECT c.id, c.hint, c.redeemed_by, c.amount_nanos, t.event_id, t.account_id AS booked_for, t.amount
FROM (SELECT * FROM app.redemption_code WHERE redeemed_at IS NOT NULL) AS c
FULL JOIN (SELECT * FROM ledger.top_up WHERE provider = 'code') AS t ON t.event_id = c.id::text
WHERE c.id IS NULL OR t.event_id IS NULL
    OR (c.redeemed_by, c.amount_nanos, c.wallet) <> (t.account_id, t.amount, t.wallet);
COMMENT ON VIEW app.audit_code_not_booked IS
    'every redeemed code was booked once, for the account that redeemed it, and no other code was';

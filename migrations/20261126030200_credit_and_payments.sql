-- Money in: trial credit, redemption codes, and payments through a provider. The money is in the ledger; here is why,
-- for whom and until when, and what a provider says of it.
--
-- Lock order: the row here, then the ledger's account. Of payments: the event, then the provider's payment (advisory,
-- app.payment_lock), then the ledger's account. Whoever changes a row of app.payment that is paid holds the account.

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
CREATE TRIGGER trial_grant_ends_once BEFORE UPDATE ON app.trial_grant
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL)
    EXECUTE FUNCTION ledger.refuse_change('a grant is taken back once');

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

GRANT SELECT, INSERT ON app.trial_grant, app.redemption_code TO trunkline_console;
GRANT UPDATE (revoked_at, redeemed_by, redeemed_at) ON app.redemption_code TO trunkline_console;
-- The job that takes back what is left runs in the data plane.
GRANT SELECT ON app.trial_grant TO trunkline_data;
GRANT UPDATE (ended_at, taken_nanos) ON app.trial_grant TO trunkline_data;

-- One attempt to pay. Its id goes to the provider as metadata and as the idempotency key, so that whatever
-- comes back is found again; a payment that is not in here is not ours.
CREATE TABLE app.payment (
    id               uuid        NOT NULL,
    account_id       bigint      NOT NULL,
    provider         text        NOT NULL,
    kind             text        NOT NULL,
    state            text        NOT NULL DEFAULT 'open',
    amount_nanos     bigint      NOT NULL,
    -- The page on which it is paid, and the provider's own id of the payment.
    checkout_id      text,
    provider_payment text,
    receipt_url      text,
    failure          text,
    -- What was taken out of the wallet again for refunds and disputes.
    taken_nanos      bigint      NOT NULL DEFAULT 0,
    -- When the provider was asked last, for those that a job pays.
    attempted_at     timestamptz,
    created_at       timestamptz NOT NULL DEFAULT app.now(),
    paid_at          timestamptz,
    CONSTRAINT payment_pkey PRIMARY KEY (id),
    CONSTRAINT payment_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT payment_provider_bounded CHECK (char_length(provider) BETWEEN 1 AND 64),
    CONSTRAINT payment_kind CHECK (kind IN ('checkout', 'automatic')),
    CONSTRAINT payment_state CHECK (state IN ('open', 'paid', 'failed')),
    CONSTRAINT payment_amount_positive CHECK (amount_nanos > 0),
    CONSTRAINT payment_taken_bounded CHECK (taken_nanos BETWEEN 0 AND amount_nanos),
    CONSTRAINT payment_paid CHECK ((state = 'paid') = (paid_at IS NOT NULL)),
    CONSTRAINT payment_paid_is_named CHECK (state <> 'paid' OR provider_payment IS NOT NULL),
    CONSTRAINT payment_texts_bounded CHECK (char_length(checkout_id) <= 255 AND char_length(provider_payment) <= 255
        AND char_length(receipt_url) <= 2048 AND char_length(failure) <= 500)
);
CREATE UNIQUE INDEX payment_of_provider ON app.payment (provider, provider_payment)
    WHERE provider_payment IS NOT NULL;
CREATE INDEX payment_of_account ON app.payment (account_id, created_at, id);
CREATE INDEX payment_listed ON app.payment (created_at, id);
CREATE INDEX payment_open ON app.payment (created_at) WHERE state = 'open';
-- A job that decides twice pays once.
CREATE UNIQUE INDEX payment_one_automatic ON app.payment (account_id)
    WHERE kind = 'automatic' AND state = 'open';

CREATE TRIGGER payment_is_paid_once BEFORE UPDATE OF state, account_id, amount_nanos, provider_payment ON app.payment
    FOR EACH ROW WHEN (OLD.state = 'paid')
    EXECUTE FUNCTION ledger.refuse_change('a payment that was booked stays so');

-- What the provider takes back: of a charge, all refunds together; or a dispute. It may be told before the
-- payment is, so it names the provider's payment and not ours.
CREATE TABLE app.payment_reversal (
    provider         text        NOT NULL,
    id               text        NOT NULL,
    provider_payment text        NOT NULL,
    kind             text        NOT NULL,
    state            text        NOT NULL,
    amount_nanos     bigint      NOT NULL,
    changed_at       timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT payment_reversal_pkey PRIMARY KEY (provider, id),
    CONSTRAINT payment_reversal_kind CHECK (kind IN ('refund', 'dispute')),
    -- An inquiry takes nothing yet, and what was won is given back.
    CONSTRAINT payment_reversal_state CHECK (state IN ('inquiry', 'open', 'won', 'lost')),
    CONSTRAINT payment_reversal_amount CHECK (amount_nanos >= 0),
    CONSTRAINT payment_reversal_ids_bounded CHECK (char_length(id) BETWEEN 1 AND 255
        AND char_length(provider_payment) BETWEEN 1 AND 255)
);
CREATE INDEX payment_reversal_of ON app.payment_reversal (provider, provider_payment);

-- Every event that was verified, once.
CREATE TABLE app.payment_event (
    provider    text        NOT NULL,
    id          text        NOT NULL,
    kind        text        NOT NULL,
    object_id   text        NOT NULL,
    created_at  timestamptz NOT NULL,
    received_at timestamptz NOT NULL DEFAULT app.now(),
    -- Whether the daily reconciliation found it and not the webhook.
    is_found    boolean     NOT NULL DEFAULT false,
    CONSTRAINT payment_event_pkey PRIMARY KEY (provider, id),
    CONSTRAINT payment_event_texts_bounded CHECK (char_length(id) BETWEEN 1 AND 255
        AND char_length(kind) BETWEEN 1 AND 100 AND char_length(object_id) <= 255)
);

-- The saved payment method of an account, and when to use it.
CREATE TABLE app.payment_profile (
    account_id       bigint      NOT NULL,
    provider         text        NOT NULL,
    customer_id      text        NOT NULL,
    method_id        text        NOT NULL,
    top_up_below     bigint,
    top_up_amount    bigint,
    top_up_month_max bigint,
    failures         integer     NOT NULL DEFAULT 0,
    check_at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT payment_profile_pkey PRIMARY KEY (account_id),
    CONSTRAINT payment_profile_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT payment_profile_rule CHECK (
        (top_up_below IS NULL AND top_up_amount IS NULL AND top_up_month_max IS NULL)
        OR (top_up_below > 0 AND top_up_amount > 0 AND top_up_month_max >= top_up_amount)),
    CONSTRAINT payment_profile_ids_bounded CHECK (char_length(customer_id) BETWEEN 1 AND 255
        AND char_length(method_id) BETWEEN 1 AND 255)
);
CREATE INDEX payment_profile_due ON app.payment_profile (check_at) WHERE top_up_amount IS NOT NULL;

-- Up to when the provider's events were compared, and when that was done last.
CREATE TABLE app.payment_cursor (
    provider      text        NOT NULL,
    compared_to   timestamptz NOT NULL,
    reconciled_at timestamptz NOT NULL,
    CONSTRAINT payment_cursor_pkey PRIMARY KEY (provider)
);

-- A payment and what is taken back of it are told in any order and at once by several nodes.
CREATE FUNCTION app.payment_lock(provider text, provider_payment text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN hashtextextended(provider || ' ' || provider_payment, 7166402);

-- The console's role alone: the data plane brings no money in. Jobs that pay and reconcile work under it too.
GRANT SELECT, INSERT ON app.payment, app.payment_reversal, app.payment_event, app.payment_profile, app.payment_cursor
    TO trunkline_console;
GRANT UPDATE (state, amount_nanos, checkout_id, provider_payment, receipt_url, failure, taken_nanos, attempted_at, paid_at)
    ON app.payment TO trunkline_console;
GRANT UPDATE (state, amount_nanos, changed_at) ON app.payment_reversal TO trunkline_console;
GRANT UPDATE (customer_id, method_id, top_up_below, top_up_amount, top_up_month_max, failures, check_at)
    ON app.payment_profile TO trunkline_console;
GRANT UPDATE (compared_to, reconciled_at) ON app.payment_cursor TO trunkline_console;
GRANT EXECUTE ON FUNCTION app.payment_lock(text, text) TO trunkline_console;

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

CREATE VIEW app.audit_payment_not_booked AS
SELECT p.id, p.account_id, p.provider_payment, p.amount_nanos, t.event_id, t.account_id AS booked_for, t.amount
FROM (SELECT * FROM app.payment WHERE state = 'paid') AS p
FULL JOIN (SELECT * FROM ledger.top_up WHERE provider = 'stripe') AS t
    ON t.event_id = p.provider_payment AND t.provider = p.provider
WHERE p.id IS NULL OR t.event_id IS NULL
    OR (p.account_id, p.amount_nanos, 'paid') <> (t.account_id, t.amount, t.wallet);
COMMENT ON VIEW app.audit_payment_not_booked IS
    'every payment was booked once, for the account that paid, and no other payment of that provider was';

CREATE VIEW app.audit_payment_reversal_not_taken AS
WITH taken AS (
    SELECT a.account_id, a.reason, -sum(a.amount) AS amount
    FROM ledger.adjustment AS a
    WHERE a.actor = 'payments' AND a.wallet = 'paid'
    GROUP BY a.account_id, a.reason
), due AS (
    SELECT r.provider, r.provider_payment, sum(r.amount_nanos) AS amount
    FROM app.payment_reversal AS r
    WHERE r.state IN ('open', 'lost')
    GROUP BY r.provider, r.provider_payment
)
SELECT p.id, p.account_id, p.provider_payment, p.taken_nanos, t.amount AS adjusted, d.amount AS due
FROM app.payment AS p
LEFT JOIN taken AS t ON t.account_id = p.account_id AND t.reason = 'reversal of payment ' || p.provider_payment
LEFT JOIN due AS d ON d.provider = p.provider AND d.provider_payment = p.provider_payment
WHERE p.state = 'paid'
    AND (p.taken_nanos <> COALESCE(t.amount, 0) OR p.taken_nanos > COALESCE(d.amount, 0));
COMMENT ON VIEW app.audit_payment_reversal_not_taken IS
    'what was taken for refunds and disputes is what the ledger moved, and never more than they are';

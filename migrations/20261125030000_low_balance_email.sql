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

ALTER TABLE app.email DROP CONSTRAINT email_kind;
ALTER TABLE app.email ADD CONSTRAINT email_kind
    CHECK (kind IN ('verify', 'reset', 'invitation', 'known', 'low_balance')) NOT VALID;
ALTER TABLE app.email VALIDATE CONSTRAINT email_kind;

GRANT SELECT, INSERT, DELETE ON app.low_balance_email TO trunkline_console;
GRANT UPDATE (language) ON app.low_balance_email TO trunkline_console;
GRANT SELECT, DELETE ON app.low_balance_notice TO trunkline_data;
GRANT DELETE ON app.low_balance_notice TO trunkline_console;
-- Erasing an account names the rows that it deletes.
GRANT SELECT (account_id) ON app.low_balance_notice TO trunkline_console;
-- The worker queues them.
GRANT INSERT ON app.email TO trunkline_data;

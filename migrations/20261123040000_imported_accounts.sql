-- Accounts that came from another gateway, by the number that each user had there. A second import finds them
-- here and leaves them and their money alone. The balance is what was booked, for a later comparison.
CREATE TABLE app.imported_account (
    source        text        NOT NULL,
    external_id   text        NOT NULL,
    account_id    bigint      NOT NULL,
    balance_nanos bigint      NOT NULL,
    imported_at   timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT imported_account_pkey PRIMARY KEY (source, external_id),
    CONSTRAINT imported_account_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT imported_account_once UNIQUE (account_id),
    CONSTRAINT imported_account_source_bounded CHECK (char_length(source) BETWEEN 1 AND 64),
    CONSTRAINT imported_account_id_bounded CHECK (char_length(external_id) BETWEEN 1 AND 64),
    CONSTRAINT imported_account_balance_not_negative CHECK (balance_nanos >= 0)
);

GRANT SELECT, INSERT ON app.imported_account TO trunkline_console;

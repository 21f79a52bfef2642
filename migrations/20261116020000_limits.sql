-- How much of what in a minute, and how many calls at once. The counters themselves are not here: they
-- may be forgotten, so they live in Redis or in a node's memory (docs/limits.md). Here is what they may
-- reach. A key's own limits are part of its policy, in app.api_key; a channel's are in app.channel; here
-- are those of an account, and of an account with one model or one platform of social data.
--
-- Null is "no limit of this kind here". Nothing in these tables moves money.

-- New columns of a table that is in use: without a default, so nothing is rewritten, and the checks are
-- not tried on rows that cannot break them.
ALTER TABLE app.account
    ADD COLUMN requests_per_minute bigint,
    ADD COLUMN tokens_per_minute bigint,
    ADD COLUMN concurrent_calls bigint,
    ADD CONSTRAINT account_requests_bounded CHECK (requests_per_minute BETWEEN 1 AND 1000000000000) NOT VALID,
    ADD CONSTRAINT account_tokens_bounded CHECK (tokens_per_minute BETWEEN 1 AND 1000000000000) NOT VALID,
    ADD CONSTRAINT account_concurrent_bounded CHECK (concurrent_calls BETWEEN 1 AND 1000000000000) NOT VALID;
GRANT UPDATE (requests_per_minute, tokens_per_minute, concurrent_calls) ON app.account TO trunkline_console;

-- A row without an account is for every account that has no row of its own for the same name; each account
-- is counted by itself all the same. Readers keep the whole table and read it again when the number of the
-- topic 'limits' has changed, so a row may go, and every change takes a number.
CREATE TABLE app.rate_limit (
    id                  bigint      GENERATED ALWAYS AS IDENTITY,
    account_id          bigint,
    scope               text        NOT NULL,
    name                text        NOT NULL,
    requests_per_minute bigint,
    tokens_per_minute   bigint,
    concurrent_calls    bigint,
    created_at          timestamptz NOT NULL DEFAULT app.now(),
    revision            bigint      NOT NULL,
    CONSTRAINT rate_limit_pkey PRIMARY KEY (id),
    CONSTRAINT rate_limit_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT rate_limit_once UNIQUE NULLS NOT DISTINCT (account_id, scope, name),
    CONSTRAINT rate_limit_scope_known CHECK (scope IN ('model', 'platform')),
    CONSTRAINT rate_limit_name_bounded CHECK (char_length(name) BETWEEN 1 AND 128),
    CONSTRAINT rate_limit_requests_bounded CHECK (requests_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT rate_limit_tokens_bounded CHECK (tokens_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT rate_limit_concurrent_bounded CHECK (concurrent_calls BETWEEN 1 AND 1000000000000),
    -- A row that limits nothing is a mistake of whoever wrote it.
    CONSTRAINT rate_limit_limits_something CHECK (
        COALESCE(requests_per_minute, tokens_per_minute, concurrent_calls) IS NOT NULL),
    CONSTRAINT rate_limit_revision_positive CHECK (revision > 0)
);
CREATE TRIGGER rate_limit_takes_a_number BEFORE UPDATE ON app.rate_limit
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic limits, or no node sees it');

-- Who may do what. The data plane reads; whose a limit is and what it is for never change.
GRANT SELECT ON app.rate_limit TO trunkline_data, trunkline_console;
GRANT INSERT, DELETE ON app.rate_limit TO trunkline_console;
GRANT UPDATE (requests_per_minute, tokens_per_minute, concurrent_calls, revision)
    ON app.rate_limit TO trunkline_console;

-- What `trunkline audit` asks of this table.
CREATE VIEW app.audit_limit_revision_never_issued AS
SELECT l.id, l.account_id, l.scope, l.name, l.revision, COALESCE(r.value, 0) AS given
FROM app.rate_limit AS l
LEFT JOIN app.revision AS r ON r.topic = 'limits'
WHERE l.revision > COALESCE(r.value, 0);
COMMENT ON VIEW app.audit_limit_revision_never_issued IS
    'no limit has a revision that its topic has not issued, or nodes that follow the revisions miss changes';

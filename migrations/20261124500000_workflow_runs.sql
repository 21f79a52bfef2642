-- Runs of workflows. A run is one call of the operation that its workflow is bound to, and has that call's request
-- id: what became of it and what it cost is in the ledger, and in app.video_task where the call became a task. The
-- row says which version of which workflow was run, and lets the same run be found again: with what was sent only
-- as a hash. The previous release does not know the table.
CREATE TABLE app.workflow_run (
    request_id      uuid             NOT NULL,
    account_id      bigint           NOT NULL,
    key_id          bigint           NOT NULL,
    workflow_id     text COLLATE "C" NOT NULL,
    -- The version that was run, by its number and by its meaning.
    revision        bigint           NOT NULL,
    semantic_digest bytea            NOT NULL,
    operation       text             NOT NULL,
    model           text             NOT NULL,
    -- What the caller said yes to.
    confirmations   text[]           NOT NULL,
    body_hash       bytea            NOT NULL,
    created_at      timestamptz      NOT NULL DEFAULT app.now(),
    -- Once it is known to be over. Until then the ledger tells.
    ended_at        timestamptz,
    -- Why it was refused, where it was.
    error_code      text,
    CONSTRAINT workflow_run_pkey PRIMARY KEY (request_id),
    CONSTRAINT workflow_run_id_formed
        CHECK (workflow_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND char_length(workflow_id) <= 200),
    CONSTRAINT workflow_run_digest_is_sha256 CHECK (octet_length(semantic_digest) = 32),
    CONSTRAINT workflow_run_hash_is_sha256 CHECK (octet_length(body_hash) = 32),
    CONSTRAINT workflow_run_operation_bounded CHECK (char_length(operation) BETWEEN 1 AND 200),
    CONSTRAINT workflow_run_model_bounded CHECK (char_length(model) BETWEEN 1 AND 300),
    CONSTRAINT workflow_run_confirmations_bounded CHECK (cardinality(confirmations) <= 100),
    CONSTRAINT workflow_run_error_bounded CHECK (char_length(error_code) BETWEEN 1 AND 200),
    CONSTRAINT workflow_run_error_has_end CHECK (error_code IS NULL OR ended_at IS NOT NULL)
);
CREATE INDEX workflow_run_of_account ON app.workflow_run (account_id, workflow_id, request_id);
-- The same run, while it may be under way.
CREATE INDEX workflow_run_open ON app.workflow_run (account_id, body_hash) WHERE ended_at IS NULL;

GRANT SELECT, INSERT ON app.workflow_run TO trunkline_data;
GRANT UPDATE (ended_at, error_code) ON app.workflow_run TO trunkline_data;
GRANT SELECT ON app.workflow_run TO trunkline_console;

CREATE VIEW app.audit_workflow_run_of_another AS
SELECT r.request_id, r.account_id, u.account_id AS account_of_call, u.model
FROM app.workflow_run AS r
JOIN ledger.usage AS u ON u.request_id = r.request_id
WHERE u.account_id <> r.account_id OR u.key_id IS DISTINCT FROM r.key_id OR u.model <> r.model;
COMMENT ON VIEW app.audit_workflow_run_of_another IS
    'a run and its call have one account, one key and one model';

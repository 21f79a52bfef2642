-- A workflow record says what a task is, what it needs and what it is bound to at run time. Each change
-- is a new version, under the next number of the topic 'workflows'; nobody changes or deletes one, so
-- that what was verified, and under which text, can be read for ever. The newest version of a slug is
-- the one that counts.
--
-- Which version may follow which is decided by catalog::workflow::next, while the writer holds the
-- topic's counter row. What one row alone can show is checked here once more: the words of both states,
-- that no binding is verified under a contract that is not, and that the columns say what the record
-- says.
--
-- `record` is json and not jsonb: the text stays as we wrote it.
-- The bounds are constants in crates/catalog/src/workflow.rs and workflow/rules.rs; a test holds them
-- together.
CREATE TABLE app.workflow_version (
    -- Compared byte by byte, so that pages of a list are in one order on every host.
    slug            text COLLATE "C" NOT NULL,
    revision        bigint           NOT NULL,
    workflow_id     text COLLATE "C" NOT NULL,
    contract_status text             NOT NULL,
    binding_status  text             NOT NULL,
    semantic_digest bytea            NOT NULL,
    record          json             NOT NULL,
    created_at      timestamptz      NOT NULL DEFAULT app.now(),
    CONSTRAINT workflow_version_pkey PRIMARY KEY (slug, revision),
    CONSTRAINT workflow_version_number_once UNIQUE (revision),
    CONSTRAINT workflow_version_revision_positive CHECK (revision > 0),
    CONSTRAINT workflow_version_slug_formed
        CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND char_length(slug) <= 200),
    CONSTRAINT workflow_version_id_formed
        CHECK (workflow_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND char_length(workflow_id) <= 200),
    CONSTRAINT workflow_version_contract_known
        CHECK (contract_status IN ('draft_unverified', 'contract_locked_not_executable', 'verified')),
    CONSTRAINT workflow_version_binding_known
        CHECK (binding_status IN ('unavailable', 'contract_only_not_executable', 'verified')),
    CONSTRAINT workflow_version_verified_under_verified
        CHECK (binding_status <> 'verified' OR contract_status = 'verified'),
    CONSTRAINT workflow_version_digest_is_sha256 CHECK (octet_length(semantic_digest) = 32),
    CONSTRAINT workflow_version_record_bounded CHECK (octet_length(record::text) <= 262144),
    CONSTRAINT workflow_version_record_agrees CHECK (
        record ->> 'slug' = slug
        AND record ->> 'workflow_id' = workflow_id
        AND record ->> 'contract_status' = contract_status
        AND record #>> '{runtime_binding,status}' = binding_status
        AND record ->> 'schema_version' = 'gateway.workflow.v1')
);
CREATE INDEX workflow_version_by_id ON app.workflow_version (workflow_id);
CREATE TRIGGER workflow_version_is_append_only BEFORE UPDATE OR DELETE ON app.workflow_version
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a version of a workflow is never changed; write another one');

GRANT SELECT ON app.workflow_version TO trunkline_data, trunkline_console;
GRANT INSERT (slug, revision, workflow_id, contract_status, binding_status, semantic_digest, record)
    ON app.workflow_version TO trunkline_console;

-- Runs of workflows. A run is one call of the operation that its workflow is bound to, and has that call's request
-- id: what became of it and what it cost is in the ledger, and in app.video_task where the call became a task. The
-- row says which version of which workflow was run, and lets the same run be found again: with what was sent only
-- as a hash.
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

-- A video is a job that outlives every process. Its row is written with its hold, before anything is sent;
-- its outcome and its refund are one transaction. A task that ended never changes: the trigger below
-- enforces it.
--
-- What workers look for stands in a narrow table of its own: it changes with every question asked of
-- an upstream, and the wide row does not.
CREATE TABLE app.video_task (
    -- Also the name of its money in the ledger.
    id                uuid        NOT NULL,
    account_id        bigint      NOT NULL,
    key_id            bigint      NOT NULL,
    model             text        NOT NULL,
    group_name        text        NOT NULL,
    state             text        NOT NULL DEFAULT 'accepted',
    -- What is held and then charged, in nano-USD; not exact where media could not be measured.
    amount            bigint      NOT NULL,
    exact             boolean     NOT NULL,
    -- The prices it was sold at, so that a difference is computed under them and no others.
    prices            jsonb       NOT NULL,
    -- What is sent upstream, sealed. Gone some days after the verdict.
    sent              bytea,
    -- SHA-256 of the request: a client that asks again without a key of its own is known by it.
    body_hash         bytea       NOT NULL,
    warnings          jsonb       NOT NULL,
    size              text,
    seconds           integer,
    channel_id        bigint,
    credential_id     bigint,
    protocol          text        NOT NULL,
    endpoint          text        NOT NULL,
    upstream_id       text,
    progress          smallint    NOT NULL DEFAULT 0,
    progress_reported boolean     NOT NULL DEFAULT false,
    error_code        text,
    error_message     text,
    -- Where the upstream has the file, sealed: a link is as good as a key.
    file              bytea,
    media_path        text,
    media_bytes       bigint,
    created_at        timestamptz NOT NULL DEFAULT app.now(),
    queue_until       timestamptz NOT NULL,
    deadline_at       timestamptz NOT NULL,
    submitted_at      timestamptz,
    ended_at          timestamptz,
    -- What it was asked for as, where that was an alias.
    requested_model   text,
    -- Of a key that keeps nothing: the request is never written (`sent` stays null), and the file is not fetched
    -- into the media store but passed on from the vendor.
    zero_retention    boolean     NOT NULL DEFAULT false,
    CONSTRAINT video_task_pkey PRIMARY KEY (id),
    CONSTRAINT video_task_state CHECK (state IN
        ('accepted', 'submitting', 'unknown', 'submitted', 'running', 'completed', 'failed')),
    CONSTRAINT video_task_amount CHECK (amount >= 0),
    CONSTRAINT video_task_progress CHECK (progress BETWEEN 0 AND 100),
    CONSTRAINT video_task_hash CHECK (octet_length(body_hash) = 32),
    CONSTRAINT video_task_upstream CHECK (state NOT IN ('submitted', 'running', 'completed') OR upstream_id IS NOT NULL),
    CONSTRAINT video_task_ended CHECK ((state IN ('completed', 'failed')) = (ended_at IS NOT NULL)),
    CONSTRAINT video_task_failed CHECK ((state = 'failed') = (error_code IS NOT NULL)),
    CONSTRAINT video_task_bounded CHECK (char_length(model) <= 200 AND char_length(error_code) <= 200
        AND char_length(error_message) <= 2000 AND char_length(upstream_id) <= 512 AND char_length(size) <= 64),
    CONSTRAINT video_task_requested_model_bounded CHECK (char_length(requested_model) BETWEEN 1 AND 128)
) WITH (fillfactor = 70);
CREATE INDEX video_task_of_account ON app.video_task (account_id, id);
CREATE INDEX video_task_by_body ON app.video_task (account_id, body_hash);
CREATE INDEX video_task_by_age ON app.video_task (ended_at) WHERE sent IS NOT NULL;

CREATE FUNCTION app.video_task_stays() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $stays$
BEGIN
    IF (NEW.state, NEW.amount, NEW.error_code, NEW.error_message, NEW.upstream_id, NEW.ended_at)
        IS DISTINCT FROM (OLD.state, OLD.amount, OLD.error_code, OLD.error_message, OLD.upstream_id, OLD.ended_at)
    THEN
        RAISE EXCEPTION 'video task % has ended and does not change', OLD.id;
    END IF;
    RETURN NEW;
END
$stays$;
CREATE TRIGGER video_task_stays BEFORE UPDATE ON app.video_task
    FOR EACH ROW WHEN (OLD.state IN ('completed', 'failed')) EXECUTE FUNCTION app.video_task_stays();

-- What is to be done next for a task, and when. A claim moves `due_at` ahead: if the worker dies, it
-- becomes due again.
CREATE TABLE app.video_schedule (
    task_id    uuid        NOT NULL,
    account_id bigint      NOT NULL,
    job        text        NOT NULL,
    due_at     timestamptz NOT NULL,
    tries      integer     NOT NULL DEFAULT 0,
    CONSTRAINT video_schedule_pkey PRIMARY KEY (task_id),
    CONSTRAINT video_schedule_job CHECK (job IN ('submit', 'poll', 'mirror'))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- One index for each job instead of one that begins with the job's word: its entries are half as wide, so
-- it is one level lower at a hundred thousand tasks, and every poll goes down it three times.
CREATE INDEX video_schedule_submit ON app.video_schedule (due_at) WHERE job = 'submit';
CREATE INDEX video_schedule_poll ON app.video_schedule (due_at) WHERE job = 'poll';
CREATE INDEX video_schedule_mirror ON app.video_schedule (due_at) WHERE job = 'mirror';
CREATE TRIGGER video_schedule_notifies AFTER INSERT ON app.video_schedule
    FOR EACH ROW EXECUTE FUNCTION app.signal('video');
-- Not each question to an upstream, of which there are hundreds a second: the node that asked knows when it
-- will ask again.
CREATE TRIGGER video_schedule_notifies_sooner AFTER UPDATE ON app.video_schedule
    FOR EACH ROW WHEN (NEW.job <> OLD.job OR (NEW.job <> 'poll' AND NEW.due_at < OLD.due_at))
    EXECUTE FUNCTION app.signal('video');

-- How long videos of a model took, for progress that the vendor does not report.
CREATE TABLE app.video_duration (
    model       text   NOT NULL,
    tasks       bigint NOT NULL,
    mean_millis bigint NOT NULL,
    CONSTRAINT video_duration_pkey PRIMARY KEY (model)
) WITH (fillfactor = 50);

-- The key that files in the media store are sealed with, sealed by the keyring. The first node makes it; a rotation
-- of the keyring seals this row anew, and no file.
CREATE TABLE app.media_key (
    id         bigint      NOT NULL,
    sealed     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT media_key_pkey PRIMARY KEY (id),
    CONSTRAINT media_key_sealed_bounded CHECK (octet_length(sealed) BETWEEN 1 AND 1000)
);

GRANT SELECT, INSERT, DELETE ON app.video_task TO trunkline_data;
GRANT UPDATE (state, sent, channel_id, credential_id, upstream_id, progress, progress_reported, error_code,
    error_message, file, media_path, media_bytes, submitted_at, ended_at) ON app.video_task TO trunkline_data;
GRANT SELECT, INSERT, UPDATE, DELETE ON app.video_schedule, app.video_duration TO trunkline_data;
GRANT SELECT ON app.video_task, app.video_schedule, app.video_duration TO trunkline_console;
GRANT SELECT, INSERT ON app.media_key TO trunkline_data;
GRANT UPDATE (sealed) ON app.media_key TO trunkline_data;

-- Tasks are kept for longer than their money's rows.
CREATE VIEW app.audit_task_and_money_disagree AS
SELECT t.id, t.account_id, t.state, h.state AS hold, u.paid + u.trial AS charged, COALESCE(b.amount, 0) AS given_back
FROM app.video_task AS t
LEFT JOIN ledger.hold AS h ON h.request_id = t.id
LEFT JOIN ledger.usage AS u ON u.request_id = t.id
LEFT JOIN (SELECT r.request_id, sum(r.amount) AS amount FROM ledger.transfer AS r
           WHERE r.kind IN ('refund', 'undelivered') GROUP BY r.request_id) AS b ON b.request_id = t.id
WHERE t.id >= (SELECT k.floor FROM ledger.usage_kept AS k)
    AND (h.request_id IS NULL OR h.owner <> 'task' OR h.account_id <> t.account_id
        OR (t.state IN ('accepted', 'submitting', 'unknown') AND h.state <> 'open')
        OR (t.state IN ('submitted', 'running', 'completed') AND (h.state <> 'settled' OR COALESCE(b.amount, 0) > 0))
        OR (t.state = 'failed' AND (h.state = 'open' OR COALESCE(u.paid + u.trial, 0) <> COALESCE(b.amount, 0))));
COMMENT ON VIEW app.audit_task_and_money_disagree IS
    'a task that waits is held for, one that was taken is charged, one that is done stays charged, one that failed cost nothing';

CREATE VIEW app.audit_failed_task_is_told_as_accepted AS
SELECT t.id, t.account_id, u.outcome
FROM app.video_task AS t
JOIN ledger.usage AS u ON u.request_id = t.id
LEFT JOIN ledger.late_failure AS f ON f.request_id = t.id
WHERE t.state = 'failed' AND u.outcome = 'accepted' AND f.request_id IS NULL;
COMMENT ON VIEW app.audit_failed_task_is_told_as_accepted IS 'the call of a task that failed has failed';

CREATE VIEW app.audit_task_unscheduled AS
SELECT t.id, t.account_id, t.state
FROM app.video_task AS t
LEFT JOIN app.video_schedule AS s ON s.task_id = t.id
WHERE t.state NOT IN ('completed', 'failed') AND s.task_id IS NULL;
COMMENT ON VIEW app.audit_task_unscheduled IS 'every task that has not ended is scheduled';

CREATE VIEW app.audit_task_overdue AS
SELECT t.id, t.account_id, t.state, t.deadline_at
FROM app.video_task AS t
WHERE t.state NOT IN ('completed', 'failed') AND t.deadline_at < app.now() - interval '1 hour';
COMMENT ON VIEW app.audit_task_overdue IS 'every task ends by its deadline';

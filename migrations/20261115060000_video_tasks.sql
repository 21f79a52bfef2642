-- A video is a job that outlives every process. Its row is written with its hold, before anything is sent;
-- its outcome and its refund are one transaction. A task that ended never changes: the trigger below
-- enforces it.
--
-- What workers look for stands in a narrow table of its own: it changes with every question asked of
-- an upstream, and the wide row does not.
CREATE TABLE app.video_task (
    -- Also the name of its money in the ledger.
    id            uuid        NOT NULL,
    account_id    bigint      NOT NULL,
    key_id        bigint      NOT NULL,
    model         text        NOT NULL,
    group_name    text        NOT NULL,
    state         text        NOT NULL DEFAULT 'accepted',
    -- What is held and then charged, in nano-USD; not exact where media could not be measured.
    amount        bigint      NOT NULL,
    exact         boolean     NOT NULL,
    -- The prices it was sold at, so that a difference is computed under them and no others.
    prices        jsonb       NOT NULL,
    -- What is sent upstream, sealed. Gone some days after the verdict.
    sent          bytea,
    -- SHA-256 of the request: a client that asks again without a key of its own is known by it.
    body_hash     bytea       NOT NULL,
    warnings      jsonb       NOT NULL,
    size          text,
    seconds       integer,
    channel_id    bigint,
    credential_id bigint,
    protocol      text        NOT NULL,
    endpoint      text        NOT NULL,
    upstream_id   text,
    progress      smallint    NOT NULL DEFAULT 0,
    progress_reported boolean     NOT NULL DEFAULT false,
    error_code    text,
    error_message text,
    -- Where the upstream has the file, sealed: a link is as good as a key.
    file          bytea,
    media_path    text,
    media_bytes   bigint,
    created_at    timestamptz NOT NULL DEFAULT app.now(),
    queue_until   timestamptz NOT NULL,
    deadline_at   timestamptz NOT NULL,
    submitted_at  timestamptz,
    ended_at      timestamptz,
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
        AND char_length(error_message) <= 2000 AND char_length(upstream_id) <= 512 AND char_length(size) <= 64)
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
CREATE INDEX video_schedule_due ON app.video_schedule (job, due_at);

-- How long videos of a model took, for progress that the vendor does not report.
CREATE TABLE app.video_duration (
    model       text   NOT NULL,
    tasks       bigint NOT NULL,
    mean_millis bigint NOT NULL,
    CONSTRAINT video_duration_pkey PRIMARY KEY (model)
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, DELETE ON app.video_task TO trunkline_data;
GRANT UPDATE (state, sent, channel_id, credential_id, upstream_id, progress, progress_reported, error_code,
    error_message, file, media_path, media_bytes, submitted_at, ended_at) ON app.video_task TO trunkline_data;
GRANT SELECT, INSERT, UPDATE, DELETE ON app.video_schedule, app.video_duration TO trunkline_data;
GRANT SELECT ON app.video_task, app.video_schedule, app.video_duration TO trunkline_console;

CREATE VIEW app.audit_task_and_money_disagree AS
SELECT t.id, t.account_id, t.state, h.state AS hold, u.paid + u.trial AS charged, COALESCE(b.amount, 0) AS given_back
FROM app.video_task AS t
LEFT JOIN ledger.hold AS h ON h.request_id = t.id
LEFT JOIN ledger.usage AS u ON u.request_id = t.id
LEFT JOIN (SELECT r.request_id, sum(r.amount) AS amount FROM ledger.transfer AS r
           WHERE r.kind IN ('refund', 'undelivered') GROUP BY r.request_id) AS b ON b.request_id = t.id
WHERE h.request_id IS NULL OR h.owner <> 'task' OR h.account_id <> t.account_id
    OR (t.state IN ('accepted', 'submitting', 'unknown') AND h.state <> 'open')
    OR (t.state IN ('submitted', 'running', 'completed') AND (h.state <> 'settled' OR COALESCE(b.amount, 0) > 0))
    OR (t.state = 'failed' AND (h.state = 'open' OR COALESCE(u.paid + u.trial, 0) <> COALESCE(b.amount, 0)));
COMMENT ON VIEW app.audit_task_and_money_disagree IS
    'a task that waits is held for, one that was taken is charged, one that is done stays charged, one that failed cost nothing';

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

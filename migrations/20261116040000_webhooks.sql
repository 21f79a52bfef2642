-- Webhooks and their deliveries. A row of app.webhook_delivery is written by the statement that writes the
-- event (append_events.sql), so no event is without its deliveries. A system event would be a row for every
-- customer in one transaction; a job expands those in steps, from app.webhook_system.
--
-- An address is as good as a key and a secret is one: both are sealed, bound to their row.
--
-- Lock order: ledger accounts, event counters, then a webhook before its deliveries.
CREATE TABLE app.webhook (
    id               uuid        NOT NULL,
    account_id       bigint      NOT NULL,
    -- 'endpoint' has an address of its own. 'tasks' is the secret by which messages to the addresses of
    -- single tasks are signed; an account has one, once it needs it.
    kind             text        NOT NULL,
    url              bytea,
    -- Null: every topic that is kept, also those to come.
    topics           text[],
    description      text,
    secret           bytea       NOT NULL,
    -- The one before, which signs beside it for a while.
    old_secret       bytea,
    old_secret_until timestamptz,
    -- Since when nothing has succeeded there; null if the last try did.
    failing_since    timestamptz,
    paused_at        timestamptz,
    paused_reason    text,
    -- Since when the current topics apply: earlier events are not delivered.
    wants_since      timestamptz NOT NULL DEFAULT app.now(),
    created_at       timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT webhook_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_kind CHECK (kind IN ('endpoint', 'tasks')),
    CONSTRAINT webhook_url_there CHECK ((kind = 'endpoint') = (url IS NOT NULL)),
    CONSTRAINT webhook_url_bounded CHECK (octet_length(url) <= 8192),
    CONSTRAINT webhook_topics_bounded CHECK (app.is_list_of_words(topics, 1, 100, 100)),
    CONSTRAINT webhook_description_bounded CHECK (char_length(description) BETWEEN 1 AND 200),
    CONSTRAINT webhook_secrets_bounded CHECK (octet_length(secret) <= 1024 AND octet_length(old_secret) <= 1024),
    CONSTRAINT webhook_old_secret_ends CHECK ((old_secret IS NULL) = (old_secret_until IS NULL)),
    CONSTRAINT webhook_paused CHECK ((paused_at IS NULL) = (paused_reason IS NULL)),
    CONSTRAINT webhook_paused_reason CHECK (paused_reason IN ('gone', 'failing'))
) WITH (fillfactor = 80);
CREATE INDEX webhook_of_account ON app.webhook (account_id, id);
CREATE UNIQUE INDEX webhook_one_for_tasks ON app.webhook (account_id) WHERE kind = 'tasks';

-- The webhook of a single task. Written with the task.
CREATE TABLE app.task_webhook (
    task_id    uuid        NOT NULL,
    account_id bigint      NOT NULL,
    url        bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT task_webhook_pkey PRIMARY KEY (task_id),
    CONSTRAINT task_webhook_url_bounded CHECK (octet_length(url) <= 8192)
);
CREATE INDEX task_webhook_by_age ON app.task_webhook (created_at);

-- One event for one webhook, once. No foreign key: it would lock the webhook's row in every transaction
-- that writes an event, and deleting a webhook would wait for them. Deliveries of a deleted webhook are
-- never claimed, and swept.
--
-- The event's body stays in app.event, which is kept as long; (event_account, seq, created_at) leads there.
-- `due_at` is infinity while the webhook is paused. A claim moves the row ahead by a lease and increments
-- `claim`: the result of an older claim is ignored.
CREATE TABLE app.webhook_delivery (
    webhook_id      uuid        NOT NULL,
    event_id        uuid        NOT NULL,
    account_id      bigint      NOT NULL,
    -- 0 for a system event.
    event_account   bigint      NOT NULL,
    seq             bigint      NOT NULL,
    topic           text        NOT NULL,
    task_id         uuid,
    state           text        NOT NULL DEFAULT 'waiting',
    due_at          timestamptz NOT NULL,
    claim           integer     NOT NULL DEFAULT 0,
    tries           integer     NOT NULL DEFAULT 0,
    first_failed_at timestamptz,
    last_try_at     timestamptz,
    last_status     integer,
    last_error      text,
    delivered_at    timestamptz,
    -- The event's.
    created_at      timestamptz NOT NULL,
    CONSTRAINT webhook_delivery_pkey PRIMARY KEY (webhook_id, event_id),
    CONSTRAINT webhook_delivery_state CHECK (state IN ('waiting', 'delivered', 'failed')),
    CONSTRAINT webhook_delivery_delivered CHECK ((state = 'delivered') = (delivered_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_bounded CHECK (char_length(last_error) <= 100 AND char_length(topic) <= 100)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX webhook_delivery_due ON app.webhook_delivery (due_at) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_listed ON app.webhook_delivery (webhook_id, created_at, event_id);
CREATE INDEX webhook_delivery_by_age ON app.webhook_delivery (created_at);

-- How far system events were expanded: all up to `seq`, and of the next one the webhooks up to
-- `webhook_id`.
CREATE TABLE app.webhook_system (
    one        boolean NOT NULL DEFAULT true,
    seq        bigint  NOT NULL DEFAULT 0,
    webhook_id uuid,
    CONSTRAINT webhook_system_pkey PRIMARY KEY (one),
    CONSTRAINT webhook_system_one_row CHECK (one)
);
INSERT INTO app.webhook_system DEFAULT VALUES;

GRANT SELECT, INSERT, DELETE ON app.webhook TO trunkline_data;
GRANT UPDATE (url, topics, description, secret, old_secret, old_secret_until, failing_since, paused_at,
    paused_reason, wants_since) ON app.webhook TO trunkline_data;
GRANT SELECT, INSERT, DELETE ON app.task_webhook, app.webhook_delivery TO trunkline_data;
GRANT UPDATE (state, due_at, claim, tries, first_failed_at, last_try_at, last_status, last_error, delivered_at)
    ON app.webhook_delivery TO trunkline_data;
GRANT SELECT ON app.webhook_system TO trunkline_data;
GRANT UPDATE (seq, webhook_id) ON app.webhook_system TO trunkline_data;
-- The console writes events too.
GRANT SELECT ON app.webhook, app.task_webhook, app.webhook_delivery, app.webhook_system TO trunkline_console;
GRANT INSERT ON app.webhook_delivery TO trunkline_console;

-- A minute of slack: a webhook may be committed later than it was begun, between an event's begin and end.
CREATE VIEW app.audit_webhook_delivery_missing AS
SELECT w.id AS webhook_id, e.account_id, e.seq, e.id AS event_id
FROM app.webhook AS w
JOIN app.event AS e ON e.account_id = w.account_id
LEFT JOIN app.task_webhook AS h ON w.kind = 'tasks' AND h.task_id = e.task_id
LEFT JOIN app.webhook_delivery AS d ON d.webhook_id = w.id AND d.event_id = e.id
WHERE d.event_id IS NULL AND e.account_id <> 0
    AND e.created_at > app.now() - interval '6 days' AND e.created_at > w.wants_since + interval '1 minute'
    AND CASE w.kind
        WHEN 'tasks' THEN h.task_id IS NOT NULL AND e.topic IN ('task.completed', 'task.failed')
        ELSE w.topics IS NULL OR e.topic = ANY (w.topics) END;
COMMENT ON VIEW app.audit_webhook_delivery_missing IS
    'every event has a delivery to every webhook of its account that subscribes to it';

CREATE VIEW app.audit_webhook_overdue AS
SELECT d.webhook_id, d.event_id, d.account_id, d.due_at
FROM app.webhook_delivery AS d
JOIN app.webhook AS w ON w.id = d.webhook_id AND w.paused_at IS NULL
WHERE d.state = 'waiting' AND d.due_at < app.now() - interval '1 hour';
COMMENT ON VIEW app.audit_webhook_overdue IS 'whatever is due to a webhook that is not paused is sent';

-- Events of accounts, in the order in which they became visible. A row is written in the transaction of its
-- cause; its number comes from a counter row of the account, so the numbers have no gaps and no reader sees
-- 8 before 7. A reader that meets a gap reads this table. Account 0 is the system account, whose events go
-- to all accounts.
--
-- app.outbox gets a copy of each row to publish (JetStream). The copy may be lost; this table is
-- authoritative and is kept for seven days.
--
-- Lock order: accounts of the ledger first, then these counters by account, as late as can be, then a webhook before
-- its deliveries.
CREATE TABLE app.event_counter (
    account_id bigint NOT NULL,
    value      bigint NOT NULL,
    CONSTRAINT event_counter_pkey PRIMARY KEY (account_id),
    CONSTRAINT event_counter_value_positive CHECK (value > 0)
) WITH (fillfactor = 50);

CREATE TABLE app.event (
    account_id bigint      NOT NULL,
    seq        bigint      NOT NULL,
    id         uuid        NOT NULL,
    topic      text        NOT NULL,
    task_id    uuid,
    body       jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (account_id, seq, created_at),
    CONSTRAINT event_seq_positive CHECK (seq > 0),
    CONSTRAINT event_topic_bounded CHECK (char_length(topic) BETWEEN 1 AND 100),
    CONSTRAINT event_body_bounded CHECK (octet_length(body::text) <= 65536)
) PARTITION BY RANGE (created_at);
-- An event must never break the transaction of its cause: a day for which there is no table yet goes here.
CREATE TABLE app.event_default PARTITION OF app.event DEFAULT;

-- SECURITY DEFINER because the job that calls these runs as the data plane, which owns nothing.
CREATE FUNCTION app.make_event_partitions(first_day date, days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    made integer := 0;
    day date;
    child text;
BEGIN
    IF days NOT BETWEEN 1 AND 400 THEN
        RAISE EXCEPTION 'between 1 and 400 days of partitions can be made at once';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('app.make_event_partitions'));
    FOR day IN SELECT first_day + n FROM generate_series(0, days - 1) AS n LOOP
        child := 'event_' || to_char(day, 'YYYYMMDD');
        -- Rows that came before their table stay where they are: a table over them would be refused.
        IF to_regclass('app.' || child) IS NULL AND NOT EXISTS (
            SELECT FROM app.event_default AS e
            WHERE e.created_at >= day::timestamp AT TIME ZONE 'UTC'
                AND e.created_at < (day + 1)::timestamp AT TIME ZONE 'UTC')
        THEN
            EXECUTE format('CREATE TABLE app.%I PARTITION OF app.event FOR VALUES FROM (%L) TO (%L)',
                child, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$make$;

-- Drops whole days. The numbers continue: the counters stay.
CREATE FUNCTION app.drop_event_partitions(before_day date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $forget$
DECLARE
    gone integer := 0;
    child text;
BEGIN
    IF before_day > (app.now() AT TIME ZONE 'UTC')::date - 7 THEN
        RAISE EXCEPTION 'events are kept for seven days';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('app.make_event_partitions'));
    FOR child IN SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'app.event'::regclass AND c.relname ~ '^event_[0-9]{8}$'
            AND to_date(right(c.relname, 8), 'YYYYMMDD') < before_day
    LOOP
        EXECUTE format('DROP TABLE app.%I', child);
        gone := gone + 1;
    END LOOP;
    DELETE FROM app.event_default AS e WHERE e.created_at < before_day::timestamp AT TIME ZONE 'UTC';
    RETURN gone;
END
$forget$;

SELECT app.make_event_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9);

GRANT SELECT, INSERT ON app.event_counter, app.event TO trunkline_data, trunkline_console;
GRANT UPDATE (value) ON app.event_counter TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION app.make_event_partitions(date, integer) TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION app.drop_event_partitions(date) TO trunkline_data;

-- What `trunkline audit` asks: every number up to the counter is there, from the first that is kept.
CREATE VIEW app.audit_event_numbers_have_holes AS
SELECT c.account_id, c.value, e.events, e.first, e.last
FROM app.event_counter AS c
LEFT JOIN (SELECT account_id, count(*) AS events, min(seq) AS first, max(seq) AS last
           FROM app.event GROUP BY account_id) AS e USING (account_id)
WHERE e.account_id IS NOT NULL AND (e.last <> c.value OR e.last - e.first + 1 <> e.events);
COMMENT ON VIEW app.audit_event_numbers_have_holes IS
    'the events of an account are numbered without gaps, or a reader waits for ever';

-- Webhooks and their deliveries. A row of app.webhook_delivery is written by the statement that writes the
-- event (append_events.sql), so no event is without its deliveries. A system event would be a row for every
-- customer in one transaction; a job expands those in steps, from app.webhook_system.
--
-- An address is as good as a key and a secret is one: both are sealed, bound to their row.
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
-- Deliveries rest and wake with their webhook.
CREATE TRIGGER webhook_notifies AFTER UPDATE ON app.webhook
    FOR EACH ROW WHEN (OLD.paused_at IS DISTINCT FROM NEW.paused_at) EXECUTE FUNCTION app.signal('webhooks');

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
CREATE TRIGGER webhook_delivery_notifies AFTER INSERT ON app.webhook_delivery
    FOR EACH ROW EXECUTE FUNCTION app.signal('webhooks');
-- Sooner than it was: sent again by hand, or put off for less than its lease.
CREATE TRIGGER webhook_delivery_notifies_sooner AFTER UPDATE ON app.webhook_delivery
    FOR EACH ROW WHEN (NEW.state = 'waiting' AND NEW.due_at < OLD.due_at) EXECUTE FUNCTION app.signal('webhooks');

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

-- Addresses and secrets are sealed anew after a rotation of the keyring by the role that writes them. The console
-- writes events too; it deletes where an account is erased.
GRANT SELECT, INSERT, DELETE ON app.webhook, app.task_webhook, app.webhook_delivery TO trunkline_data;
GRANT UPDATE (url, topics, description, secret, old_secret, old_secret_until, failing_since, paused_at,
    paused_reason, wants_since) ON app.webhook TO trunkline_data;
GRANT UPDATE (url) ON app.task_webhook TO trunkline_data;
GRANT UPDATE (state, due_at, claim, tries, first_failed_at, last_try_at, last_status, last_error, delivered_at)
    ON app.webhook_delivery TO trunkline_data;
GRANT SELECT ON app.webhook_system TO trunkline_data;
GRANT UPDATE (seq, webhook_id) ON app.webhook_system TO trunkline_data;
GRANT SELECT ON app.webhook, app.task_webhook, app.webhook_delivery, app.webhook_system TO trunkline_console;
GRANT INSERT ON app.webhook_delivery TO trunkline_console;
GRANT DELETE ON app.webhook, app.task_webhook, app.webhook_delivery TO trunkline_console;

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

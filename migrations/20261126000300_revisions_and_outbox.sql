-- Nodes wait for things that others write: a changed price, a revoked key, a task to be sent, a message to
-- a webhook. To ask for each several times a second keeps an idle PostgreSQL busy for 40 to 55 milliseconds
-- of every second. So the writer of such a row notifies in the same transaction, and waiting nodes look then.
--
-- A notification only means that there may be a row; the tables are authoritative. A node that was not
-- listening finds it by polling (crates/db/src/notifications.rs): nothing may depend on having received
-- one. None of the tables that notify is written by an ordinary call: a transaction that notifies waits for
-- every other one that does when it commits.
CREATE FUNCTION app.signal() RETURNS trigger
    LANGUAGE plpgsql
AS $notify$
BEGIN
    PERFORM pg_catalog.pg_notify('trunkline', TG_ARGV[0]);
    RETURN NULL;
END
$notify$;

-- Nodes cache tables (keys, the catalog) and ask what is newer than the last revision they have read. A
-- revision must not come from a sequence: two writers take 7 and 8, the one with 8 commits
-- first, a reader remembers 8, then 7 commits and is never read. So revisions come from a row that the
-- writing transaction updates: its lock makes the second writer wait until the first has committed, and the
-- order of the revisions is the order in which they become visible.
--
-- The price is that writers of one topic are serialised. Bump as late in the transaction as you can, and
-- several topics in alphabetical order, or two transactions will wait for each other.
CREATE TABLE app.revision (
    topic text   NOT NULL,
    value bigint NOT NULL,
    CONSTRAINT revision_pkey PRIMARY KEY (topic),
    CONSTRAINT revision_topic_bounded CHECK (char_length(topic) BETWEEN 1 AND 100),
    CONSTRAINT revision_value_positive CHECK (value > 0)
);
CREATE TRIGGER revision_notifies AFTER INSERT OR UPDATE ON app.revision
    FOR EACH ROW EXECUTE FUNCTION app.signal('revisions');
GRANT SELECT, INSERT ON app.revision TO trunkline_data, trunkline_console;
GRANT UPDATE (value) ON app.revision TO trunkline_data, trunkline_console;

-- Copies of events that wait to be published to other nodes and to exports. A row is written in the
-- transaction of its cause, with the number that its account gave it (app.event), so an event exists exactly
-- when its cause does; it is published later, at least once, and deleted.
--
-- The body is bounded because a row that cannot be published (NATS takes a megabyte at most, a webhook's
-- receiver much less) would block the head of the queue for ever.
CREATE TABLE app.outbox (
    id         uuid        NOT NULL,
    topic      text        NOT NULL,
    account_id bigint,
    seq        bigint      NOT NULL,
    body       jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_topic_bounded CHECK (char_length(topic) BETWEEN 1 AND 100),
    CONSTRAINT outbox_seq_positive CHECK (seq > 0),
    CONSTRAINT outbox_body_bounded CHECK (octet_length(body::text) <= 65536),
    CONSTRAINT outbox_seq_once UNIQUE NULLS NOT DISTINCT (topic, account_id, seq)
);
CREATE TRIGGER outbox_notifies AFTER INSERT ON app.outbox
    FOR EACH ROW EXECUTE FUNCTION app.signal('outbox');
-- What concerns everybody is expanded to every webhook by a job.
CREATE TRIGGER outbox_notifies_webhooks AFTER INSERT ON app.outbox
    FOR EACH ROW WHEN (NEW.account_id = 0) EXECUTE FUNCTION app.signal('webhooks');

-- Every role may write events. Only the workers, which run as the data plane, may take them away; no role may
-- change them. A row that is claimed is locked, and PostgreSQL asks for the right to change some column of it.
GRANT SELECT, INSERT ON app.outbox TO trunkline_data, trunkline_console;
GRANT UPDATE (created_at), DELETE ON app.outbox TO trunkline_data;

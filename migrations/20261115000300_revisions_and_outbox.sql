-- Nodes cache tables (keys, the catalog) and ask every second what is newer than the last revision they
-- have read. A revision must not come from a sequence: two writers take 7 and 8, the one with 8 commits
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
GRANT SELECT, INSERT ON app.revision TO trunkline_data, trunkline_console;
GRANT UPDATE (value) ON app.revision TO trunkline_data, trunkline_console;

-- Outbox of events for NATS, webhooks and exports. A row is written in the transaction of its cause, so an
-- event exists exactly when its cause does; it is published later, at least once.
--
-- `seq` counts one topic of one account (or one topic of the system, where account_id is null) without
-- gaps, from a counter row for the reason above. Readers order by it and notice what they missed. The
-- counter has its own table because app.revision is read by every node every second and should stay small
-- enough to be read whole.
CREATE TABLE app.outbox_counter (
    topic      text   NOT NULL,
    account_id bigint,
    value      bigint NOT NULL,
    CONSTRAINT outbox_counter_one_per_account UNIQUE NULLS NOT DISTINCT (topic, account_id),
    CONSTRAINT outbox_counter_value_positive CHECK (value > 0)
);
GRANT SELECT, INSERT ON app.outbox_counter TO trunkline_data, trunkline_console;
GRANT UPDATE (value) ON app.outbox_counter TO trunkline_data, trunkline_console;

-- The body is bounded because a row that cannot be published (NATS takes a megabyte at most, a webhook's
-- receiver much less) would block the head of the queue for ever. The number is outbox::BODY_MAX_BYTES in
-- crates/db.
CREATE TABLE app.outbox (
    id           uuid        NOT NULL,
    topic        text        NOT NULL,
    account_id   bigint,
    seq          bigint      NOT NULL,
    body         jsonb       NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT app.now(),
    published_at timestamptz,
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_topic_bounded CHECK (char_length(topic) BETWEEN 1 AND 100),
    CONSTRAINT outbox_seq_positive CHECK (seq > 0),
    CONSTRAINT outbox_body_bounded CHECK (octet_length(body::text) <= 65536),
    CONSTRAINT outbox_seq_once UNIQUE NULLS NOT DISTINCT (topic, account_id, seq)
);

-- The queue itself: small however long the history is, because published rows leave it.
CREATE INDEX outbox_unpublished ON app.outbox (id) WHERE published_at IS NULL;

-- Every role may write events. Only the workers, which run as the data plane, may mark them published and
-- delete them; no role may change them.
GRANT SELECT, INSERT ON app.outbox TO trunkline_data, trunkline_console;
GRANT UPDATE (published_at), DELETE ON app.outbox TO trunkline_data;

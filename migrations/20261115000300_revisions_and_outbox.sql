-- Dear reader,
--
-- Nodes keep things in memory (the key table, the catalog) and ask every second "what is newer than
-- the number I have seen?". That question has a trap. If the number comes from a sequence, two
-- writers take 7 and 8, the one with 8 commits first, a reader sees 8 and remembers it, then 7
-- commits and is never read by anybody. So numbers that somebody follows come from a row which the
-- writing transaction updates: the row's lock makes the second writer wait until the first one has
-- committed, and the order of the numbers is the order in which they become visible.
--
-- The price is that writers of one topic take turns. Bump as late in the transaction as you can, and
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

-- What happened, on its way to whoever wants to know: NATS, webhooks, exports. A row is written in
-- the transaction that made it true, so an event exists exactly when its cause does; carrying it
-- elsewhere is somebody else's work, done later, at least once.
--
-- `seq` counts one topic of one account (or one topic of the house, where account_id is null) without
-- holes, from a counter row for the reason above. Readers order by it and notice what they missed.
-- The counter has its own table because app.revision is read by every node every second and should
-- stay small enough to be read whole.
CREATE TABLE app.outbox_counter (
    topic      text   NOT NULL,
    account_id bigint,
    value      bigint NOT NULL,
    CONSTRAINT outbox_counter_one_per_account UNIQUE NULLS NOT DISTINCT (topic, account_id),
    CONSTRAINT outbox_counter_value_positive CHECK (value > 0)
);
GRANT SELECT, INSERT ON app.outbox_counter TO trunkline_data, trunkline_console;
GRANT UPDATE (value) ON app.outbox_counter TO trunkline_data, trunkline_console;

-- The body is bounded here because a row that cannot be carried (NATS takes a megabyte at most, a
-- webhook's receiver much less) would stand at the head of the queue for ever. The number is
-- outbox::BODY_MAX_BYTES in crates/db.
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

-- Everybody may say what happened. Only the workers, who run as the data plane, may call it published
-- and sweep it up; nobody may rewrite it.
GRANT SELECT, INSERT ON app.outbox TO trunkline_data, trunkline_console;
GRANT UPDATE (published_at), DELETE ON app.outbox TO trunkline_data;

-- Connections that are open now, on every node: for lists, and so that an operator can close one. A node writes those
-- that it has every second in one statement, and says now and then that it still has them; a row that was not heard of
-- for a while is of a node that died, and is deleted by another. The previous release does not know the table.
CREATE TABLE app.live_connection (
    id                 uuid             NOT NULL,
    node               text COLLATE "C" NOT NULL,
    account_id         bigint           NOT NULL,
    key_id             bigint           NOT NULL,
    endpoint           text             NOT NULL,
    -- None where each message names its own.
    model              text,
    channel_id         bigint,
    opened_at          timestamptz      NOT NULL,
    seen_at            timestamptz      NOT NULL DEFAULT app.now(),
    -- An operator wants it closed; its node does that.
    close_requested_at timestamptz,
    CONSTRAINT live_connection_pkey PRIMARY KEY (id),
    CONSTRAINT live_connection_words_bounded
        CHECK (char_length(node) BETWEEN 1 AND 200 AND char_length(endpoint) BETWEEN 1 AND 64
            AND char_length(model) BETWEEN 1 AND 300)
);
CREATE INDEX live_connection_of_account ON app.live_connection (account_id, id);
CREATE INDEX live_connection_seen ON app.live_connection (seen_at);
CREATE INDEX live_connection_to_close ON app.live_connection (node) WHERE close_requested_at IS NOT NULL;

GRANT SELECT, INSERT, DELETE ON app.live_connection TO trunkline_data;
GRANT UPDATE (seen_at) ON app.live_connection TO trunkline_data;
GRANT SELECT ON app.live_connection TO trunkline_console;
GRANT UPDATE (close_requested_at) ON app.live_connection TO trunkline_console;

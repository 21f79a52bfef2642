-- What operators work with: the log of actions, notes, alarms, and the connections that are open now.

-- What operators, members of organisations and commands have changed: who, from where, what it was before and after.
-- Rows are only ever added, in the transaction of the change. No foreign keys: a row outlives what it names.
CREATE TABLE app.action_log (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    at         timestamptz NOT NULL DEFAULT app.now(),
    kind       text        NOT NULL,
    person_id  bigint,
    -- An address of a person, the login at the command line, or the part of this program that acted.
    actor      text        NOT NULL,
    address    text,
    agent      text,
    action     text        NOT NULL,
    account_id bigint,
    subject    text        NOT NULL,
    before     jsonb,
    after      jsonb,
    reason     text,
    CONSTRAINT action_log_pkey PRIMARY KEY (id),
    CONSTRAINT action_log_kind CHECK (kind IN ('operator', 'member', 'command', 'system')),
    CONSTRAINT action_log_person CHECK (kind IN ('command', 'system') OR person_id IS NOT NULL),
    CONSTRAINT action_log_actor_bounded CHECK (char_length(actor) BETWEEN 1 AND 254),
    CONSTRAINT action_log_origin_bounded CHECK (char_length(address) <= 45 AND char_length(agent) <= 200),
    CONSTRAINT action_log_action_bounded CHECK (char_length(action) BETWEEN 1 AND 60),
    CONSTRAINT action_log_subject_bounded CHECK (char_length(subject) BETWEEN 1 AND 300),
    CONSTRAINT action_log_reason_bounded CHECK (char_length(reason) <= 500),
    CONSTRAINT action_log_values_bounded CHECK (octet_length(before::text) <= 65536
        AND octet_length(after::text) <= 65536)
);
CREATE INDEX action_log_of_account ON app.action_log (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX action_log_of_person ON app.action_log (person_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX action_log_of_action ON app.action_log (action, id);
CREATE INDEX action_log_by_time ON app.action_log (at, id);

CREATE TRIGGER action_log_is_append_only BEFORE UPDATE OR DELETE ON app.action_log
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('an action that was logged is never edited');
CREATE TRIGGER action_log_is_never_emptied BEFORE TRUNCATE ON app.action_log
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change('the action log is never emptied');

GRANT SELECT, INSERT ON app.action_log TO trunkline_console;
-- Commands that work under the data plane's role log too; it reads nothing here.
GRANT INSERT ON app.action_log TO trunkline_data;

-- What operators write down about a customer. Never edited either: a correction is another note.
CREATE TABLE app.account_note (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    account_id bigint      NOT NULL,
    text       text        NOT NULL,
    author     text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT account_note_pkey PRIMARY KEY (id),
    CONSTRAINT account_note_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT account_note_bounded CHECK (char_length(text) BETWEEN 1 AND 4000 AND char_length(author) BETWEEN 1 AND 254)
);
CREATE INDEX account_note_of_account ON app.account_note (account_id, id);
GRANT SELECT, INSERT ON app.account_note TO trunkline_console;
-- What is known of a person who asked to be forgotten may be in a note.
GRANT DELETE ON app.account_note TO trunkline_console;

-- Alarms of this installation: one row each, for as long as it is interesting. A worker that sees a condition last
-- makes the row fire, one that sees it gone resolves it, and whoever claims a change tells the operator.
CREATE TABLE app.alarm (
    name          text        NOT NULL,
    -- A channel or a kind of loss; empty for the whole.
    subject       text        NOT NULL,
    -- Who sees it; empty for what all nodes read from this database.
    node          text        NOT NULL,
    summary       text        NOT NULL,
    is_firing     boolean     NOT NULL,
    changed_at    timestamptz NOT NULL DEFAULT app.now(),
    claimed_until timestamptz NOT NULL DEFAULT '-infinity',
    -- When the last change was told, by each way.
    emailed_at    timestamptz,
    posted_at     timestamptz,
    CONSTRAINT alarm_pkey PRIMARY KEY (name, subject, node),
    CONSTRAINT alarm_name_bounded CHECK (char_length(name) BETWEEN 1 AND 60),
    CONSTRAINT alarm_subject_bounded CHECK (char_length(subject) <= 200),
    CONSTRAINT alarm_node_bounded CHECK (char_length(node) <= 64),
    CONSTRAINT alarm_summary_bounded CHECK (char_length(summary) <= 500)
);
GRANT SELECT, INSERT, DELETE ON app.alarm TO trunkline_data;
GRANT UPDATE (summary, is_firing, changed_at, claimed_until, emailed_at, posted_at) ON app.alarm TO trunkline_data;
GRANT SELECT ON app.alarm TO trunkline_console;

-- Connections that are open now, on every node: for lists, and so that an operator can close one. A node writes those
-- that it has every second in one statement, and says now and then that it still has them; a row that was not heard of
-- for a while is of a node that died, and is deleted by another.
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

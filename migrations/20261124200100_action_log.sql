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

-- Erasing a customer: what names a person goes, what moved money stays.
GRANT UPDATE (email) ON app.person, app.invitation TO trunkline_console;
-- A reset of the password is sent to the address: it is erased, never changed.
CREATE TRIGGER person_keeps_email BEFORE UPDATE OF email ON app.person
    FOR EACH ROW WHEN (NEW.email IS DISTINCT FROM OLD.email AND NEW.email <> 'erased-' || OLD.id || '@invalid')
    EXECUTE FUNCTION ledger.refuse_change('the address of a person is erased, never changed');
GRANT DELETE ON app.person_identity, app.email, app.webhook, app.task_webhook, app.webhook_delivery TO trunkline_console;

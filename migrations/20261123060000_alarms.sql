-- Alarms of this installation: one row each, for as long as it is interesting. A worker that sees a condition last
-- makes the row fire, one that sees it gone resolves it, and whoever claims a change tells the operator. The previous
-- release does not know the table.
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

-- Changes of the catalog that are published later, each once. What a change is made of is read again when it is due, so
-- that it changes what it names and nothing else.
CREATE TABLE app.scheduled_prices (
    id               bigint      GENERATED ALWAYS AS IDENTITY,
    publish_at       timestamptz NOT NULL,
    note             text        NOT NULL,
    author           text        NOT NULL,
    change           jsonb       NOT NULL,
    allow_below_cost boolean     NOT NULL,
    state            text        NOT NULL DEFAULT 'waiting',
    -- Why it was refused.
    problem          text,
    -- What it was published as.
    revision         bigint,
    created_at       timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT scheduled_prices_pkey PRIMARY KEY (id),
    CONSTRAINT scheduled_prices_state CHECK (state IN ('waiting', 'published', 'refused', 'cancelled')),
    CONSTRAINT scheduled_prices_published CHECK ((state = 'published') = (revision IS NOT NULL)),
    CONSTRAINT scheduled_prices_refused CHECK ((state = 'refused') = (problem IS NOT NULL)),
    CONSTRAINT scheduled_prices_texts_bounded CHECK (char_length(note) BETWEEN 1 AND 500
        AND char_length(author) BETWEEN 1 AND 254 AND char_length(problem) <= 1000),
    CONSTRAINT scheduled_prices_change_bounded CHECK (octet_length(change::text) <= 262144)
);
CREATE INDEX scheduled_prices_due ON app.scheduled_prices (publish_at) WHERE state = 'waiting';
CREATE TRIGGER scheduled_prices_end_once BEFORE UPDATE ON app.scheduled_prices
    FOR EACH ROW WHEN (OLD.state <> 'waiting')
    EXECUTE FUNCTION ledger.refuse_change('a scheduled change that ended stays so');
GRANT SELECT, INSERT ON app.scheduled_prices TO trunkline_console;
GRANT UPDATE (state, problem, revision) ON app.scheduled_prices TO trunkline_console;

-- What is sold, and for how much. Every change is a new row and none is ever edited: the version of the
-- prices under which a call was charged can be read for ever, and a quote that was locked ten minutes ago
-- finds its price on any node, also on one that started since.
--
-- One change is one number of the topic 'catalog' of app.revision, whatever it touches. A model's row says
-- all of it, or, with a null entry, that it is sold no more; the header holds the groups and vendors. A
-- reader asks for the newest number, then for the newest row of everything up to that number, and so never
-- mixes two changes. Writers take the number first and then look, so they take turns, and a catalog that
-- does not pass its checks is never written.
CREATE TABLE app.catalog_change (
    revision        bigint      NOT NULL,
    pricing_version bytea       NOT NULL,
    author          text        NOT NULL,
    note            text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT catalog_change_pkey PRIMARY KEY (revision),
    CONSTRAINT catalog_change_revision_positive CHECK (revision > 0),
    CONSTRAINT catalog_change_version_is_sha256 CHECK (octet_length(pricing_version) = 32),
    CONSTRAINT catalog_change_author_bounded CHECK (char_length(author) BETWEEN 1 AND 100),
    CONSTRAINT catalog_change_note_bounded CHECK (char_length(note) <= 500)
);
CREATE TABLE app.catalog_header (
    revision bigint NOT NULL,
    header   jsonb  NOT NULL,
    CONSTRAINT catalog_header_pkey PRIMARY KEY (revision),
    CONSTRAINT catalog_header_bounded CHECK (jsonb_typeof(header) = 'object' AND octet_length(header::text) <= 4000000)
);
CREATE TABLE app.catalog_model (
    name     text   NOT NULL,
    revision bigint NOT NULL,
    entry    jsonb,
    CONSTRAINT catalog_model_pkey PRIMARY KEY (name, revision),
    CONSTRAINT catalog_model_name_bounded CHECK (char_length(name) BETWEEN 1 AND 200),
    CONSTRAINT catalog_model_entry_bounded CHECK (jsonb_typeof(entry) = 'object' AND octet_length(entry::text) <= 262144)
);
CREATE INDEX catalog_model_by_revision ON app.catalog_model (revision, name);

CREATE TRIGGER catalog_change_is_append_only BEFORE UPDATE OR DELETE ON app.catalog_change
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a change of the catalog is never edited; make another one');
CREATE TRIGGER catalog_header_is_append_only BEFORE UPDATE OR DELETE ON app.catalog_header
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a change of the catalog is never edited; make another one');
CREATE TRIGGER catalog_model_is_append_only BEFORE UPDATE OR DELETE ON app.catalog_model
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a change of the catalog is never edited; make another one');

GRANT SELECT ON app.catalog_change, app.catalog_header, app.catalog_model TO trunkline_data, trunkline_console;
GRANT INSERT ON app.catalog_change, app.catalog_header, app.catalog_model TO trunkline_console;

-- How the routes of each model do, by the minute and over all nodes: each node adds what it has seen since
-- it last did. This is for display and routing, not for money: the last half minute of a failed node is
-- lost, and a failed addition is not retried.
CREATE TABLE app.route_minute (
    model         text        NOT NULL,
    minute        timestamptz NOT NULL,
    calls         bigint      NOT NULL,
    failed        bigint      NOT NULL,
    output_tokens bigint      NOT NULL,
    last_at       timestamptz NOT NULL,
    CONSTRAINT route_minute_pkey PRIMARY KEY (minute, model),
    CONSTRAINT route_minute_model_bounded CHECK (char_length(model) BETWEEN 1 AND 200),
    CONSTRAINT route_minute_counts CHECK (calls >= 0 AND failed BETWEEN 0 AND calls AND output_tokens >= 0)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON app.route_minute TO trunkline_data;
GRANT SELECT ON app.route_minute TO trunkline_console;

-- Prices may differ for customers who have paid in once, and a node must know that before it asks for
-- money. The ledger writes the moment; this copies it to where nodes look, with a number of its own topic.
ALTER TABLE app.account ADD COLUMN topped_up_at timestamptz;
UPDATE app.account AS a SET topped_up_at = l.topped_up_at, revision = a.revision + 1
    FROM ledger.account AS l WHERE l.id = a.id AND l.topped_up_at IS NOT NULL;
UPDATE app.revision SET value = value + 1 WHERE topic = 'accounts';
CREATE FUNCTION app.note_first_top_up() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $note$
DECLARE number bigint;
BEGIN
    IF EXISTS (SELECT FROM app.account AS a WHERE a.id = NEW.id) THEN
        INSERT INTO app.revision AS r (topic, value) VALUES ('accounts', 1)
            ON CONFLICT (topic) DO UPDATE SET value = r.value + 1 RETURNING r.value INTO number;
        UPDATE app.account SET topped_up_at = NEW.topped_up_at, revision = number WHERE id = NEW.id;
    END IF;
    RETURN NULL;
END
$note$;
CREATE TRIGGER account_first_top_up AFTER UPDATE OF topped_up_at ON ledger.account
    FOR EACH ROW WHEN (OLD.topped_up_at IS NULL AND NEW.topped_up_at IS NOT NULL)
    EXECUTE FUNCTION app.note_first_top_up();
CREATE FUNCTION app.take_first_top_up() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $take$
BEGIN
    NEW.topped_up_at := (SELECT l.topped_up_at FROM ledger.account AS l WHERE l.id = NEW.id);
    RETURN NEW;
END
$take$;
CREATE TRIGGER account_begins_topped_up BEFORE INSERT ON app.account
    FOR EACH ROW EXECUTE FUNCTION app.take_first_top_up();

-- What `trunkline audit` asks, now of these tables too. The comment on the view stays.
CREATE OR REPLACE VIEW app.audit_revision_never_issued AS
SELECT c.topic, c.id, c.revision, COALESCE(r.value, 0) AS given
FROM (SELECT 'accounts' AS topic, a.id, a.revision FROM app.account AS a
      UNION ALL SELECT 'keys', k.id, k.revision FROM app.api_key AS k
      UNION ALL SELECT 'channels', h.id, h.revision FROM app.channel AS h
      UNION ALL SELECT 'channels', s.id, s.revision FROM app.channel_credential AS s
      UNION ALL SELECT 'catalog', g.revision, g.revision FROM app.catalog_change AS g
      UNION ALL SELECT 'catalog', f.revision, f.revision FROM app.catalog_header AS f
      UNION ALL SELECT 'catalog', m.revision, m.revision FROM app.catalog_model AS m) AS c
LEFT JOIN app.revision AS r ON r.topic = c.topic
WHERE c.revision > COALESCE(r.value, 0);

-- A channel is one way to an upstream: a provider, an address, the credentials we hold there, and
-- which of our models it serves under which of its names. Nodes keep all channels in memory and read
-- them anew when the topic 'channels' of app.revision has moved, so no change may go without a new
-- number; the triggers below refuse an update that forgot to take one.
--
-- Credentials are in a table of their own because each has its own state: one of five may be cooling down
-- while the others work, and a node finds out, not a person. So the data plane may write three columns
-- there, the number included, and none of the channel. A channel's number as nodes see it is the greatest
-- of its own and its credentials'.
--
-- What must not be readable in a copy of this database is sealed by the keyring: credentials, and the
-- address of the proxy, which may hold a password. The seal names the channel and the label, so a sealed
-- text that is moved to another row does not open, and so neither name may ever change.
--
-- `models` (ours -> theirs) and `extra_headers` are objects of texts. `cost` is what the upstream takes
-- from us, in its own currency; store::channels::CostBook says what is in it, and nothing is charged to
-- customers by it. Extra headers are not sealed: no credential belongs there.
--
-- The bounds in the checks are constants in crates/store/src/validation.rs and channels.rs; a test holds
-- them together.

-- A lower `priority` is tried first; among equals `weight` decides how often. `groups` empty means all.
-- `draining` takes no new calls and keeps what it has; `off` is out of use.
CREATE TABLE app.channel (
    id                  bigint      GENERATED ALWAYS AS IDENTITY,
    name                text        NOT NULL,
    provider            text        NOT NULL,
    base_url            text,
    priority            integer     NOT NULL,
    weight              integer     NOT NULL,
    region              text,
    models              jsonb       NOT NULL,
    groups              text[]      NOT NULL,
    extra_headers       jsonb       NOT NULL,
    proxy               bytea,
    requests_per_minute bigint,
    concurrent_calls    bigint,
    cost                jsonb,
    state               text        NOT NULL DEFAULT 'active',
    created_at          timestamptz NOT NULL DEFAULT app.now(),
    revision            bigint      NOT NULL,
    -- What the upstream promises: where it keeps data, and that it keeps nothing of requests and responses.
    residency           text,
    zero_retention      boolean     NOT NULL DEFAULT false,
    CONSTRAINT channel_pkey PRIMARY KEY (id),
    CONSTRAINT channel_name_once UNIQUE (name),
    CONSTRAINT channel_name_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT channel_provider_bounded CHECK (char_length(provider) BETWEEN 1 AND 128),
    CONSTRAINT channel_base_url_bounded CHECK (char_length(base_url) BETWEEN 1 AND 500),
    CONSTRAINT channel_priority_bounded CHECK (priority BETWEEN 0 AND 1000000),
    CONSTRAINT channel_weight_bounded CHECK (weight BETWEEN 1 AND 1000),
    CONSTRAINT channel_region_bounded CHECK (char_length(region) BETWEEN 1 AND 128),
    CONSTRAINT channel_models_bounded CHECK (app.is_map_of_texts(models, 1, 1000, 128, 128)),
    CONSTRAINT channel_groups_bounded CHECK (app.is_list_of_words(groups, 0, 200, 128)),
    CONSTRAINT channel_groups_are_groups CHECK (NOT 'auto' = ANY (groups)),
    CONSTRAINT channel_headers_bounded CHECK (app.is_map_of_texts(extra_headers, 0, 50, 128, 1000)),
    CONSTRAINT channel_proxy_bounded CHECK (octet_length(proxy) BETWEEN 1 AND 4096),
    CONSTRAINT channel_requests_bounded CHECK (requests_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT channel_concurrent_bounded CHECK (concurrent_calls BETWEEN 1 AND 1000000000000),
    CONSTRAINT channel_cost_bounded CHECK (jsonb_typeof(cost) = 'object' AND octet_length(cost::text) <= 262144),
    CONSTRAINT channel_state_known CHECK (state IN ('active', 'draining', 'off')),
    CONSTRAINT channel_revision_positive CHECK (revision > 0),
    CONSTRAINT channel_residency_bounded CHECK (char_length(residency) BETWEEN 1 AND 128)
);

-- `cool_until` ends by itself; `paused_reason` is taken away by a person, who has looked.
CREATE TABLE app.channel_credential (
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    channel_id    bigint      NOT NULL,
    label         text        NOT NULL,
    sealed        bytea       NOT NULL,
    hint          text        NOT NULL,
    disabled      boolean     NOT NULL DEFAULT false,
    cool_until    timestamptz,
    paused_reason text,
    created_at    timestamptz NOT NULL DEFAULT app.now(),
    revision      bigint      NOT NULL,
    CONSTRAINT channel_credential_pkey PRIMARY KEY (id),
    CONSTRAINT channel_credential_has_a_channel FOREIGN KEY (channel_id) REFERENCES app.channel (id),
    CONSTRAINT channel_credential_label_once UNIQUE (channel_id, label),
    CONSTRAINT channel_credential_label_bounded CHECK (char_length(label) BETWEEN 1 AND 100),
    CONSTRAINT channel_credential_sealed_bounded CHECK (octet_length(sealed) BETWEEN 1 AND 16384),
    -- Four characters at most: a whole credential does not fit.
    CONSTRAINT channel_credential_hint_bounded CHECK (char_length(hint) BETWEEN 1 AND 8),
    CONSTRAINT channel_credential_reason_bounded CHECK (char_length(paused_reason) BETWEEN 1 AND 200),
    CONSTRAINT channel_credential_revision_positive CHECK (revision > 0)
);

CREATE TRIGGER channel_takes_a_number BEFORE UPDATE ON app.channel
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic channels, or no node sees it');
CREATE TRIGGER channel_credential_takes_a_number BEFORE UPDATE ON app.channel_credential
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic channels, or no node sees it');

-- Who may do what. The console makes rows and changes what may change; names never do, because the
-- seals are bound to them. The data plane reads, cools and pauses. Nobody deletes a channel: a usage row must
-- find it for ever. A credential that an operator removes is deleted, because its secret must be gone; the topic's
-- number tells nodes.
GRANT SELECT ON app.channel, app.channel_credential TO trunkline_data, trunkline_console;
GRANT INSERT ON app.channel, app.channel_credential TO trunkline_console;
GRANT DELETE ON app.channel_credential TO trunkline_console;
GRANT UPDATE (provider, base_url, priority, weight, region, models, groups, extra_headers, proxy, requests_per_minute,
    concurrent_calls, cost, state, revision, residency, zero_retention) ON app.channel TO trunkline_console;
GRANT UPDATE (sealed, hint, disabled, cool_until, paused_reason, revision)
    ON app.channel_credential TO trunkline_console;
GRANT UPDATE (cool_until, paused_reason, revision) ON app.channel_credential TO trunkline_data;

-- The price lists that a channel has had, each from a moment on: the cost of a past call is explained by the list of
-- its time. Written by a trigger, so that no way of editing a channel leaves it out; never changed.
CREATE TABLE app.channel_cost (
    channel_id bigint      NOT NULL,
    since      timestamptz NOT NULL,
    -- Null: the channel had none from then on.
    cost       jsonb,
    CONSTRAINT channel_cost_pkey PRIMARY KEY (channel_id, since)
);
CREATE TRIGGER channel_cost_is_append_only BEFORE UPDATE OR DELETE ON app.channel_cost
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a price list that was in use is never edited');

-- SECURITY DEFINER, so that no role can write a list that was not in use.
CREATE FUNCTION app.note_channel_cost() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    -- The moment of the row, not of its transaction: two changes of one transaction are two lists.
    INSERT INTO app.channel_cost (channel_id, since, cost)
    VALUES (NEW.id, app.now() + (pg_catalog.clock_timestamp() - pg_catalog.now()), NEW.cost);
    RETURN NULL;
END
$note$;
CREATE TRIGGER channel_notes_first_cost AFTER INSERT ON app.channel
    FOR EACH ROW WHEN (NEW.cost IS NOT NULL) EXECUTE FUNCTION app.note_channel_cost();
CREATE TRIGGER channel_notes_cost AFTER UPDATE OF cost ON app.channel
    FOR EACH ROW WHEN (NEW.cost IS DISTINCT FROM OLD.cost) EXECUTE FUNCTION app.note_channel_cost();
GRANT SELECT ON app.channel_cost TO trunkline_data, trunkline_console;

-- How channels do, by model and endpoint, in spans of five minutes: what calls came to, how long their answers took to
-- begin, and how fast they were written. Nodes add sums of many calls at a time; a worker deletes what is 90 days old.
-- first_byte counts answers by their time to the first byte: the place is twice the binary logarithm of milliseconds.
CREATE TABLE app.channel_health (
    span timestamptz NOT NULL,
    channel_id bigint NOT NULL,
    model text NOT NULL,
    endpoint text NOT NULL,
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    first_byte integer[] NOT NULL,
    output_tokens bigint NOT NULL,
    output_millis bigint NOT NULL,
    CONSTRAINT channel_health_pkey PRIMARY KEY (span, channel_id, model, endpoint),
    CONSTRAINT channel_health_channel_fkey FOREIGN KEY (channel_id) REFERENCES app.channel (id) ON DELETE CASCADE,
    CONSTRAINT channel_health_words_bounded
        CHECK (char_length(model) BETWEEN 1 AND 200 AND char_length(endpoint) BETWEEN 1 AND 64),
    CONSTRAINT channel_health_counts
        CHECK (calls >= 0 AND failed BETWEEN 0 AND calls AND output_tokens >= 0 AND output_millis >= 0),
    CONSTRAINT channel_health_first_byte CHECK (cardinality(first_byte) = 40)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON app.channel_health TO trunkline_data;
GRANT SELECT ON app.channel_health TO trunkline_console;

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

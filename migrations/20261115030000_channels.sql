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

-- An object of texts, with neither too many nor too long ones.
CREATE FUNCTION app.is_map_of_texts(map jsonb, fewest integer, most integer, longest_key integer, longest_value integer)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN jsonb_typeof(map) = 'object'
        AND (SELECT count(*) BETWEEN fewest AND most
                 AND COALESCE(bool_and(char_length(e.key) BETWEEN 1 AND longest_key
                     AND jsonb_typeof(e.value) = 'string'
                     AND char_length(e.value #>> '{}') BETWEEN 1 AND longest_value), true)
             FROM jsonb_each(CASE jsonb_typeof(map) WHEN 'object' THEN map ELSE '{}' END) AS e (key, value));
GRANT EXECUTE ON FUNCTION app.is_map_of_texts(jsonb, integer, integer, integer, integer)
    TO trunkline_data, trunkline_console;

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
    CONSTRAINT channel_revision_positive CHECK (revision > 0)
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
-- seals are bound to them. The data plane reads, cools and pauses. Nobody deletes: a usage row must
-- find its channel for ever.
GRANT SELECT ON app.channel, app.channel_credential TO trunkline_data, trunkline_console;
GRANT INSERT ON app.channel, app.channel_credential TO trunkline_console;
GRANT UPDATE (provider, base_url, priority, weight, region, models, groups, extra_headers, proxy,
    requests_per_minute, concurrent_calls, cost, state, revision) ON app.channel TO trunkline_console;
GRANT UPDATE (sealed, hint, disabled, cool_until, paused_reason, revision)
    ON app.channel_credential TO trunkline_console;
GRANT UPDATE (cool_until, paused_reason, revision) ON app.channel_credential TO trunkline_data;

-- What `trunkline audit` asks, now of these tables too. The comment on the view stays.
CREATE OR REPLACE VIEW app.audit_revision_never_issued AS
SELECT c.topic, c.id, c.revision, COALESCE(r.value, 0) AS given
FROM (SELECT 'accounts' AS topic, a.id, a.revision FROM app.account AS a
      UNION ALL SELECT 'keys', k.id, k.revision FROM app.api_key AS k
      UNION ALL SELECT 'channels', h.id, h.revision FROM app.channel AS h
      UNION ALL SELECT 'channels', s.id, s.revision FROM app.channel_credential AS s) AS c
LEFT JOIN app.revision AS r ON r.topic = c.topic
WHERE c.revision > COALESCE(r.value, 0);

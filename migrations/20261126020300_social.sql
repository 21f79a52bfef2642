-- Social data is sold by cells: one capability of one platform. Which cells there are is in files that
-- executables carry, what one costs is in the catalog; here stands only which of them are not sold for
-- now, and what happened to them. A person pauses a cell, and so does a node that finds the path of its
-- data source gone. Only a person takes it back into use: the data plane cannot delete.
--
-- Nodes keep the pauses in memory and read them anew when the topic 'social' of app.revision has moved.
-- The number of a pause is the number of its event. Events are never edited, so that "since when, and
-- who said so" has an answer after the pause is gone.
--
-- A cell that no file knows any more may stay paused: a node with another file may know it.
-- The bounds are constants in crates/store/src/validation.rs and cell_pauses.rs; a test holds them together.
CREATE TABLE app.social_pause (
    platform   text COLLATE "C" NOT NULL,
    capability text COLLATE "C" NOT NULL,
    reason     text             NOT NULL,
    actor      text             NOT NULL,
    paused_at  timestamptz      NOT NULL DEFAULT app.now(),
    revision   bigint           NOT NULL,
    CONSTRAINT social_pause_pkey PRIMARY KEY (platform, capability),
    CONSTRAINT social_pause_platform_formed CHECK (platform ~ '^[a-z0-9_]{1,128}$'),
    CONSTRAINT social_pause_capability_formed CHECK (capability ~ '^[a-z-]{1,128}$'),
    CONSTRAINT social_pause_reason_bounded CHECK (char_length(reason) BETWEEN 1 AND 200),
    CONSTRAINT social_pause_actor_known CHECK (actor IN ('operator', 'gateway')),
    CONSTRAINT social_pause_revision_positive CHECK (revision > 0)
);
CREATE TABLE app.social_event (
    revision   bigint           NOT NULL,
    at         timestamptz      NOT NULL DEFAULT app.now(),
    platform   text COLLATE "C" NOT NULL,
    capability text COLLATE "C" NOT NULL,
    action     text             NOT NULL,
    reason     text             NOT NULL,
    actor      text             NOT NULL,
    CONSTRAINT social_event_pkey PRIMARY KEY (revision),
    CONSTRAINT social_event_platform_formed CHECK (platform ~ '^[a-z0-9_]{1,128}$'),
    CONSTRAINT social_event_capability_formed CHECK (capability ~ '^[a-z-]{1,128}$'),
    CONSTRAINT social_event_action_known CHECK (action IN ('paused', 'resumed')),
    CONSTRAINT social_event_reason_bounded CHECK (char_length(reason) BETWEEN 1 AND 200),
    CONSTRAINT social_event_actor_known CHECK (actor IN ('operator', 'gateway')),
    CONSTRAINT social_event_revision_positive CHECK (revision > 0)
);

CREATE TRIGGER social_pause_is_not_edited BEFORE UPDATE ON app.social_pause
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('the first reason of a pause stays; resume the cell and pause it anew');
CREATE TRIGGER social_event_is_append_only BEFORE UPDATE OR DELETE ON app.social_event
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('an event of social data is never edited');

GRANT SELECT ON app.social_pause, app.social_event TO trunkline_data, trunkline_console;
GRANT INSERT (platform, capability, reason, actor, revision) ON app.social_pause
    TO trunkline_data, trunkline_console;
GRANT INSERT (revision, platform, capability, action, reason, actor) ON app.social_event
    TO trunkline_data, trunkline_console;
GRANT DELETE ON app.social_pause TO trunkline_console;

-- A pause that no event explains, or a cell whose newest event is not what holds.
CREATE VIEW app.audit_pause_and_event_disagree AS
SELECT COALESCE(p.platform, e.platform) AS platform, COALESCE(p.capability, e.capability) AS capability,
    p.revision AS pause, e.revision AS event, e.action
FROM app.social_pause AS p
FULL JOIN (SELECT DISTINCT ON (platform, capability) platform, capability, revision, action
           FROM app.social_event ORDER BY platform, capability, revision DESC) AS e
    ON e.platform = p.platform AND e.capability = p.capability
WHERE (p.platform IS NOT NULL) IS DISTINCT FROM (e.action = 'paused')
    OR (p.platform IS NOT NULL AND p.revision <> e.revision);
COMMENT ON VIEW app.audit_pause_and_event_disagree IS
    'a cell of social data is paused if and only if its newest event says so';

-- What `trunkline audit` asks of every table that nodes follow by a topic of app.revision.
CREATE VIEW app.audit_revision_never_issued AS
SELECT c.topic, c.id, c.revision, COALESCE(r.value, 0) AS given
FROM (SELECT 'accounts' AS topic, a.id, a.revision FROM app.account AS a
      UNION ALL SELECT 'keys', k.id, k.revision FROM app.api_key AS k
      UNION ALL SELECT 'channels', h.id, h.revision FROM app.channel AS h
      UNION ALL SELECT 'channels', s.id, s.revision FROM app.channel_credential AS s
      UNION ALL SELECT 'catalog', g.revision, g.revision FROM app.catalog_change AS g
      UNION ALL SELECT 'catalog', f.revision, f.revision FROM app.catalog_header AS f
      UNION ALL SELECT 'catalog', m.revision, m.revision FROM app.catalog_model AS m
      UNION ALL SELECT 'workflows', w.revision, w.revision FROM app.workflow_version AS w
      UNION ALL SELECT 'social', p.revision, p.revision FROM app.social_pause AS p
      UNION ALL SELECT 'social', e.revision, e.revision FROM app.social_event AS e) AS c
LEFT JOIN app.revision AS r ON r.topic = c.topic
WHERE c.revision > COALESCE(r.value, 0);
COMMENT ON VIEW app.audit_revision_never_issued IS
    'no row has a revision that its topic has not issued, or nodes that follow the revisions miss changes';

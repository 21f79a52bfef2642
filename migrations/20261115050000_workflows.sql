-- A workflow record says what a task is, what it needs and what it is bound to at run time. Each change
-- is a new version, under the next number of the topic 'workflows'; nobody changes or deletes one, so
-- that what was verified, and under which text, can be read for ever. The newest version of a slug is
-- the one that counts.
--
-- Which version may follow which is decided by catalog::workflow::next, while the writer holds the
-- topic's counter row. What one row alone can show is checked here once more: the words of both states,
-- that no binding is verified under a contract that is not, and that the columns say what the record
-- says.
--
-- `record` is json and not jsonb: the text stays as we wrote it.
-- The bounds are constants in crates/catalog/src/workflow.rs and workflow/rules.rs; a test holds them
-- together.

CREATE TABLE app.workflow_version (
    -- Compared byte by byte, so that pages of a list are in one order on every host.
    slug            text COLLATE "C" NOT NULL,
    revision        bigint           NOT NULL,
    workflow_id     text COLLATE "C" NOT NULL,
    contract_status text             NOT NULL,
    binding_status  text             NOT NULL,
    semantic_digest bytea            NOT NULL,
    record          json             NOT NULL,
    created_at      timestamptz      NOT NULL DEFAULT app.now(),
    CONSTRAINT workflow_version_pkey PRIMARY KEY (slug, revision),
    CONSTRAINT workflow_version_number_once UNIQUE (revision),
    CONSTRAINT workflow_version_revision_positive CHECK (revision > 0),
    CONSTRAINT workflow_version_slug_formed
        CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND char_length(slug) <= 200),
    CONSTRAINT workflow_version_id_formed
        CHECK (workflow_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND char_length(workflow_id) <= 200),
    CONSTRAINT workflow_version_contract_known
        CHECK (contract_status IN ('draft_unverified', 'contract_locked_not_executable', 'verified')),
    CONSTRAINT workflow_version_binding_known
        CHECK (binding_status IN ('unavailable', 'contract_only_not_executable', 'verified')),
    CONSTRAINT workflow_version_verified_under_verified
        CHECK (binding_status <> 'verified' OR contract_status = 'verified'),
    CONSTRAINT workflow_version_digest_is_sha256 CHECK (octet_length(semantic_digest) = 32),
    CONSTRAINT workflow_version_record_bounded CHECK (octet_length(record::text) <= 262144),
    CONSTRAINT workflow_version_record_agrees CHECK (
        record ->> 'slug' = slug
        AND record ->> 'workflow_id' = workflow_id
        AND record ->> 'contract_status' = contract_status
        AND record #>> '{runtime_binding,status}' = binding_status
        AND record ->> 'schema_version' = 'gateway.workflow.v1')
);
CREATE INDEX workflow_version_by_id ON app.workflow_version (workflow_id);

CREATE TRIGGER workflow_version_is_append_only BEFORE UPDATE OR DELETE ON app.workflow_version
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a version of a workflow is never changed; write another one');

GRANT SELECT ON app.workflow_version TO trunkline_data, trunkline_console;
GRANT INSERT (slug, revision, workflow_id, contract_status, binding_status, semantic_digest, record)
    ON app.workflow_version TO trunkline_console;

-- What `trunkline audit` asks, now of this table too. The comment on the view stays.
CREATE OR REPLACE VIEW app.audit_revision_never_issued AS
SELECT c.topic, c.id, c.revision, COALESCE(r.value, 0) AS given
FROM (SELECT 'accounts' AS topic, a.id, a.revision FROM app.account AS a
      UNION ALL SELECT 'keys', k.id, k.revision FROM app.api_key AS k
      UNION ALL SELECT 'channels', h.id, h.revision FROM app.channel AS h
      UNION ALL SELECT 'channels', s.id, s.revision FROM app.channel_credential AS s
      UNION ALL SELECT 'catalog', g.revision, g.revision FROM app.catalog_change AS g
      UNION ALL SELECT 'catalog', f.revision, f.revision FROM app.catalog_header AS f
      UNION ALL SELECT 'catalog', m.revision, m.revision FROM app.catalog_model AS m
      UNION ALL SELECT 'workflows', w.revision, w.revision FROM app.workflow_version AS w) AS c
LEFT JOIN app.revision AS r ON r.topic = c.topic
WHERE c.revision > COALESCE(r.value, 0);

-- Who the customers are and which keys they hold. The money of the same accounts lives in the ledger;
-- here is everything else a node must know to let a caller in: whose key it is, what it may be used
-- for, in which group it is priced. A key's row carries its whole policy, its parents' narrowings
-- included, so that one row is enough to answer a caller. Only its budgets are elsewhere: they are
-- counted where the money is.
--
-- Nodes keep both tables in memory and follow `revision > what I have seen`, so no change may go
-- without a new number. The numbers are the topics 'accounts' and 'keys' of app.revision; the triggers
-- below refuse an update that forgot to take one.
--
-- No key is in here. There is the SHA-256 of it, which finds the row and cannot be turned back (a key
-- has 256 random bits, so there is nothing to guess and no salt to add), and what lists show of it.
--
-- The bounds in the checks are constants in crates/store/src/validation.rs; a test holds the two together.

-- Every word is there and none is too long.
CREATE FUNCTION app.is_list_of_words(words text[], fewest integer, most integer, longest integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN cardinality(words) BETWEEN fewest AND most
        AND (SELECT COALESCE(bool_and(COALESCE(char_length(w.word) BETWEEN 1 AND longest, false)), true)
             FROM unnest(words) AS w (word));
GRANT EXECUTE ON FUNCTION app.is_list_of_words(text[], integer, integer, integer)
    TO trunkline_data, trunkline_console;

-- The same customer as in the ledger, under the same number. `group_name` is the view of the price
-- book that applies to it; its keys may name one of `allowed_groups` instead. 'auto' is not a group
-- but a way to choose one, so no account is in it.
CREATE TABLE app.account (
    id             bigint      NOT NULL,
    name           text        NOT NULL,
    group_name     text        NOT NULL DEFAULT 'default',
    allowed_groups text[]      NOT NULL DEFAULT '{}',
    shard          smallint    NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT app.now(),
    closed_at      timestamptz,
    revision       bigint      NOT NULL,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_has_a_ledger FOREIGN KEY (id) REFERENCES ledger.account (id),
    CONSTRAINT account_name_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT account_group_bounded CHECK (char_length(group_name) BETWEEN 1 AND 128),
    CONSTRAINT account_group_is_a_group CHECK (group_name <> 'auto' AND NOT 'auto' = ANY (allowed_groups)),
    CONSTRAINT account_allowed_groups_bounded CHECK (app.is_list_of_words(allowed_groups, 0, 200, 128)),
    CONSTRAINT account_shard CHECK (shard BETWEEN 0 AND 3843),
    CONSTRAINT account_revision_positive CHECK (revision > 0)
);
CREATE INDEX account_by_revision ON app.account (revision, id);

-- A list that is null allows everything; a list that is there allows its words and nothing else. An
-- empty list is refused: a key that may do nothing is a key to disable, and an empty list read as "no
-- limits" by somebody's code would be the worst mistake to make with it. Limits that are null are the
-- operator's defaults. `fit_to_balance` null means: on while the call is paid by trial money.
--
-- `revoked_at` is for good. `disabled_at` can be taken back.
CREATE TABLE app.api_key (
    id                  bigint      GENERATED ALWAYS AS IDENTITY,
    account_id          bigint      NOT NULL,
    parent_id           bigint,
    name                text        NOT NULL,
    key_hash            bytea       NOT NULL,
    hint                text        NOT NULL,
    group_name          text,
    models              text[],
    endpoints           text[],
    platforms           text[],
    addresses           cidr[],
    regions             text[],
    requests_per_minute bigint,
    tokens_per_minute   bigint,
    concurrent_calls    bigint,
    strict              boolean     NOT NULL DEFAULT false,
    fit_to_balance      boolean,
    zero_retention      boolean     NOT NULL DEFAULT false,
    expires_at          timestamptz,
    revoked_at          timestamptz,
    disabled_at         timestamptz,
    created_at          timestamptz NOT NULL DEFAULT app.now(),
    revision            bigint      NOT NULL,
    CONSTRAINT api_key_pkey PRIMARY KEY (id),
    CONSTRAINT api_key_of_account UNIQUE (account_id, id),
    CONSTRAINT api_key_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    -- Both columns, so that a parent is always a key of the same account.
    CONSTRAINT api_key_parent_of_same_account FOREIGN KEY (account_id, parent_id)
        REFERENCES app.api_key (account_id, id),
    CONSTRAINT api_key_not_its_own_parent CHECK (parent_id <> id),
    CONSTRAINT api_key_hash_once UNIQUE (key_hash),
    CONSTRAINT api_key_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
    -- The prefix with its shard, an ellipsis, four characters; a whole key does not fit.
    CONSTRAINT api_key_hint_bounded CHECK (char_length(hint) BETWEEN 1 AND 16),
    CONSTRAINT api_key_name_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT api_key_group_bounded CHECK (char_length(group_name) BETWEEN 1 AND 128),
    CONSTRAINT api_key_models_bounded CHECK (app.is_list_of_words(models, 1, 200, 128)),
    CONSTRAINT api_key_endpoints_bounded CHECK (app.is_list_of_words(endpoints, 1, 200, 128)),
    CONSTRAINT api_key_platforms_bounded CHECK (app.is_list_of_words(platforms, 1, 200, 128)),
    CONSTRAINT api_key_regions_bounded CHECK (app.is_list_of_words(regions, 1, 200, 128)),
    CONSTRAINT api_key_addresses_bounded CHECK (
        cardinality(addresses) BETWEEN 1 AND 200 AND array_position(addresses, NULL) IS NULL),
    CONSTRAINT api_key_requests_bounded CHECK (requests_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT api_key_tokens_bounded CHECK (tokens_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT api_key_concurrent_bounded CHECK (concurrent_calls BETWEEN 1 AND 1000000000000),
    CONSTRAINT api_key_expires_after_birth CHECK (expires_at > created_at),
    CONSTRAINT api_key_revision_positive CHECK (revision > 0)
);
CREATE INDEX api_key_by_revision ON app.api_key (revision, id);

CREATE TRIGGER account_takes_a_number BEFORE UPDATE ON app.account
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic accounts, or no node sees it');
CREATE TRIGGER api_key_takes_a_number BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic keys, or no node sees it');
CREATE TRIGGER api_key_is_revoked_for_good BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION ledger.refuse_change('a revoked key stays revoked');

-- Who may do what. The data plane reads. The console makes rows and changes what may change; whose a
-- key is, its hash and its hint never do. Nobody deletes: a usage row must find its key for ever.
GRANT SELECT ON app.account, app.api_key TO trunkline_data, trunkline_console;
GRANT INSERT ON app.account, app.api_key TO trunkline_console;
GRANT UPDATE (name, group_name, allowed_groups, closed_at, revision) ON app.account TO trunkline_console;
GRANT UPDATE (name, group_name, models, endpoints, platforms, addresses, regions, requests_per_minute,
    tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, expires_at, revoked_at,
    disabled_at, revision) ON app.api_key TO trunkline_console;

-- What `trunkline audit` asks of these tables.
CREATE VIEW app.audit_key_is_not_its_spender AS
SELECT k.id AS key_id, k.account_id, k.parent_id, s.account_id AS spender_account_id, s.chain
FROM app.api_key AS k
LEFT JOIN ledger.spender AS s ON s.key_id = k.id
LEFT JOIN ledger.spender AS p ON p.key_id = k.parent_id
WHERE s.key_id IS NULL OR s.account_id <> k.account_id
    OR s.chain <> k.id || COALESCE(p.chain, '{}')
    OR (k.parent_id IS NOT NULL AND p.key_id IS NULL);
COMMENT ON VIEW app.audit_key_is_not_its_spender IS
    'the ledger knows every key under the same account and the same parents, or budgets of parents are not counted';

CREATE VIEW app.audit_key_outlives_its_parent AS
SELECT k.id AS key_id, k.account_id, k.parent_id, p.revoked_at AS parent_revoked_at
FROM app.api_key AS k
JOIN app.api_key AS p ON p.id = k.parent_id
WHERE p.revoked_at IS NOT NULL AND k.revoked_at IS NULL;
COMMENT ON VIEW app.audit_key_outlives_its_parent IS 'a revoked key has taken the keys below it along';

CREATE VIEW app.audit_revision_never_issued AS
SELECT c.topic, c.id, c.revision, COALESCE(r.value, 0) AS given
FROM (SELECT 'accounts' AS topic, a.id, a.revision FROM app.account AS a
      UNION ALL SELECT 'keys', k.id, k.revision FROM app.api_key AS k) AS c
LEFT JOIN app.revision AS r ON r.topic = c.topic
WHERE c.revision > COALESCE(r.value, 0);
COMMENT ON VIEW app.audit_revision_never_issued IS
    'no row has a revision that its topic has not issued, or nodes that follow the revisions miss changes';

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

-- The same customer as in the ledger, under the same number. `group_name` is the view of the price
-- book that applies to it; its keys may name one of `allowed_groups` instead. 'auto' is not a group
-- but a way to choose one, so no account is in it.
CREATE TABLE app.account (
    id                      bigint      NOT NULL,
    name                    text        NOT NULL,
    group_name              text        NOT NULL DEFAULT 'default',
    allowed_groups          text[]      NOT NULL DEFAULT '{}',
    shard                   smallint    NOT NULL,
    created_at              timestamptz NOT NULL DEFAULT app.now(),
    closed_at               timestamptz,
    revision                bigint      NOT NULL,
    -- A copy of the ledger's; see below.
    topped_up_at            timestamptz,
    -- The account's own names for models. A real model of the same name always wins.
    aliases                 jsonb       NOT NULL DEFAULT '{}',
    -- Null is "no limit of this kind here"; see app.rate_limit.
    requests_per_minute     bigint,
    tokens_per_minute       bigint,
    concurrent_calls        bigint,
    -- A suspended account keeps its money, its keys and its people, and its keys are refused until it is resumed.
    suspended_at            timestamptz,
    -- Which routes the account is served by, as app.api_key has it for a key: a key's own setting wins where it
    -- orders, and narrows where it demands.
    policy                  text,
    max_input_nanos         bigint,
    max_output_nanos        bigint,
    max_unit_nanos          bigint,
    residencies             text[],
    upstream_zero_retention boolean     NOT NULL DEFAULT false,
    -- An account that is closed can be erased: names and addresses of people go at once, prompts and files by a job
    -- of the data plane.
    erasing_since           timestamptz,
    erased_at               timestamptz,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_has_a_ledger FOREIGN KEY (id) REFERENCES ledger.account (id),
    CONSTRAINT account_name_bounded CHECK (char_length(name) BETWEEN 1 AND 100),
    CONSTRAINT account_group_bounded CHECK (char_length(group_name) BETWEEN 1 AND 128),
    CONSTRAINT account_group_is_a_group CHECK (group_name <> 'auto' AND NOT 'auto' = ANY (allowed_groups)),
    CONSTRAINT account_allowed_groups_bounded CHECK (app.is_list_of_words(allowed_groups, 0, 200, 128)),
    CONSTRAINT account_shard CHECK (shard BETWEEN 0 AND 3843),
    CONSTRAINT account_revision_positive CHECK (revision > 0),
    CONSTRAINT account_aliases_bounded CHECK (app.is_map_of_texts(aliases, 0, 200, 128, 128)),
    CONSTRAINT account_requests_bounded CHECK (requests_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT account_tokens_bounded CHECK (tokens_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT account_concurrent_bounded CHECK (concurrent_calls BETWEEN 1 AND 1000000000000),
    CONSTRAINT account_policy_known CHECK (policy IN ('priority', 'cheapest', 'fastest')),
    CONSTRAINT account_max_input_bounded CHECK (max_input_nanos BETWEEN 0 AND 1000000000000000),
    CONSTRAINT account_max_output_bounded CHECK (max_output_nanos BETWEEN 0 AND 1000000000000000),
    CONSTRAINT account_max_unit_bounded CHECK (max_unit_nanos BETWEEN 0 AND 1000000000000000),
    CONSTRAINT account_residencies_bounded CHECK (app.is_list_of_words(residencies, 1, 200, 128))
);
CREATE INDEX account_by_revision ON app.account (revision, id);
CREATE INDEX account_to_erase ON app.account (id) WHERE erasing_since IS NOT NULL AND erased_at IS NULL;

-- A list that is null allows everything; a list that is there allows its words and nothing else. An
-- empty list is refused: a key that may do nothing is a key to disable, and an empty list read as "no
-- limits" by somebody's code would be the worst mistake to make with it. Limits that are null are the
-- operator's defaults. `fit_to_balance` null means: on while the call is paid by trial money.
--
-- `revoked_at` is for good. `disabled_at` can be taken back. A disabled or expired key stops the keys below it
-- while that lasts. Nothing is written for that: nodes look up the line of parents when a key comes. A key that is
-- deleted is a revoked key that lists do not show; the row stays, because usage names it for ever.
--
-- A key that is rotated keeps its row (its number, its budgets, its usage) and gets another secret. The
-- hash of the previous secret stays beside the new one and is accepted until `previous_until`; a further
-- rotation writes over it, so a key has two secrets at most.
CREATE TABLE app.api_key (
    id                      bigint      GENERATED ALWAYS AS IDENTITY,
    account_id              bigint      NOT NULL,
    parent_id               bigint,
    name                    text        NOT NULL,
    key_hash                bytea       NOT NULL,
    hint                    text        NOT NULL,
    group_name              text,
    models                  text[],
    endpoints               text[],
    platforms               text[],
    addresses               cidr[],
    regions                 text[],
    requests_per_minute     bigint,
    tokens_per_minute       bigint,
    concurrent_calls        bigint,
    strict                  boolean     NOT NULL DEFAULT false,
    fit_to_balance          boolean,
    zero_retention          boolean     NOT NULL DEFAULT false,
    expires_at              timestamptz,
    revoked_at              timestamptz,
    disabled_at             timestamptz,
    created_at              timestamptz NOT NULL DEFAULT app.now(),
    revision                bigint      NOT NULL,
    previous_hash           bytea,
    previous_until          timestamptz,
    deleted_at              timestamptz,
    -- What becomes of a stream whose client leaves. Null means `cancel`.
    on_disconnect           text,
    -- Which routes the key is served by: their order, the highest price it pays, and attributes that it demands.
    -- Prices are nano-USD, of a million tokens and of one unit. Null is no demand.
    policy                  text,
    max_input_nanos         bigint,
    max_output_nanos        bigint,
    max_unit_nanos          bigint,
    residencies             text[],
    upstream_zero_retention boolean     NOT NULL DEFAULT false,
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
    CONSTRAINT api_key_revision_positive CHECK (revision > 0),
    CONSTRAINT api_key_previous_is_sha256 CHECK (octet_length(previous_hash) = 32),
    CONSTRAINT api_key_previous_is_whole CHECK ((previous_hash IS NULL) = (previous_until IS NULL)),
    CONSTRAINT api_key_previous_is_another CHECK (previous_hash <> key_hash),
    CONSTRAINT api_key_deleted_is_revoked CHECK (deleted_at IS NULL OR revoked_at IS NOT NULL),
    CONSTRAINT api_key_on_disconnect CHECK (on_disconnect IN ('cancel', 'finish')),
    CONSTRAINT api_key_policy_known CHECK (policy IN ('priority', 'cheapest', 'fastest')),
    CONSTRAINT api_key_max_input_bounded CHECK (max_input_nanos BETWEEN 0 AND 1000000000000000),
    CONSTRAINT api_key_max_output_bounded CHECK (max_output_nanos BETWEEN 0 AND 1000000000000000),
    CONSTRAINT api_key_max_unit_bounded CHECK (max_unit_nanos BETWEEN 0 AND 1000000000000000),
    CONSTRAINT api_key_residencies_bounded CHECK (app.is_list_of_words(residencies, 1, 200, 128))
);
CREATE INDEX api_key_by_revision ON app.api_key (revision, id);
-- Listing or revoking descendants walks down from the key.
CREATE INDEX api_key_by_parent ON app.api_key (account_id, parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TRIGGER account_takes_a_number BEFORE UPDATE ON app.account
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic accounts, or no node sees it');
CREATE TRIGGER api_key_takes_a_number BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic keys, or no node sees it');
CREATE TRIGGER api_key_is_revoked_for_good BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION ledger.refuse_change('a revoked key stays revoked');
CREATE TRIGGER api_key_is_deleted_for_good BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS DISTINCT FROM OLD.deleted_at)
    EXECUTE FUNCTION ledger.refuse_change('a deleted key stays deleted');
CREATE TRIGGER api_key_is_rotated_with_a_trace BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (NEW.key_hash <> OLD.key_hash
        AND (NEW.previous_hash IS DISTINCT FROM OLD.key_hash OR OLD.revoked_at IS NOT NULL))
    EXECUTE FUNCTION ledger.refuse_change('a new secret keeps the hash of the one before it, and a revoked key gets none');

-- Who may do what. The console makes rows and changes what may change; whose a key is and its parent never do, and a
-- new secret leaves a trace. Nobody deletes: a usage row must find its key for ever.
--
-- Keys make keys through the data plane, so it may write here too, by column: never whose a key is, its parent or its
-- policy once it is made. What a stolen login of the data plane could do: give an existing key another secret, which
-- leaves the old hash as a trace, and make a key below an existing one. A key without a parent it cannot make,
-- whatever role it says it has; so whatever it makes spends under the budgets of a key that was there,
-- is listed below it and goes when that is revoked. A budget it can add and neither raise nor remove; no key's highest
-- price can it lift. It cannot revive what is revoked or deleted.
GRANT SELECT ON app.account, app.api_key TO trunkline_data, trunkline_console;
GRANT INSERT ON app.account, app.api_key TO trunkline_console;
GRANT UPDATE (name, group_name, allowed_groups, closed_at, revision, aliases, requests_per_minute, tokens_per_minute,
    concurrent_calls, suspended_at, policy, max_input_nanos, max_output_nanos, max_unit_nanos, residencies,
    upstream_zero_retention, erasing_since) ON app.account TO trunkline_console;
GRANT UPDATE (aliases, revision, erased_at) ON app.account TO trunkline_data;
GRANT UPDATE (name, key_hash, hint, group_name, models, endpoints, platforms, addresses, regions, requests_per_minute,
    tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, expires_at, revoked_at, disabled_at,
    revision, previous_hash, previous_until, deleted_at, policy, max_input_nanos, max_output_nanos, max_unit_nanos)
    ON app.api_key TO trunkline_console;
GRANT INSERT (account_id, parent_id, name, key_hash, hint, group_name, models, endpoints, platforms, addresses, regions,
    requests_per_minute, tokens_per_minute, concurrent_calls, strict, fit_to_balance, zero_retention, expires_at,
    revision, on_disconnect, policy, max_input_nanos, max_output_nanos, max_unit_nanos, residencies,
    upstream_zero_retention) ON app.api_key TO trunkline_data;
GRANT UPDATE (name, key_hash, hint, previous_hash, previous_until, expires_at, disabled_at, revoked_at,
    deleted_at, revision) ON app.api_key TO trunkline_data;

-- Asked is what the current user may, not what it is called: who steals a login need not set the role.
CREATE TRIGGER api_key_of_a_node_has_a_parent BEFORE INSERT ON app.api_key
    FOR EACH ROW WHEN (NEW.parent_id IS NULL
        AND NOT pg_catalog.pg_has_role(current_user, 'trunkline_console', 'USAGE')
        AND NOT pg_catalog.pg_has_role(current_user, 'trunkline_owner', 'USAGE'))
    EXECUTE FUNCTION ledger.refuse_change('the data plane makes keys below keys, and no others');

-- Prices may differ for customers who have paid in once, and a node must know that before it asks for
-- money. The ledger writes the moment; this copies it to where nodes look, with a number of its own topic.
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

CREATE VIEW app.audit_secret_opens_two_keys AS
SELECT k.id AS key_id, k.account_id, o.id AS other_key_id, o.account_id AS other_account_id
FROM app.api_key AS k
JOIN app.api_key AS o ON o.previous_hash = k.key_hash
WHERE o.id <> k.id;
COMMENT ON VIEW app.audit_secret_opens_two_keys IS
    'one secret belongs to one key, or a caller is taken for another';

CREATE VIEW app.audit_key_is_shown_below_a_deleted_one AS
SELECT k.id AS key_id, k.account_id, k.parent_id, p.deleted_at AS parent_deleted_at
FROM app.api_key AS k
JOIN app.api_key AS p ON p.id = k.parent_id
WHERE p.deleted_at IS NOT NULL AND k.deleted_at IS NULL;
COMMENT ON VIEW app.audit_key_is_shown_below_a_deleted_one IS
    'a deleted key has taken the keys below it along';

-- How much of what in a minute, and how many calls at once. The counters themselves are not here: they
-- may be forgotten, so they live in Redis or in a node's memory (docs/operate/rate-limiting.md). Here is what they may
-- reach. A key's own limits are part of its policy, in app.api_key; an account's are in app.account; a channel's
-- are in app.channel; here are those of an account with one model or one platform of social data.
--
-- Null is "no limit of this kind here". Nothing in this table moves money.
--
-- A row without an account is for every account that has no row of its own for the same name; each account
-- is counted by itself all the same. Readers keep the whole table and read it again when the number of the
-- topic 'limits' has changed, so a row may go, and every change takes a number.
CREATE TABLE app.rate_limit (
    id                  bigint      GENERATED ALWAYS AS IDENTITY,
    account_id          bigint,
    scope               text        NOT NULL,
    name                text        NOT NULL,
    requests_per_minute bigint,
    tokens_per_minute   bigint,
    concurrent_calls    bigint,
    created_at          timestamptz NOT NULL DEFAULT app.now(),
    revision            bigint      NOT NULL,
    CONSTRAINT rate_limit_pkey PRIMARY KEY (id),
    CONSTRAINT rate_limit_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT rate_limit_once UNIQUE NULLS NOT DISTINCT (account_id, scope, name),
    CONSTRAINT rate_limit_scope_known CHECK (scope IN ('model', 'platform')),
    CONSTRAINT rate_limit_name_bounded CHECK (char_length(name) BETWEEN 1 AND 128),
    CONSTRAINT rate_limit_requests_bounded CHECK (requests_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT rate_limit_tokens_bounded CHECK (tokens_per_minute BETWEEN 1 AND 1000000000000),
    CONSTRAINT rate_limit_concurrent_bounded CHECK (concurrent_calls BETWEEN 1 AND 1000000000000),
    -- A row that limits nothing is a mistake of whoever wrote it.
    CONSTRAINT rate_limit_limits_something CHECK (
        COALESCE(requests_per_minute, tokens_per_minute, concurrent_calls) IS NOT NULL),
    CONSTRAINT rate_limit_revision_positive CHECK (revision > 0)
);
CREATE TRIGGER rate_limit_takes_a_number BEFORE UPDATE ON app.rate_limit
    FOR EACH ROW WHEN (NEW.revision <= OLD.revision)
    EXECUTE FUNCTION ledger.refuse_change('a change takes the next number of the topic limits, or no node sees it');

-- Who may do what. The data plane reads; whose a limit is and what it is for never change.
GRANT SELECT ON app.rate_limit TO trunkline_data, trunkline_console;
GRANT INSERT, DELETE ON app.rate_limit TO trunkline_console;
GRANT UPDATE (requests_per_minute, tokens_per_minute, concurrent_calls, revision)
    ON app.rate_limit TO trunkline_console;

CREATE VIEW app.audit_limit_revision_never_issued AS
SELECT l.id, l.account_id, l.scope, l.name, l.revision, COALESCE(r.value, 0) AS given
FROM app.rate_limit AS l
LEFT JOIN app.revision AS r ON r.topic = 'limits'
WHERE l.revision > COALESCE(r.value, 0);
COMMENT ON VIEW app.audit_limit_revision_never_issued IS
    'no limit has a revision that its topic has not issued, or nodes that follow the revisions miss changes';

-- Accounts that came from another gateway, by the number that each user had there. A second import finds them
-- here and leaves them and their money alone. The balance is what was booked, for a later comparison.
CREATE TABLE app.imported_account (
    source        text        NOT NULL,
    external_id   text        NOT NULL,
    account_id    bigint      NOT NULL,
    balance_nanos bigint      NOT NULL,
    imported_at   timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT imported_account_pkey PRIMARY KEY (source, external_id),
    CONSTRAINT imported_account_has_an_account FOREIGN KEY (account_id) REFERENCES app.account (id),
    CONSTRAINT imported_account_once UNIQUE (account_id),
    CONSTRAINT imported_account_source_bounded CHECK (char_length(source) BETWEEN 1 AND 64),
    CONSTRAINT imported_account_id_bounded CHECK (char_length(external_id) BETWEEN 1 AND 64),
    CONSTRAINT imported_account_balance_not_negative CHECK (balance_nanos >= 0)
);
GRANT SELECT, INSERT ON app.imported_account TO trunkline_console;

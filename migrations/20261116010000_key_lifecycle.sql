-- Lifecycle of a key beyond "created" and "revoked", keys that create keys, and an account's aliases for
-- models.
--
-- A key that is rotated keeps its row (its number, its budgets, its usage) and gets another secret. The
-- hash of the previous secret stays beside the new one and is accepted until `previous_until`; a further
-- rotation writes over it, so a key has two secrets at most. A key that is deleted is a revoked key that
-- lists do not show; the row stays, because usage names it for ever.
--
-- A disabled or expired key stops the keys below it while that lasts. Nothing is written for that: nodes
-- look up the line of parents when a key comes.

ALTER TABLE app.api_key
    ADD COLUMN previous_hash  bytea,
    ADD COLUMN previous_until timestamptz,
    ADD COLUMN deleted_at     timestamptz,
    ADD CONSTRAINT api_key_previous_is_sha256 CHECK (octet_length(previous_hash) = 32),
    ADD CONSTRAINT api_key_previous_is_whole CHECK ((previous_hash IS NULL) = (previous_until IS NULL)),
    ADD CONSTRAINT api_key_previous_is_another CHECK (previous_hash <> key_hash),
    ADD CONSTRAINT api_key_deleted_is_revoked CHECK (deleted_at IS NULL OR revoked_at IS NOT NULL);
-- Listing or revoking descendants walks down from the key.
CREATE INDEX api_key_by_parent ON app.api_key (account_id, parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TRIGGER api_key_is_rotated_with_a_trace BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (NEW.key_hash <> OLD.key_hash
        AND (NEW.previous_hash IS DISTINCT FROM OLD.key_hash OR OLD.revoked_at IS NOT NULL))
    EXECUTE FUNCTION ledger.refuse_change('a new secret keeps the hash of the one before it, and a revoked key gets none');
CREATE TRIGGER api_key_is_deleted_for_good BEFORE UPDATE ON app.api_key
    FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS DISTINCT FROM OLD.deleted_at)
    EXECUTE FUNCTION ledger.refuse_change('a deleted key stays deleted');

-- An account's own names for models. A real model of the same name always wins.
ALTER TABLE app.account
    ADD COLUMN aliases jsonb NOT NULL DEFAULT '{}',
    ADD CONSTRAINT account_aliases_bounded CHECK (app.is_map_of_texts(aliases, 0, 200, 128, 128));
-- What a task was asked for as, where that was an alias.
ALTER TABLE app.video_task
    ADD COLUMN requested_model text,
    ADD CONSTRAINT video_task_requested_model_bounded CHECK (char_length(requested_model) BETWEEN 1 AND 128);

-- Who may do what. Keys make keys through the data plane, so it may write here too, by column: never
-- whose a key is, its parent or its policy once it is made.
--
-- What a stolen login of the data plane could do: give an existing key another secret, which leaves the
-- old hash as a trace, and make a key below an existing one. A key without a parent it cannot make,
-- whatever role it says it has; so whatever it makes spends under the budgets of a key that was there,
-- is listed below it and goes when that is revoked. A budget it can add and neither raise nor remove.
-- It cannot revive what is revoked or deleted.
GRANT INSERT (account_id, parent_id, name, key_hash, hint, group_name, models, endpoints, platforms,
    addresses, regions, requests_per_minute, tokens_per_minute, concurrent_calls, strict, fit_to_balance,
    zero_retention, expires_at, revision) ON app.api_key TO trunkline_data;
GRANT UPDATE (name, key_hash, hint, previous_hash, previous_until, expires_at, disabled_at, revoked_at,
    deleted_at, revision) ON app.api_key TO trunkline_data;
GRANT UPDATE (key_hash, hint, previous_hash, previous_until, deleted_at) ON app.api_key TO trunkline_console;
GRANT UPDATE (aliases, revision) ON app.account TO trunkline_data;
GRANT UPDATE (aliases) ON app.account TO trunkline_console;
GRANT INSERT (key_id, account_id, chain) ON ledger.spender TO trunkline_data;
GRANT INSERT (account_id, key_id, period, limit_nanos) ON ledger.budget TO trunkline_data;

-- Asked is what the current user may, not what it is called: who steals a login need not set the role.
CREATE TRIGGER api_key_of_a_node_has_a_parent BEFORE INSERT ON app.api_key
    FOR EACH ROW WHEN (NEW.parent_id IS NULL
        AND NOT pg_catalog.pg_has_role(current_user, 'trunkline_console', 'USAGE')
        AND NOT pg_catalog.pg_has_role(current_user, 'trunkline_owner', 'USAGE'))
    EXECUTE FUNCTION ledger.refuse_change('the data plane makes keys below keys, and no others');

-- What `trunkline audit` asks.
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

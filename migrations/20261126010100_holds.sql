-- Money promised to a call. Holds of tasks and connections live for hours and are rows of ledger.hold. Holds of
-- requests are packed (docs/adr/0055-packed-request-holds.md): all reservations of one batch are one row of arrays,
-- and a batch of reservations, extensions, settlements and voids is one call of one function, ledger.apply_<day>, in
-- one round trip. A packed hold is named by its epoch, lane, sequence and position; it is open while it is in
-- ledger.hold_batch and neither a usage row nor ledger.hold_release names it, and no row of ledger.hold took it over:
-- requests that run for long are moved there.
--
-- Nothing here trusts its caller: what a hold has comes from its batch row and its extensions, what is free from
-- the locked account and budget periods, the time from the database's clock.

-- A hold of its own row. Open until exactly one of settled or voided; then never touched again.
-- It says who owns it: a request dies with its node, a connection too, a task outlives both.
CREATE TABLE ledger.hold (
    request_id    uuid          NOT NULL,
    account_id    bigint        NOT NULL,
    key_id        bigint,
    owner         text          NOT NULL,
    owner_id      uuid          NOT NULL,
    node          text          NOT NULL,
    epoch         bigint        NOT NULL,
    paid          bigint        NOT NULL,
    trial         bigint        NOT NULL,
    budget_ids    bigint[]      NOT NULL,
    budget_starts timestamptz[] NOT NULL,
    capacity      text,
    capacity_day  date,
    model         text          NOT NULL,
    endpoint      text          NOT NULL,
    group_name    text          NOT NULL,
    price_version bytea         NOT NULL,
    idempotency   text,
    deadline      timestamptz   NOT NULL,
    state         text          NOT NULL DEFAULT 'open',
    opened_at     timestamptz   NOT NULL,
    resolved_at   timestamptz,
    CONSTRAINT hold_pkey PRIMARY KEY (request_id),
    CONSTRAINT hold_owner CHECK (owner IN ('request', 'task', 'connection')),
    CONSTRAINT hold_legs_not_negative CHECK (paid >= 0 AND trial >= 0),
    CONSTRAINT hold_state CHECK (state IN ('open', 'settled', 'voided')),
    CONSTRAINT hold_resolved_has_time CHECK ((state = 'open') = (resolved_at IS NULL)),
    CONSTRAINT hold_budgets_paired CHECK (cardinality(budget_ids) = cardinality(budget_starts)),
    CONSTRAINT hold_capacity_paired CHECK ((capacity IS NULL) = (capacity_day IS NULL)),
    CONSTRAINT hold_price_version_is_sha256 CHECK (octet_length(price_version) = 32)
) PARTITION BY RANGE (request_id);
-- The open ones, which are few. One index for both queries of open holds, a node's next epoch and the sweeper: it
-- holds nothing but what is open, so the sweeper may read it whole, and each call pays for one entry instead of two.
CREATE INDEX hold_open ON ledger.hold (node, epoch, deadline) WHERE state = 'open';
-- AFTER, because a BEFORE trigger locks each row first and writes that to the log, for nothing: the
-- statement fails either way.
CREATE TRIGGER hold_resolves_once AFTER UPDATE ON ledger.hold
    FOR EACH ROW WHEN (OLD.state <> 'open')
    EXECUTE FUNCTION ledger.refuse_change('a hold resolves once');

-- What a call is made under, by a number: there are few, and each hold would repeat four texts.
CREATE TABLE ledger.call_terms (
    id            integer GENERATED ALWAYS AS IDENTITY,
    model         text    NOT NULL,
    endpoint      text    NOT NULL,
    group_name    text    NOT NULL,
    price_version bytea   NOT NULL,
    CONSTRAINT call_terms_pkey PRIMARY KEY (id),
    CONSTRAINT call_terms_once UNIQUE (model, endpoint, group_name, price_version),
    CONSTRAINT call_terms_price_version_is_sha256 CHECK (octet_length(price_version) = 32)
);
CREATE TRIGGER call_terms_are_append_only BEFORE UPDATE OR DELETE ON ledger.call_terms
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('the terms of calls that were made are never changed');

-- One batch. Written by every batch, also by one without reservations: after a lost answer the batch is repeated
-- under its sequence, and the row says that it was applied and what was answered. `members` is a hash of the
-- operations: under one sequence there is one batch.
CREATE TABLE ledger.hold_batch (
    day              date          NOT NULL,
    epoch_id         integer       NOT NULL,
    lane             smallint      NOT NULL,
    seq              bigint        NOT NULL,
    members          bigint        NOT NULL,
    opened_at        timestamptz   NOT NULL,
    request_ids      uuid[]        NOT NULL,
    account_ids      bigint[]      NOT NULL,
    key_ids          bigint[]      NOT NULL,
    paid             bigint[]      NOT NULL,
    trial            bigint[]      NOT NULL,
    paid_only        boolean[]     NOT NULL,
    terms_ids        integer[]     NOT NULL,
    lifetimes_ms     integer[]     NOT NULL,
    -- Budgets of all holds in one list, each with the position of its hold; null if no hold has any.
    budget_positions integer[],
    budget_ids       bigint[],
    budget_starts    timestamptz[],
    capacities       text[],
    capacity_day     date,
    idempotency      text[],
    -- Answers that do not follow from the rows: refusals, extensions.
    answers          jsonb,
    CONSTRAINT hold_batch_pkey PRIMARY KEY (epoch_id, lane, seq, day),
    -- That the lists have one length is compared by the audit: a CHECK of it costs a batch of one call a tenth.
    CONSTRAINT hold_batch_legs_not_negative CHECK (0 <= ALL (paid) AND 0 <= ALL (trial))
) PARTITION BY RANGE (day);
ALTER TABLE ledger.hold_batch
    ALTER COLUMN request_ids SET STORAGE EXTERNAL, ALTER COLUMN account_ids SET STORAGE EXTERNAL,
    ALTER COLUMN key_ids SET STORAGE EXTERNAL, ALTER COLUMN paid SET STORAGE EXTERNAL,
    ALTER COLUMN trial SET STORAGE EXTERNAL, ALTER COLUMN paid_only SET STORAGE EXTERNAL,
    ALTER COLUMN terms_ids SET STORAGE EXTERNAL, ALTER COLUMN lifetimes_ms SET STORAGE EXTERNAL;
CREATE TRIGGER hold_batch_is_append_only BEFORE UPDATE OR DELETE ON ledger.hold_batch
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a batch is written once');

-- What a packed hold was raised by, once a batch.
CREATE TABLE ledger.hold_extension (
    day       date        NOT NULL,
    epoch_id  integer     NOT NULL,
    lane      smallint    NOT NULL,
    seq       bigint      NOT NULL,
    position  integer     NOT NULL,
    batch_seq bigint      NOT NULL,
    paid      bigint      NOT NULL,
    trial     bigint      NOT NULL,
    at        timestamptz NOT NULL,
    CONSTRAINT hold_extension_pkey PRIMARY KEY (epoch_id, lane, seq, position, batch_seq, day),
    CONSTRAINT hold_extension_raises CHECK (paid >= 0 AND trial >= 0 AND paid + trial > 0)
) PARTITION BY RANGE (day);
CREATE TRIGGER hold_extension_is_append_only BEFORE UPDATE OR DELETE ON ledger.hold_extension
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('an extension is written once');

-- Holds of an epoch's lane up to this sequence are over or rows of ledger.hold. Recovery reads above it, and a
-- hold at or below it is not settled as a packed one.
CREATE TABLE ledger.hold_watermark (
    epoch_id integer  NOT NULL,
    lane     smallint NOT NULL,
    seq      bigint   NOT NULL,
    CONSTRAINT hold_watermark_pkey PRIMARY KEY (epoch_id, lane)
);

-- Packed holds that ended without a usage row, because their request has the one of another hold. Nodes do not
-- compare the ids that they make, and no two are equal unless a machine was copied while it ran; then the request is
-- charged once, by the hold that ends first, and what the other one holds is free again when that ends.
CREATE TABLE ledger.hold_release (
    day        date        NOT NULL,
    epoch_id   integer     NOT NULL,
    lane       smallint    NOT NULL,
    seq        bigint      NOT NULL,
    position   integer     NOT NULL,
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    paid       bigint      NOT NULL,
    trial      bigint      NOT NULL,
    at         timestamptz NOT NULL,
    CONSTRAINT hold_release_pkey PRIMARY KEY (epoch_id, lane, seq, position),
    CONSTRAINT hold_release_not_negative CHECK (paid >= 0 AND trial >= 0)
);
CREATE INDEX hold_release_of_day ON ledger.hold_release (day);

-- Calls that carry an Idempotency-Key. Written with the hold, freed by a void. For a day the call's response is
-- stored with its key, so that a duplicate request gets the same response and costs nothing.
--
-- The response is written into its row while the call is still `running`, and returned only once the charge
-- has made the row `finished`. So no crash leaves a charge without its response, and no large response is
-- in the transaction in which a thousand other calls settle. A void deletes the row, and the response with
-- it.
--
-- A key that begins with the character U+0001 was generated by the gateway: a client library retries by
-- itself, and its retry must find the first request. No client can send that character in a header. Such a
-- response is stored for two minutes.
CREATE TABLE ledger.idempotency (
    account_id bigint      NOT NULL,
    key        text        NOT NULL,
    body_hash  bytea       NOT NULL,
    request_id uuid        NOT NULL,
    state      text        NOT NULL DEFAULT 'running',
    response   bytea,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT idempotency_pkey PRIMARY KEY (account_id, key),
    CONSTRAINT idempotency_key_bounded CHECK (char_length(key) BETWEEN 1 AND 255),
    CONSTRAINT idempotency_hash_is_sha256 CHECK (octet_length(body_hash) = 32),
    CONSTRAINT idempotency_state CHECK (state IN ('running', 'finished')),
    CONSTRAINT idempotency_response_bounded CHECK (octet_length(response) <= 9000000)
);
-- A sealed response does not compress, so it is stored uncompressed.
ALTER TABLE ledger.idempotency ALTER COLUMN response SET STORAGE EXTERNAL;
-- What is too old is found without reading what is not.
CREATE INDEX idempotency_by_age ON ledger.idempotency (created_at);
CREATE INDEX idempotency_generated_by_age ON ledger.idempotency (created_at) WHERE starts_with(key, E'\x01');
-- The first try of a library that tries again.
CREATE INDEX idempotency_generated_by_body ON ledger.idempotency (account_id, body_hash, created_at)
    WHERE starts_with(key, E'\x01');

GRANT SELECT ON ledger.hold, ledger.call_terms, ledger.hold_batch, ledger.hold_extension, ledger.hold_watermark,
    ledger.hold_release, ledger.idempotency TO trunkline_data, trunkline_console;
GRANT INSERT ON ledger.hold, ledger.call_terms, ledger.hold_batch, ledger.hold_extension, ledger.hold_release
    TO trunkline_data;
GRANT UPDATE (paid, trial, state, resolved_at) ON ledger.hold TO trunkline_data;
GRANT INSERT, UPDATE ON ledger.hold_watermark TO trunkline_data;
GRANT INSERT, UPDATE, DELETE ON ledger.idempotency TO trunkline_data;

-- The ledger. Constraints enforce its invariants: an account cannot spend more than it has, a hold resolves
-- once, a request is charged once, a transfer is never edited. Code above may be wrong; these rows may not.
--
-- Three tables grow with traffic (hold, usage, transfer). They are cut into days by ranges of the request
-- id, which is a UUID v7 and so begins with its time: "one charge per request" is then a primary key, and a
-- lookup by request id opens one partition however many there are.
--
-- Every change of an account first locks that account's row. That lock orders everything else of the
-- account (holds, budgets), so the lock order is: accounts by id, then capacities by name.

-- A customer. Two wallets; what is posted minus what is held is what may be promised. One row, so
-- that a reservation out of both wallets is one update. It is updated all the time and has one index
-- on a column that never changes: with room in the page, updates stay in it.
CREATE TABLE ledger.account (
    id           bigint      GENERATED ALWAYS AS IDENTITY (START WITH 1000),
    kind         text        NOT NULL,
    paid_posted  bigint      NOT NULL DEFAULT 0,
    paid_held    bigint      NOT NULL DEFAULT 0,
    trial_posted bigint      NOT NULL DEFAULT 0,
    trial_held   bigint      NOT NULL DEFAULT 0,
    topped_up_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_kind CHECK (kind IN ('live', 'test')),
    CONSTRAINT account_paid_held_not_negative CHECK (paid_held >= 0),
    CONSTRAINT account_trial_held_not_negative CHECK (trial_held >= 0),
    CONSTRAINT account_paid_covers_holds CHECK (paid_posted - paid_held >= 0),
    CONSTRAINT account_trial_covers_holds CHECK (trial_posted - trial_held >= 0)
) WITH (fillfactor = 50);

-- The parties of a transfer are numbers. A wallet's number is made of its account's: twice the id for the
-- paid wallet, one more for the trial wallet. Negative numbers are ours, listed here. System parties have
-- no balance row: a row that every charge updates would serialise all charges. Their balance is the sum of
-- their transfers, and the audit sums it.
CREATE TABLE ledger.system_party (
    id   bigint NOT NULL,
    name text   NOT NULL,
    CONSTRAINT system_party_pkey PRIMARY KEY (id),
    CONSTRAINT system_party_name_once UNIQUE (name),
    CONSTRAINT system_party_is_negative CHECK (id < 0)
);
INSERT INTO ledger.system_party (id, name) VALUES
    (-1, 'revenue'), (-2, 'payments'), (-3, 'grants'), (-4, 'adjustments');

CREATE FUNCTION ledger.wallet_party(account_id bigint, leg smallint) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN account_id * 2 + leg;

-- Nodes that move money. The epoch grows with each start and distinguishes a process from its predecessors:
-- a batch with an old epoch is refused.
CREATE TABLE ledger.node (
    name         text        NOT NULL,
    epoch        bigint      NOT NULL,
    heartbeat_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT node_pkey PRIMARY KEY (name),
    CONSTRAINT node_name_bounded CHECK (char_length(name) BETWEEN 1 AND 64),
    CONSTRAINT node_epoch_positive CHECK (epoch > 0)
);
CREATE TABLE ledger.node_epoch (
    node       text        NOT NULL,
    epoch      bigint      NOT NULL,
    -- Others' moments are measured by this one, and a transaction that began early may get its lock
    -- late: so this is not when the transaction began but when the row was written, under the lock.
    started_at timestamptz NOT NULL DEFAULT app.now() + (pg_catalog.clock_timestamp() - pg_catalog.now()),
    CONSTRAINT node_epoch_pkey PRIMARY KEY (node, epoch)
);

-- Serialises a node's batches with a change of its epoch. The lock is advisory because a row lock is not
-- fair: shared locks of a row pass a waiting exclusive one for ever.
CREATE FUNCTION ledger.node_lock(name text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN hashtextextended(name, 7166401);
-- Called first in every batch; false means that the epoch ended. VOLATILE, so that the epoch is read after
-- the lock was given, not as it was when the statement began.
CREATE FUNCTION ledger.check_node_epoch(node_name text, node_epoch bigint) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $check$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(ledger.node_lock(node_name));
    RETURN EXISTS (SELECT FROM ledger.node AS n WHERE n.name = node_name AND n.epoch = node_epoch);
END
$check$;
-- Waits until no batch of the node is under way and keeps new ones out. Returns its present epoch.
CREATE FUNCTION ledger.fence_node(node_name text) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $fence$
BEGIN
    PERFORM pg_advisory_xact_lock(ledger.node_lock(node_name));
    RETURN (SELECT n.epoch FROM ledger.node AS n WHERE n.name = node_name);
END
$fence$;

-- Spenders: a key and its ancestors, itself first. The ledger has its own copy so that no caller can omit
-- the budgets of a parent.
CREATE TABLE ledger.spender (
    key_id     bigint      NOT NULL,
    account_id bigint      NOT NULL,
    chain      bigint[]    NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT spender_pkey PRIMARY KEY (key_id),
    CONSTRAINT spender_chain_begins_with_itself CHECK (chain[1] = key_id),
    CONSTRAINT spender_chain_bounded CHECK (cardinality(chain) BETWEEN 1 AND 8)
);

-- Spending limit per period, by an account (key_id null) or a key and all below it.
CREATE TABLE ledger.budget (
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    account_id  bigint      NOT NULL,
    key_id      bigint,
    period      text        NOT NULL,
    timezone    text        NOT NULL DEFAULT 'UTC',
    limit_nanos bigint      NOT NULL,
    -- When the row was written, under the account's lock; see node_epoch.
    created_at  timestamptz NOT NULL DEFAULT app.now() + (pg_catalog.clock_timestamp() - pg_catalog.now()),
    removed_at  timestamptz,
    CONSTRAINT budget_pkey PRIMARY KEY (id),
    CONSTRAINT budget_period CHECK (period IN ('total', 'daily', 'weekly', 'monthly')),
    CONSTRAINT budget_limit_not_negative CHECK (limit_nanos >= 0),
    CONSTRAINT budget_total_has_no_zone CHECK (period <> 'total' OR timezone = 'UTC')
);
CREATE UNIQUE INDEX budget_once ON ledger.budget (account_id, key_id, period) NULLS NOT DISTINCT
    WHERE removed_at IS NULL;

-- One period of one budget. `used` is what open holds and charges take; it can pass neither zero nor `cap`.
-- When a limit is lowered below what is used, `cap` stays at what is used and the limit itself refuses new
-- holds.
CREATE TABLE ledger.budget_period (
    budget_id bigint      NOT NULL,
    starts_at timestamptz NOT NULL,
    ends_at   timestamptz NOT NULL,
    used      bigint      NOT NULL DEFAULT 0,
    cap       bigint      NOT NULL,
    CONSTRAINT budget_period_pkey PRIMARY KEY (budget_id, starts_at),
    CONSTRAINT budget_period_used_not_negative CHECK (used >= 0),
    CONSTRAINT budget_period_within_cap CHECK (used <= cap)
) WITH (fillfactor = 50);

-- The period of an instant, by the calendar of a place. Weeks begin on Monday. Not STRICT: then PostgreSQL
-- could not put the body into the statement that asks.
CREATE FUNCTION ledger.period_start(period text, zone text, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE period
        WHEN 'total' THEN timestamptz '-infinity'
        WHEN 'daily' THEN date_trunc('day', at AT TIME ZONE zone) AT TIME ZONE zone
        WHEN 'weekly' THEN date_trunc('week', at AT TIME ZONE zone) AT TIME ZONE zone
        WHEN 'monthly' THEN date_trunc('month', at AT TIME ZONE zone) AT TIME ZONE zone
    END;
CREATE FUNCTION ledger.period_end(period text, zone text, at timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE period
        WHEN 'total' THEN timestamptz 'infinity'
        WHEN 'daily' THEN (date_trunc('day', at AT TIME ZONE zone) + interval '1 day') AT TIME ZONE zone
        WHEN 'weekly' THEN (date_trunc('week', at AT TIME ZONE zone) + interval '1 week') AT TIME ZONE zone
        WHEN 'monthly' THEN (date_trunc('month', at AT TIME ZONE zone) + interval '1 month') AT TIME ZONE zone
    END;

-- How many calls of something there are in a day (UTC), for all accounts together.
CREATE TABLE ledger.capacity (
    name text   NOT NULL,
    day  date   NOT NULL,
    used bigint NOT NULL DEFAULT 0,
    cap  bigint NOT NULL,
    CONSTRAINT capacity_pkey PRIMARY KEY (name, day),
    CONSTRAINT capacity_used_not_negative CHECK (used >= 0),
    CONSTRAINT capacity_within_cap CHECK (used <= cap)
) WITH (fillfactor = 50);

-- Money promised to a call. Open until exactly one of settled or voided; then never touched again.
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
-- The open ones, which are few: by node for its next epoch or its failure, by deadline for the sweeper. One
-- index for both queries of open holds, a node's next epoch and the sweeper: it holds nothing but what is
-- open, so the sweeper may read it whole, and each call pays for one entry instead of two.
CREATE INDEX hold_open ON ledger.hold (node, epoch, deadline) WHERE state = 'open';

-- The usage row of a call: the anchor of every settlement, also of zero. Written once, never changed.
CREATE TABLE ledger.usage (
    request_id    uuid        NOT NULL,
    account_id    bigint      NOT NULL,
    key_id        bigint,
    node          text        NOT NULL,
    epoch         bigint      NOT NULL,
    model         text        NOT NULL,
    endpoint      text        NOT NULL,
    group_name    text        NOT NULL,
    units         jsonb       NOT NULL,
    measured      jsonb       NOT NULL,
    estimated     boolean     NOT NULL,
    price_version bytea       NOT NULL,
    tier          text,
    paid          bigint      NOT NULL,
    trial         bigint      NOT NULL,
    cost          bigint,
    attempts      jsonb       NOT NULL,
    warnings      text[]      NOT NULL,
    outcome       text        NOT NULL,
    opened_at     timestamptz NOT NULL,
    settled_at    timestamptz NOT NULL,
    CONSTRAINT usage_pkey PRIMARY KEY (request_id),
    CONSTRAINT usage_legs_not_negative CHECK (paid >= 0 AND trial >= 0),
    CONSTRAINT usage_cost_not_negative CHECK (cost >= 0),
    CONSTRAINT usage_outcome CHECK (outcome IN (
        'complete', 'client_gone', 'balance_exhausted', 'accepted',
        'refused', 'upstream_failed', 'upstream_timeout', 'no_result',
        'interrupted', 'expired', 'drained', 'database_away', 'cancelled')),
    CONSTRAINT usage_failure_is_free CHECK (
        paid + trial = 0 OR outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted'))
) PARTITION BY RANGE (request_id);
CREATE INDEX usage_of_account ON ledger.usage (account_id, request_id);

-- Money that moved: from `debit` to `credit`. Rows are only ever added. No foreign keys: checking them
-- would lock rows that every charge needs; the audit finds unknown parties.
CREATE TABLE ledger.transfer (
    request_id uuid        NOT NULL,
    kind       text        NOT NULL,
    leg        smallint    NOT NULL,
    account_id bigint      NOT NULL,
    debit      bigint      NOT NULL,
    credit     bigint      NOT NULL,
    amount     bigint      NOT NULL,
    at         timestamptz NOT NULL,
    CONSTRAINT transfer_pkey PRIMARY KEY (request_id, kind, leg),
    CONSTRAINT transfer_kind CHECK (kind IN (
        'charge', 'refund', 'settlement_adjustment', 'undelivered', 'top_up', 'trial_grant', 'adjust')),
    CONSTRAINT transfer_leg CHECK (leg IN (0, 1)),
    CONSTRAINT transfer_amount_positive CHECK (amount > 0),
    CONSTRAINT transfer_between_two CHECK (debit <> credit)
) PARTITION BY RANGE (request_id);
-- Charges are found through usage; everything else of an account is rare.
CREATE INDEX transfer_of_account ON ledger.transfer (account_id, request_id) WHERE kind <> 'charge';

CREATE FUNCTION ledger.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
AS $refuse$
BEGIN
    RAISE EXCEPTION '% on %.%: %', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'restrict_violation';
END
$refuse$;
CREATE TRIGGER transfer_is_append_only BEFORE UPDATE OR DELETE ON ledger.transfer
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a transfer is never changed; write another one');
CREATE TRIGGER usage_is_append_only BEFORE UPDATE OR DELETE ON ledger.usage
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a usage row is written once');
-- AFTER, because a BEFORE trigger locks each row first and writes that to the log, for nothing: the
-- statement fails either way.
CREATE TRIGGER hold_resolves_once AFTER UPDATE ON ledger.hold
    FOR EACH ROW WHEN (OLD.state <> 'open')
    EXECUTE FUNCTION ledger.refuse_change('a hold resolves once');

-- Calls that carry an Idempotency-Key. Written with the hold, freed by a void.
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
    CONSTRAINT idempotency_state CHECK (state IN ('running', 'finished'))
);

-- A payment is applied once, however often the payment provider reports it.
CREATE TABLE ledger.top_up (
    provider   text        NOT NULL,
    event_id   text        NOT NULL,
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    wallet     text        NOT NULL,
    amount     bigint      NOT NULL,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT top_up_pkey PRIMARY KEY (provider, event_id),
    CONSTRAINT top_up_request_once UNIQUE (request_id),
    CONSTRAINT top_up_provider_bounded CHECK (char_length(provider) BETWEEN 1 AND 64),
    CONSTRAINT top_up_event_bounded CHECK (char_length(event_id) BETWEEN 1 AND 255),
    CONSTRAINT top_up_wallet CHECK (wallet IN ('paid', 'trial')),
    CONSTRAINT top_up_amount_positive CHECK (amount > 0)
);

-- Corrections by people, with their reason.
CREATE TABLE ledger.adjustment (
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    wallet     text        NOT NULL,
    amount     bigint      NOT NULL,
    reason     text        NOT NULL,
    actor      text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT adjustment_pkey PRIMARY KEY (request_id),
    CONSTRAINT adjustment_wallet CHECK (wallet IN ('paid', 'trial')),
    CONSTRAINT adjustment_moves_something CHECK (amount <> 0),
    CONSTRAINT adjustment_has_reason CHECK (char_length(reason) BETWEEN 1 AND 500)
);

-- What the promise "never charged for what we did not finish" costs the operator. `sale` is what the
-- customer would have paid where that is known, `cost` what the upstream may bill us.
CREATE TABLE ledger.write_off (
    request_id uuid        NOT NULL,
    reason     text        NOT NULL,
    account_id bigint      NOT NULL,
    sale       bigint,
    cost       bigint,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT write_off_pkey PRIMARY KEY (request_id, reason),
    CONSTRAINT write_off_reason CHECK (reason IN (
        'crash', 'expired', 'drain', 'database_away', 'overrun', 'late_result', 'unknown_outcome'))
);

-- Partitions are days (UTC) and are made in advance; a row for which there is none is refused, and
-- the audit raises the alarm long before. SECURITY DEFINER because the job that calls this every hour
-- runs as the data plane, which owns nothing.
CREATE FUNCTION ledger.make_partitions(first_day date, days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    made integer := 0;
    day date;
    parent text;
    child text;
BEGIN
    IF days NOT BETWEEN 1 AND 400 THEN
        RAISE EXCEPTION 'between 1 and 400 days of partitions can be made at once';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ledger.make_partitions'));
    FOR day IN SELECT first_day + n FROM generate_series(0, days - 1) AS n LOOP
        FOREACH parent IN ARRAY ARRAY['hold', 'usage', 'transfer'] LOOP
            child := parent || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('ledger.' || child) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE ledger.%I PARTITION OF ledger.%I FOR VALUES FROM (%L) TO (%L)',
                    child, parent,
                    app.uuid_v7_floor(day::timestamp AT TIME ZONE 'UTC'),
                    app.uuid_v7_floor((day + 1)::timestamp AT TIME ZONE 'UTC'));
                -- The ledger names the day's partitions, so that a statement is planned once and opens
                -- nothing else; a partition that is named needs its own grants.
                EXECUTE format('GRANT SELECT, INSERT ON ledger.%I TO trunkline_data', child);
                IF parent = 'hold' THEN
                    EXECUTE format(
                        'GRANT UPDATE (paid, trial, state, resolved_at) ON ledger.%I TO trunkline_data', child);
                END IF;
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END
$make$;

-- Yesterday's calls may still be running; seven days ahead leaves a week to notice that the job died.
SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - 1, 9);

-- Who may do what. The data plane adds and resolves; it cannot touch a transfer or a usage row that
-- is there. The console creates accounts, keys and budgets and takes payments.
GRANT SELECT ON ledger.account, ledger.system_party, ledger.node, ledger.node_epoch, ledger.spender,
    ledger.budget, ledger.budget_period, ledger.capacity, ledger.hold, ledger.usage, ledger.transfer,
    ledger.idempotency, ledger.top_up, ledger.adjustment, ledger.write_off
    TO trunkline_data, trunkline_console;
GRANT UPDATE (paid_posted, paid_held, trial_posted, trial_held, topped_up_at)
    ON ledger.account TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE ON ledger.node TO trunkline_data;
GRANT INSERT ON ledger.node_epoch TO trunkline_data;
GRANT INSERT, UPDATE ON ledger.budget_period TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE ON ledger.capacity TO trunkline_data;
GRANT INSERT ON ledger.hold TO trunkline_data;
GRANT UPDATE (paid, trial, state, resolved_at) ON ledger.hold TO trunkline_data;
GRANT INSERT ON ledger.usage TO trunkline_data;
GRANT INSERT ON ledger.transfer TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE, DELETE ON ledger.idempotency TO trunkline_data;
GRANT INSERT ON ledger.write_off TO trunkline_data;
GRANT INSERT ON ledger.account, ledger.spender, ledger.budget, ledger.top_up, ledger.adjustment
    TO trunkline_console;
GRANT UPDATE (limit_nanos, removed_at) ON ledger.budget TO trunkline_console;
GRANT EXECUTE ON FUNCTION ledger.make_partitions(date, integer) TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION ledger.node_lock(text), ledger.check_node_epoch(text, bigint), ledger.fence_node(text)
    TO trunkline_data;
GRANT EXECUTE ON FUNCTION ledger.wallet_party(bigint, smallint) TO trunkline_data, trunkline_console, trunkline_audit;
GRANT EXECUTE ON FUNCTION ledger.period_start(text, text, timestamptz),
    ledger.period_end(text, text, timestamptz) TO trunkline_data, trunkline_console, trunkline_audit;

-- The ledger. Constraints enforce its invariants: an account cannot spend more than it has and may owe, a hold
-- resolves once, a request is charged once, a transfer is never edited. Code above may be wrong; these rows may not.
--
-- The tables that grow with traffic (holds, usage, transfers) are cut into days. Those that are keyed by the
-- request id are cut by it: it is a UUID v7 and so begins with its time, "one charge per request" is then a
-- primary key, and a lookup by request id opens one partition however many there are.
--
-- Every change of an account first locks that account's row. That lock orders everything else of the
-- account (holds, budgets), so the lock order is: accounts by id, then capacities by name.

-- A customer. Two wallets; what is posted minus what is held is what may be promised. One row, so
-- that a reservation out of both wallets is one update. It is updated all the time and has one index
-- on a column that never changes: with room in the page, updates stay in it.
CREATE TABLE ledger.account (
    id                bigint      GENERATED ALWAYS AS IDENTITY (START WITH 1000),
    kind              text        NOT NULL,
    paid_posted       bigint      NOT NULL DEFAULT 0,
    paid_held         bigint      NOT NULL DEFAULT 0,
    trial_posted      bigint      NOT NULL DEFAULT 0,
    trial_held        bigint      NOT NULL DEFAULT 0,
    topped_up_at      timestamptz,
    created_at        timestamptz NOT NULL DEFAULT app.now(),
    -- Threshold of the event balance.low; null disables it. `balance_low` is set when the event was sent, so that
    -- the next one comes only after the balance was above it. What is held does not count: it is not spent yet.
    low_balance_nanos bigint,
    balance_low       boolean     NOT NULL DEFAULT false,
    -- What the account may owe: admission counts it as money of the paid wallet.
    credit_limit      bigint      NOT NULL DEFAULT 0,
    -- Counts changes of the account's budgets and keys. A node keeps which budgets a key counts in; a reservation
    -- that was made with an older count is answered `stale`, and nothing was taken for it.
    revision          bigint      NOT NULL DEFAULT 0,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    -- One CHECK, and of what a batch changes: PostgreSQL reads the text of each anew in every statement, and eight
    -- took a fifth of what a batch of one call costs.
    CONSTRAINT account_covers_holds CHECK (least(paid_held, trial_held, paid_posted + credit_limit - paid_held,
        trial_posted - trial_held) >= 0)
) WITH (fillfactor = 50);
-- The rest is checked only where one of these columns is written, which ledger.apply_<day> does not.
CREATE FUNCTION ledger.check_account_settings() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $check$
BEGIN
    IF NEW.kind NOT IN ('live', 'test') OR NEW.credit_limit < 0 OR NEW.low_balance_nanos <= 0
        OR (NEW.balance_low AND NEW.low_balance_nanos IS NULL) THEN
        RAISE EXCEPTION 'an account has a kind, no negative credit limit, and is low only below a mark'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'account_settings_are_sound';
    END IF;
    RETURN NULL;
END
$check$;
CREATE TRIGGER account_settings_are_sound
    AFTER INSERT OR UPDATE OF kind, credit_limit, low_balance_nanos, balance_low ON ledger.account
    FOR EACH ROW EXECUTE FUNCTION ledger.check_account_settings();

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
    -- Whether it takes events to the others through NATS; null while that is not known. All that run say the
    -- same, or one without NATS would take away copies that wait for it.
    uses_nats    boolean,
    -- It has handed its sockets over to its successor and serves its last calls: limits are not divided by it.
    is_leaving   boolean     NOT NULL DEFAULT false,
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
    ended_at   timestamptz,
    -- A number for a node and its epoch, because every packed hold is named by it.
    id         integer     GENERATED ALWAYS AS IDENTITY,
    -- Set when an epoch ended and nothing that it held is open: recovery need not read its batches a second time.
    swept_at   timestamptz,
    CONSTRAINT node_epoch_pkey PRIMARY KEY (node, epoch),
    CONSTRAINT node_epoch_id_once UNIQUE (id)
);
COMMENT ON COLUMN ledger.node_epoch.ended_at IS 'when the process stopped in order, with nothing left to deliver';

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

-- A key that is new is in no node's memory, so neither it nor the budget that comes with it changes the account's
-- revision. That matters: a revision locks its account, an import makes keys of many accounts in one transaction and
-- in no order, and would deadlock with batches, which lock accounts in the order of their ids. Every change of a
-- budget has locked its account.
CREATE FUNCTION ledger.revise_account() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $revise$
BEGIN
    IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM ledger.spender AS s
            WHERE s.key_id = NEW.key_id AND s.xmin = pg_current_xact_id()::xid) THEN
        RETURN NULL;
    END IF;
    UPDATE ledger.account AS a SET revision = a.revision + 1 WHERE a.id = NEW.account_id;
    RETURN NULL;
END
$revise$;
CREATE TRIGGER budget_revises_its_account AFTER INSERT OR UPDATE ON ledger.budget
    FOR EACH ROW EXECUTE FUNCTION ledger.revise_account();
CREATE TRIGGER spender_revises_its_account AFTER UPDATE ON ledger.spender
    FOR EACH ROW EXECUTE FUNCTION ledger.revise_account();

-- One period of one budget. `used` is what open holds and charges take; it can pass neither zero nor `cap`.
-- When a limit is lowered below what is used, `cap` stays at what is used and the limit itself refuses new
-- holds. `dropped` is what was counted of days that are gone (ledger.drop_oldest_day).
CREATE TABLE ledger.budget_period (
    budget_id  bigint      NOT NULL,
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL,
    used       bigint      NOT NULL DEFAULT 0,
    cap        bigint      NOT NULL,
    -- When the event of a used-up period was written: once per period.
    reached_at timestamptz,
    dropped    bigint      NOT NULL DEFAULT 0,
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

-- How many calls of something there are in a day (UTC), for all accounts together. `dropped` as above.
CREATE TABLE ledger.capacity (
    name    text   NOT NULL,
    day     date   NOT NULL,
    used    bigint NOT NULL DEFAULT 0,
    cap     bigint NOT NULL,
    dropped bigint NOT NULL DEFAULT 0,
    CONSTRAINT capacity_pkey PRIMARY KEY (name, day),
    CONSTRAINT capacity_used_not_negative CHECK (used >= 0),
    CONSTRAINT capacity_within_cap CHECK (used <= cap)
) WITH (fillfactor = 50);

-- Who may do what. The data plane moves money; it makes keys below keys (app.api_key says what a stolen login of it
-- could do), and a budget it can add and neither raise nor remove. The console creates accounts, keys and budgets and
-- takes payments.
GRANT SELECT ON ledger.account, ledger.system_party, ledger.node, ledger.node_epoch, ledger.spender,
    ledger.budget, ledger.budget_period, ledger.capacity TO trunkline_data, trunkline_console;
GRANT INSERT ON ledger.account, ledger.spender, ledger.budget TO trunkline_console;
GRANT UPDATE (paid_posted, paid_held, trial_posted, trial_held, topped_up_at, balance_low, revision)
    ON ledger.account TO trunkline_data, trunkline_console;
GRANT UPDATE (low_balance_nanos, credit_limit) ON ledger.account TO trunkline_console;
GRANT INSERT, UPDATE ON ledger.node TO trunkline_data;
GRANT INSERT ON ledger.node_epoch TO trunkline_data;
GRANT UPDATE (ended_at, swept_at) ON ledger.node_epoch TO trunkline_data;
GRANT INSERT (key_id, account_id, chain) ON ledger.spender TO trunkline_data;
GRANT INSERT (account_id, key_id, period, limit_nanos) ON ledger.budget TO trunkline_data;
GRANT UPDATE (limit_nanos, removed_at) ON ledger.budget TO trunkline_console;
GRANT INSERT, UPDATE ON ledger.budget_period TO trunkline_data, trunkline_console;
GRANT INSERT, UPDATE ON ledger.capacity TO trunkline_data;
GRANT EXECUTE ON FUNCTION ledger.node_lock(text), ledger.check_node_epoch(text, bigint), ledger.fence_node(text)
    TO trunkline_data;
GRANT EXECUTE ON FUNCTION ledger.wallet_party(bigint, smallint) TO trunkline_data, trunkline_console, trunkline_audit;
GRANT EXECUTE ON FUNCTION ledger.period_start(text, text, timestamptz),
    ledger.period_end(text, text, timestamptz) TO trunkline_data, trunkline_console, trunkline_audit;

-- Money that moved. A usage row is the charge of its call: it has the account, both amounts and the moment, and its
-- primary key lets a request be charged once; a transfer beside it would say the same a second time, for a row, two
-- index entries and a quarter of the log of a call. Transfers are for everything else. Both together are
-- ledger.posting: statements, sums and the audit read that.
--
-- Usage rows leave after the days that the operator keeps them, and money must not leave with them: dropping a day
-- (ledger.drop_oldest_day) writes what it charged, by account and wallet, as transfers of kind `day_total`, in the
-- same transaction.

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
    -- What an upstream bills us; null where that is not known.
    cost          bigint,
    attempts      jsonb       NOT NULL,
    warnings      text[]      NOT NULL,
    outcome       text        NOT NULL,
    opened_at     timestamptz NOT NULL,
    settled_at    timestamptz NOT NULL,
    -- What a reseller charges its own customer for the call; null if the account resells nothing.
    resale        bigint,
    -- The hold that the row ends, the batch that wrote it, and what was held then. Null in rows of holds that are
    -- rows, but for what was held.
    held_paid     bigint,
    held_trial    bigint,
    hold_epoch    integer,
    hold_lane     smallint,
    hold_seq      bigint,
    hold_position integer,
    batch_lane    smallint,
    batch_seq     bigint,
    CONSTRAINT usage_pkey PRIMARY KEY (request_id),
    -- One CHECK of what is money; see ledger.account. What a row names, and its outcome, the audit compares.
    CONSTRAINT usage_is_sound CHECK (least(paid, trial, held_paid - paid, held_trial - trial, cost, resale) >= 0
        AND (paid + trial = 0 OR outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted')))
) PARTITION BY RANGE (request_id);
CREATE TRIGGER usage_is_append_only BEFORE UPDATE OR DELETE ON ledger.usage
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a usage row is written once');

-- Indexes of the call search: by account, by key, by model, failed, expensive. The usage table is the busiest, so
-- every settlement pays for each index here; what each costs was measured (docs/adr/0022-log-search.md), and what
-- is not here is found by looking at a bounded number of rows.
CREATE INDEX usage_of_account ON ledger.usage (account_id, request_id);
-- Of one key, newest first.
CREATE INDEX usage_of_key ON ledger.usage (account_id, key_id, request_id);
-- Of one model, newest first.
CREATE INDEX usage_of_model ON ledger.usage (account_id, model, request_id);
-- Calls that delivered nothing (1), and calls of a cent and more (2): never both, because a failure is
-- free. Few, and those that are looked for most; all other calls pay nothing for this. The mark is part
-- of the order so that a search can insist on this index.
CREATE INDEX usage_failed_or_expensive ON ledger.usage (
    account_id,
    (CASE WHEN outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 1 ELSE 2 END),
    request_id)
    WHERE (outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') OR paid + trial >= 10000000);
-- Calls that their clients left, for ledger.exposure: few, and no other call pays for this index.
CREATE INDEX usage_left ON ledger.usage (request_id) WHERE outcome IN ('client_gone', 'cancelled');
-- Delivered calls that were charged less than they cost, for the page that shows them. No other call is in the index,
-- so a settlement at a profit pays nothing for it.
CREATE INDEX usage_below_cost ON ledger.usage (request_id)
    WHERE cost > paid + trial AND outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted');

-- Money that moved otherwise: from `debit` to `credit`. Rows are only ever added. No foreign keys: checking them
-- would lock rows that every movement needs; the audit finds unknown parties.
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
        'refund', 'settlement_adjustment', 'undelivered', 'top_up', 'trial_grant', 'adjust', 'day_total')),
    CONSTRAINT transfer_leg CHECK (leg IN (0, 1)),
    CONSTRAINT transfer_amount_positive CHECK (amount > 0),
    CONSTRAINT transfer_between_two CHECK (debit <> credit)
) PARTITION BY RANGE (request_id);
CREATE INDEX transfer_of_account ON ledger.transfer (account_id, request_id);
CREATE TRIGGER transfer_is_append_only BEFORE UPDATE OR DELETE ON ledger.transfer
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a transfer is never changed; write another one');

CREATE VIEW ledger.posting WITH (security_invoker = true) AS
SELECT t.request_id, t.kind, t.leg, t.account_id, t.debit, t.credit, t.amount, t.at
FROM ledger.transfer AS t
UNION ALL
SELECT u.request_id, 'charge', w.leg, u.account_id, u.account_id * 2 + w.leg, -1::bigint, w.amount, u.settled_at
FROM ledger.usage AS u
CROSS JOIN LATERAL (VALUES (0::smallint, u.paid), (1::smallint, u.trial)) AS w (leg, amount)
WHERE w.amount > 0;
COMMENT ON VIEW ledger.posting IS 'all money that moved: the charges, which are usage rows, and the transfers';

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

-- What the promise "never charged for what we did not finish" costs the operator, and why a call was charged less
-- than it used: its wallets (`overrun`), a budget, the caller's own limit, the quote's maximum, or a dearer tier
-- that its upstream served than was asked for. `sale` is what the customer would have paid where that is known,
-- `cost` what the upstream may bill us.
CREATE TABLE ledger.write_off (
    request_id uuid        NOT NULL,
    reason     text        NOT NULL,
    account_id bigint      NOT NULL,
    sale       bigint,
    cost       bigint,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT write_off_pkey PRIMARY KEY (request_id, reason),
    CONSTRAINT write_off_reason CHECK (reason IN (
        'crash', 'expired', 'drain', 'database_away', 'overrun', 'late_result', 'unknown_outcome',
        'budget', 'max_cost', 'quote_maximum', 'served_tier'))
);

-- Charges whose delivery is in doubt: their process ended without an orderly stop within seconds after it wrote
-- them, and no other process knows whether the client got the answer. They are noted when the node's next epoch
-- begins. The customer sees them and may have them refunded; a call with a stored answer is not among them.
CREATE TABLE ledger.unconfirmed_delivery (
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT unconfirmed_delivery_pkey PRIMARY KEY (request_id)
);
CREATE INDEX unconfirmed_delivery_of_account ON ledger.unconfirmed_delivery (account_id, request_id);

-- Calls that were charged and failed afterwards: a video that its upstream took and did not finish. The usage row
-- of such a call says `accepted` and is never changed; the row here says how the call ended, and is written in
-- the transaction that refunds it. What customers see is the latter: logs, errors, counts of failed calls.
--
-- `day` and what follows it are copies of the usage row's, so that daily sums need no look at it.
CREATE TABLE ledger.late_failure (
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    outcome    text        NOT NULL,
    day        date        NOT NULL,
    key_id     bigint      NOT NULL,
    model      text        NOT NULL,
    endpoint   text        NOT NULL,
    group_name text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT late_failure_pkey PRIMARY KEY (request_id),
    CONSTRAINT late_failure_outcome CHECK (outcome IN (
        'refused', 'upstream_failed', 'upstream_timeout', 'no_result',
        'interrupted', 'expired', 'drained', 'database_away', 'cancelled'))
);
-- For the search of failed calls, for the sums of days, and for the sweep of what is too old.
CREATE INDEX late_failure_of_account ON ledger.late_failure (account_id, request_id);
CREATE INDEX late_failure_of_day ON ledger.late_failure (account_id, day);
CREATE INDEX late_failure_age ON ledger.late_failure (day);

-- The operator's losses of each day, by whom and by what they were made. The channel is the last one that was
-- called; none if no call left. `sale` is what customers would have paid, `cost` what upstreams may bill. The model
-- is in the usage row that ends the call: one lookup, where the holds would be unpacked.
CREATE VIEW ledger.loss_day WITH (security_invoker = true) AS
SELECT (w.at AT TIME ZONE 'UTC')::date AS day, w.account_id, u.model, (u.attempts -> -1 ->> 'channel')::bigint AS channel_id,
    w.reason, count(*) AS calls, COALESCE(sum(w.sale), 0)::bigint AS sale, COALESCE(sum(w.cost), 0)::bigint AS cost
FROM ledger.write_off AS w
LEFT JOIN ledger.usage AS u USING (request_id)
GROUP BY (w.at AT TIME ZONE 'UTC')::date, w.account_id, u.model, (u.attempts -> -1 ->> 'channel')::bigint, w.reason;
COMMENT ON VIEW ledger.loss_day IS 'what was not charged, by day, account, model, channel and reason';

-- Calls whose upstream may bill what the customer does not pay, one row each. The operator bears them by promise,
-- so none is an error and no audit view has them; many of one account are an attack or a defect. `sale` is what
-- the customer would have paid, null where that is not known.
--
-- overrun      used more than its wallets, its budgets, the caller's limit, its quote or its tier allowed
-- unbilled     the other write-offs: a crash, an expired hold, a drain, a database that was away, a late result
-- undelivered  charged, and refunded because the client did not take the answer
-- interrupted  the client left: before its answer, or in a stream whose usage is an estimate
--
-- Query it with a bound of request ids, which leads to the tables of a few days.
CREATE VIEW ledger.exposure WITH (security_invoker = true) AS
SELECT w.request_id, w.at, w.account_id,
    CASE WHEN w.reason IN ('overrun', 'budget', 'max_cost', 'quote_maximum', 'served_tier') THEN 'overrun' ELSE 'unbilled' END AS kind,
    w.sale
FROM ledger.write_off AS w
UNION ALL
-- A charge that was written although its database was away is written off too, and counts there.
SELECT t.request_id, min(t.at), t.account_id, 'undelivered', sum(t.amount)::bigint
FROM ledger.transfer AS t
WHERE t.kind = 'undelivered' AND NOT EXISTS (
    SELECT FROM ledger.write_off AS w WHERE w.request_id = t.request_id AND w.reason IN ('database_away', 'drain'))
GROUP BY t.request_id, t.account_id
UNION ALL
SELECT u.request_id, u.settled_at, u.account_id, 'interrupted', NULL::bigint
FROM ledger.usage AS u
WHERE u.outcome IN ('client_gone', 'cancelled')
    AND (u.outcome = 'client_gone' AND u.estimated OR u.outcome = 'cancelled' AND u.attempts <> '[]');
COMMENT ON VIEW ledger.exposure IS 'calls whose upstream may bill what the customer does not pay';

CREATE VIEW ledger.exposure_day WITH (security_invoker = true) AS
SELECT (e.at AT TIME ZONE 'UTC')::date AS day, e.account_id, e.kind, count(*) AS calls,
    (CASE WHEN sum(e.sale) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(e.sale) END)::bigint AS sale
FROM ledger.exposure AS e
GROUP BY (e.at AT TIME ZONE 'UTC')::date, e.account_id, e.kind;
COMMENT ON VIEW ledger.exposure_day IS 'the same by day, account and kind; a sale that is not known counts as none';

-- Who may do what. The data plane adds; it cannot touch a usage row or a transfer that is there. Its job that takes
-- back what is left of trial credit says why in an adjustment.
GRANT SELECT ON ledger.usage, ledger.transfer, ledger.posting, ledger.top_up, ledger.adjustment, ledger.write_off,
    ledger.unconfirmed_delivery, ledger.late_failure, ledger.exposure, ledger.exposure_day
    TO trunkline_data, trunkline_console;
GRANT SELECT ON ledger.loss_day TO trunkline_console;
GRANT INSERT ON ledger.usage, ledger.write_off, ledger.unconfirmed_delivery, ledger.late_failure TO trunkline_data;
GRANT INSERT ON ledger.transfer, ledger.adjustment TO trunkline_data, trunkline_console;
GRANT INSERT ON ledger.top_up TO trunkline_console;

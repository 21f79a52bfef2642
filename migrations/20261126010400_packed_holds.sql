-- Packed holds after their batch: the doubt about a lost answer, the views that show them one by one, recovery, and
-- those that become rows because they live for long.

-- Ends the doubt about a batch whose answer was lost and whose callers are gone: true if it was not applied and
-- never will be, because its sequence is taken; false if it was. Under the locks of its accounts, so that one which
-- is on its way either is seen here or sees this.
CREATE FUNCTION ledger.abandon_batch(of_day date, by_node text, by_epoch bigint, by_lane smallint, by_seq bigint,
    accounts bigint[]) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $abandon$
DECLARE
    own integer;
    abandoned boolean;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(ledger.node_lock(by_node));
    SELECT e.id INTO own FROM ledger.node AS n JOIN ledger.node_epoch AS e ON e.node = n.name AND e.epoch = n.epoch
    WHERE n.name = by_node AND n.epoch = by_epoch;
    IF own IS NULL THEN
        RAISE EXCEPTION 'this epoch of % is over', by_node USING ERRCODE = 'TL001';
    END IF;
    PERFORM FROM ledger.account AS a WHERE a.id = ANY (accounts) ORDER BY a.id FOR NO KEY UPDATE;
    SELECT b.answers ? 'abandoned' INTO abandoned FROM ledger.hold_batch AS b
    WHERE b.day = of_day AND b.epoch_id = own AND b.lane = by_lane AND b.seq = by_seq;
    IF FOUND THEN
        RETURN COALESCE(abandoned, false);
    END IF;
    INSERT INTO ledger.hold_batch (day, epoch_id, lane, seq, members, opened_at, request_ids, account_ids, key_ids,
        paid, trial, paid_only, terms_ids, lifetimes_ms, answers)
    VALUES (of_day, own, by_lane, by_seq, 0, app.now(), '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        '{"abandoned": true}');
    RETURN true;
END
$abandon$;

-- Packed holds as if each were a row of ledger.hold, with the amount of its extensions. For people, the audit and
-- recovery, which bounds the batches it reads; never for a call.
CREATE VIEW ledger.packed_hold WITH (security_invoker = true) AS
SELECT h.request_id, h.account_id, h.key_id, 'request'::text AS owner, h.request_id AS owner_id, e.node, e.epoch,
    (h.paid + COALESCE(x.paid, 0))::bigint AS paid, (h.trial + COALESCE(x.trial, 0))::bigint AS trial,
    ARRAY(SELECT n.id FROM unnest(b.budget_positions, b.budget_ids) WITH ORDINALITY AS n (position, id, place)
        WHERE n.position = h.position ORDER BY n.place) AS budget_ids,
    ARRAY(SELECT n.starts FROM unnest(b.budget_positions, b.budget_starts) WITH ORDINALITY AS n (position, starts, place)
        WHERE n.position = h.position ORDER BY n.place) AS budget_starts,
    b.capacities[h.position] AS capacity, CASE WHEN b.capacities[h.position] IS NOT NULL THEN b.capacity_day END AS capacity_day,
    t.model, t.endpoint, t.group_name, t.price_version, b.idempotency[h.position] AS idempotency,
    b.opened_at + h.lifetime_ms * interval '1 millisecond' AS deadline,
    CASE WHEN u.request_id IS NULL THEN 'open'
        WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 'settled'
        ELSE 'voided' END AS state,
    b.opened_at, u.settled_at AS resolved_at, b.day, b.epoch_id, b.lane, b.seq, h.position::integer AS position
FROM ledger.hold_batch AS b
CROSS JOIN LATERAL unnest(b.request_ids, b.account_ids, b.key_ids, b.paid, b.trial, b.terms_ids, b.lifetimes_ms)
    WITH ORDINALITY AS h (request_id, account_id, key_id, paid, trial, terms_id, lifetime_ms, position)
JOIN ledger.node_epoch AS e ON e.id = b.epoch_id
JOIN ledger.call_terms AS t ON t.id = h.terms_id
LEFT JOIN (SELECT x.epoch_id, x.lane, x.seq, x.position, sum(x.paid) AS paid, sum(x.trial) AS trial
           FROM ledger.hold_extension AS x GROUP BY x.epoch_id, x.lane, x.seq, x.position) AS x
    ON x.epoch_id = b.epoch_id AND x.lane = b.lane AND x.seq = b.seq AND x.position = h.position
LEFT JOIN ledger.usage AS u ON u.request_id = h.request_id AND u.hold_epoch = b.epoch_id AND u.hold_lane = b.lane
    AND u.hold_seq = b.seq AND u.hold_position = h.position
LEFT JOIN ledger.hold_watermark AS mark ON mark.epoch_id = b.epoch_id AND mark.lane = b.lane
LEFT JOIN ledger.hold AS r ON r.request_id = h.request_id AND r.node = e.node AND r.epoch = e.epoch
    AND b.seq <= mark.seq
LEFT JOIN ledger.hold_release AS f ON f.epoch_id = b.epoch_id AND f.lane = b.lane AND f.seq = b.seq
    AND f.position = h.position
-- Neither moved to a row nor released.
WHERE r.request_id IS NULL AND f.epoch_id IS NULL;
COMMENT ON VIEW ledger.packed_hold IS 'the holds of requests that share rows, one by one';

CREATE VIEW ledger.any_hold WITH (security_invoker = true) AS
SELECT h.request_id, h.account_id, h.key_id, h.owner, h.owner_id, h.node, h.epoch, h.paid, h.trial, h.budget_ids,
    h.budget_starts, h.capacity, h.capacity_day, h.model, h.endpoint, h.group_name, h.price_version, h.idempotency,
    h.deadline, h.state, h.opened_at, h.resolved_at
FROM ledger.hold AS h
UNION ALL
SELECT h.request_id, h.account_id, h.key_id, h.owner, h.owner_id, h.node, h.epoch, h.paid, h.trial, h.budget_ids,
    h.budget_starts, h.capacity, h.capacity_day, h.model, h.endpoint, h.group_name, h.price_version, h.idempotency,
    h.deadline, h.state, h.opened_at, h.resolved_at
FROM ledger.packed_hold AS h;
COMMENT ON VIEW ledger.any_hold IS 'all holds, packed or not';

-- What each call takes of its budgets: its hold while it is open, then its charge, less what went back in time.
CREATE VIEW ledger.budget_taken AS
SELECT h.request_id, b.budget_id, b.starts_at,
    CASE h.state WHEN 'open' THEN h.paid + h.trial ELSE COALESCE(u.paid + u.trial, 0) END AS amount
FROM ledger.any_hold AS h
LEFT JOIN ledger.usage AS u USING (request_id)
CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
UNION ALL
SELECT t.request_id, b.budget_id, b.starts_at, -t.amount
FROM ledger.transfer AS t
JOIN ledger.any_hold AS h USING (request_id)
CROSS JOIN LATERAL unnest(h.budget_ids, h.budget_starts) AS b (budget_id, starts_at)
JOIN ledger.budget_period AS p ON p.budget_id = b.budget_id AND p.starts_at = b.starts_at
WHERE t.kind IN ('refund', 'settlement_adjustment', 'undelivered') AND t.at < p.ends_at;

-- The calls that take a place of a capacity.
CREATE VIEW ledger.capacity_taken AS
SELECT h.request_id, h.capacity AS name, h.capacity_day AS day
FROM ledger.any_hold AS h
WHERE h.capacity IS NOT NULL AND h.state <> 'voided'
    AND h.request_id NOT IN (SELECT t.request_id FROM ledger.transfer AS t WHERE t.kind = 'undelivered');

-- The batches that can have open holds: of epochs that were not swept, above each lane's watermark, which are those of the
-- last two minutes. Each lane is looked up by its key, however many batches its epoch has written.
CREATE VIEW ledger.recent_batch WITH (security_invoker = true) AS
SELECT e.node, e.epoch, b.*
FROM ledger.node_epoch AS e
CROSS JOIN LATERAL (SELECT max(b.lane) AS lane FROM ledger.hold_batch AS b WHERE b.epoch_id = e.id) AS last
CROSS JOIN LATERAL generate_series(0, last.lane) AS l (lane)
LEFT JOIN ledger.hold_watermark AS mark ON mark.epoch_id = e.id AND mark.lane = l.lane
CROSS JOIN LATERAL (SELECT b.* FROM ledger.hold_batch AS b
    WHERE b.epoch_id = e.id AND b.lane = l.lane AND b.seq > COALESCE(mark.seq, -1) OFFSET 0) AS b
WHERE e.swept_at IS NULL;
COMMENT ON VIEW ledger.recent_batch IS 'the batches that recovery reads';

-- Open packed holds of a node's earlier epochs, above each lane's watermark.
CREATE FUNCTION ledger.open_packed_holds(of_node text, before_epoch bigint, most integer)
    RETURNS TABLE (request_id uuid, account_id bigint, day date, epoch_id integer, lane smallint, seq bigint,
        "position" integer)
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET jit = off
AS $open$
    SELECT h.request_id, h.account_id, b.day, b.epoch_id, b.lane, b.seq, h.position::integer
    FROM ledger.recent_batch AS b
    CROSS JOIN LATERAL unnest(b.request_ids, b.account_ids) WITH ORDINALITY AS h (request_id, account_id, position)
    LEFT JOIN LATERAL (SELECT (u.hold_epoch, u.hold_lane, u.hold_seq, u.hold_position)
            IS NOT DISTINCT FROM (b.epoch_id, b.lane, b.seq, h.position::integer) AS is_own
        FROM ledger.usage AS u WHERE u.request_id = h.request_id LIMIT 1) AS u ON true
    WHERE b.node = of_node AND b.epoch < before_epoch AND u.is_own IS NOT TRUE
        AND NOT EXISTS (SELECT FROM ledger.hold_release AS f WHERE f.epoch_id = b.epoch_id AND f.lane = b.lane
            AND f.seq = b.seq AND f.position = h.position)
    LIMIT most
$open$;

-- Moves the holds of a lane's batches that are older than some time and still open to rows of ledger.hold, and
-- advances the watermark over so many batches at most; tells whether there may be more. Under the locks of their
-- accounts, as any change of a hold, and of one lane in a transaction, so that the locks have one order. A batch is
-- looked at once: what is left open of it is a row afterwards. An id that another hold has too cannot be a row; the
-- watermark stays before its batch until it ends.
CREATE FUNCTION ledger.move_long_holds(of_node text, of_epoch bigint, of_lane smallint, older_than interval, most integer)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $long$
DECLARE
    own integer;
    mark bigint;
    last_seq bigint;
    batches bigint;
    first_twice bigint;
    accounts bigint[];
    open_seqs bigint[];
    open_positions integer[];
BEGIN
    PERFORM pg_advisory_xact_lock_shared(ledger.node_lock(of_node));
    SELECT e.id INTO own FROM ledger.node AS n JOIN ledger.node_epoch AS e ON e.node = n.name AND e.epoch = n.epoch
    WHERE n.name = of_node AND n.epoch = of_epoch;
    IF own IS NULL THEN
        RAISE EXCEPTION 'this epoch of % is over', of_node USING ERRCODE = 'TL001';
    END IF;
    SELECT w.seq INTO mark FROM ledger.hold_watermark AS w WHERE w.epoch_id = own AND w.lane = of_lane;
    mark := COALESCE(mark, -1);
    SELECT max(o.seq), count(*) INTO last_seq, batches
    FROM (SELECT b.seq FROM ledger.hold_batch AS b
          WHERE b.epoch_id = own AND b.lane = of_lane AND b.seq > mark AND b.opened_at < app.now() - older_than
          ORDER BY b.seq LIMIT most) AS o;
    IF last_seq IS NULL THEN
        RETURN false;
    END IF;
    SELECT array_agg(DISTINCT h.account_id), array_agg(b.seq), array_agg(h.position::integer),
        min(b.seq) FILTER (WHERE u.request_id IS NOT NULL
            OR EXISTS (SELECT FROM ledger.hold AS r WHERE r.request_id = h.request_id))
    INTO accounts, open_seqs, open_positions, first_twice
    FROM ledger.hold_batch AS b
    CROSS JOIN LATERAL unnest(b.request_ids, b.account_ids) WITH ORDINALITY AS h (request_id, account_id, position)
    LEFT JOIN LATERAL (SELECT u.request_id, (u.hold_epoch, u.hold_lane, u.hold_seq, u.hold_position)
            IS NOT DISTINCT FROM (b.epoch_id, b.lane, b.seq, h.position::integer) AS is_own
        FROM ledger.usage AS u WHERE u.request_id = h.request_id LIMIT 1) AS u ON true
    WHERE b.epoch_id = own AND b.lane = of_lane AND b.seq > mark AND b.seq <= last_seq AND u.is_own IS NOT TRUE
        AND NOT EXISTS (SELECT FROM ledger.hold_release AS f WHERE f.epoch_id = b.epoch_id AND f.lane = b.lane
            AND f.seq = b.seq AND f.position = h.position);
    last_seq := least(last_seq, first_twice - 1);
    IF last_seq <= mark THEN
        RETURN false;
    END IF;
    PERFORM FROM ledger.account AS a WHERE a.id = ANY (accounts) ORDER BY a.id FOR NO KEY UPDATE;
    INSERT INTO ledger.hold (request_id, account_id, key_id, owner, owner_id, node, epoch, paid, trial, budget_ids,
        budget_starts, capacity, capacity_day, model, endpoint, group_name, price_version, idempotency, deadline, opened_at)
    SELECT h.request_id, h.account_id, h.key_id, 'request', h.request_id, of_node, of_epoch,
        h.paid + COALESCE(x.paid, 0), h.trial + COALESCE(x.trial, 0),
        ARRAY(SELECT n.id FROM unnest(b.budget_positions, b.budget_ids) WITH ORDINALITY AS n (position, id, place)
            WHERE n.position = h.position ORDER BY n.place),
        ARRAY(SELECT n.starts FROM unnest(b.budget_positions, b.budget_starts) WITH ORDINALITY AS n (position, starts, place)
            WHERE n.position = h.position ORDER BY n.place),
        b.capacities[h.position], CASE WHEN b.capacities[h.position] IS NOT NULL THEN b.capacity_day END,
        t.model, t.endpoint, t.group_name, t.price_version, b.idempotency[h.position],
        b.opened_at + h.lifetime_ms * interval '1 millisecond', b.opened_at
    FROM unnest(open_seqs, open_positions) AS o (seq, position)
    CROSS JOIN LATERAL (SELECT b.* FROM ledger.hold_batch AS b
        WHERE b.epoch_id = own AND b.lane = of_lane AND b.seq = o.seq OFFSET 0) AS b
    CROSS JOIN LATERAL (SELECT b.request_ids[o.position] AS request_id, b.account_ids[o.position] AS account_id,
        b.key_ids[o.position] AS key_id, b.paid[o.position] AS paid, b.trial[o.position] AS trial,
        b.terms_ids[o.position] AS terms_id, b.lifetimes_ms[o.position] AS lifetime_ms, o.position) AS h
    CROSS JOIN LATERAL (SELECT * FROM ledger.call_terms AS t WHERE t.id = h.terms_id OFFSET 0) AS t
    LEFT JOIN LATERAL (SELECT sum(x.paid)::bigint AS paid, sum(x.trial)::bigint AS trial FROM ledger.hold_extension AS x
        WHERE x.epoch_id = b.epoch_id AND x.lane = b.lane AND x.seq = b.seq AND x.position = h.position) AS x ON true
    LEFT JOIN LATERAL (SELECT u.request_id FROM ledger.usage AS u WHERE u.request_id = h.request_id LIMIT 1) AS u ON true
    -- It may have ended before its account was locked.
    WHERE o.seq <= last_seq AND u.request_id IS NULL;
    INSERT INTO ledger.hold_watermark AS w (epoch_id, lane, seq) VALUES (own, of_lane, last_seq)
    ON CONFLICT (epoch_id, lane) DO UPDATE SET seq = greatest(w.seq, excluded.seq);
    RETURN batches = most;
END
$long$;

-- The text of ledger.packed_hold over the tables of one day: through the view the planner reads the usage rows of all days.
CREATE FUNCTION ledger.packed_holds_of_day(suffix text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $text$
    SELECT rtrim(regexp_replace(pg_get_viewdef('ledger.packed_hold'::regclass),
        'ledger\.(hold_batch|hold_extension|hold|usage)(?![a-z_])', 'ledger.\1_' || suffix, 'g'), ';')
$text$;

GRANT SELECT ON ledger.packed_hold, ledger.any_hold, ledger.recent_batch TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION ledger.abandon_batch(date, text, bigint, smallint, bigint, bigint[]),
    ledger.open_packed_holds(text, bigint, integer),
    ledger.move_long_holds(text, bigint, smallint, interval, integer) TO trunkline_data;

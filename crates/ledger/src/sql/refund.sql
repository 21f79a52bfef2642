-- Refunds charges, each leg to its own wallet, paid money first, never more than is left of the charge. The
-- transfer's primary key lets each kind happen once. Each request stands once. An undelivered call also
-- frees its daily capacity and idempotency key. A refund counts in the sums of the day on which it is made,
-- which are locked in the order of their key. $1 request ids, $2 account ids, $3 kinds, $4 amounts (null
-- for all that is left)
WITH legs AS (
    SELECT a.request_id, a.account_id, a.kind, w.leg, w.amount
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[]) AS a (request_id, account_id, kind, amount)
    CROSS JOIN LATERAL (
        SELECT u.paid, u.trial FROM {usage} AS u
        WHERE u.request_id = a.request_id AND u.account_id = a.account_id OFFSET 0
    ) AS u
    CROSS JOIN LATERAL (
        SELECT (u.paid - COALESCE(sum(t.amount) FILTER (WHERE t.leg = 0), 0))::bigint AS paid,
            (u.trial - COALESCE(sum(t.amount) FILTER (WHERE t.leg = 1), 0))::bigint AS trial,
            COALESCE(bool_or(t.kind = a.kind), false) AS done
        FROM (SELECT t.kind, t.leg, t.amount FROM {transfer} AS t
              WHERE t.request_id = a.request_id AND t.account_id = a.account_id
                  AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered')
              OFFSET 0) AS t
    ) AS l
    CROSS JOIN LATERAL (SELECT least(COALESCE(a.amount, l.paid), l.paid) AS paid) AS p
    CROSS JOIN LATERAL (SELECT least(COALESCE(a.amount - p.paid, l.trial), l.trial) AS trial) AS q
    CROSS JOIN LATERAL (VALUES (0::smallint, p.paid), (1::smallint, q.trial)) AS w (leg, amount)
    WHERE w.amount > 0 AND NOT l.done
), made AS (
    INSERT INTO {transfer} (request_id, kind, leg, account_id, debit, credit, amount, at)
    SELECT l.request_id, l.kind, l.leg, l.account_id, -1, l.account_id * 2 + l.leg, l.amount, app.now()
    FROM legs AS l
    ON CONFLICT (request_id, kind, leg) DO NOTHING
    RETURNING request_id, kind, leg, account_id, amount, at
), told AS (
    -- With its hold: a row, or a place in the row of its batch.
    SELECT m.request_id, m.kind, m.leg, m.account_id, m.amount, m.at, h.key_id, h.model, h.endpoint, h.group_name,
        h.task_id, h.budget_ids, h.budget_starts, h.capacity, h.capacity_day, h.idempotency
    FROM made AS m
    CROSS JOIN LATERAL (
        SELECT h.key_id, h.model, h.endpoint, h.group_name, CASE h.owner WHEN 'task' THEN h.owner_id END AS task_id,
            h.budget_ids, h.budget_starts, h.capacity, h.capacity_day, h.idempotency
        FROM {hold} AS h
        WHERE h.request_id = m.request_id AND h.account_id = m.account_id
            AND NOT EXISTS (SELECT FROM {usage} AS u WHERE u.request_id = m.request_id AND u.hold_epoch IS NOT NULL)
        UNION ALL
        SELECT u.key_id, u.model, u.endpoint, u.group_name, NULL,
            ARRAY(SELECT n.id FROM unnest(b.budget_positions, b.budget_ids) WITH ORDINALITY AS n (position, id, place)
                WHERE n.position = u.hold_position ORDER BY n.place),
            ARRAY(SELECT n.starts FROM unnest(b.budget_positions, b.budget_starts) WITH ORDINALITY
                AS n (position, starts, place) WHERE n.position = u.hold_position ORDER BY n.place),
            b.capacities[u.hold_position], b.capacity_day, b.idempotency[u.hold_position]
        FROM {usage} AS u
        JOIN {hold_batch} AS b ON b.epoch_id = u.hold_epoch AND b.lane = u.hold_lane AND b.seq = u.hold_seq
        WHERE u.request_id = m.request_id
        OFFSET 0
    ) AS h
), summed AS (
    INSERT INTO ledger.usage_day AS d (account_id, day, key_id, model, endpoint, group_name, refunded)
    SELECT o.account_id, (o.at AT TIME ZONE 'UTC')::date, COALESCE(o.key_id, 0), o.model, o.endpoint, o.group_name,
        sum(o.amount)
    FROM told AS o
    GROUP BY o.account_id, (o.at AT TIME ZONE 'UTC')::date, COALESCE(o.key_id, 0), o.model, o.endpoint, o.group_name
    ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (account_id, day, key_id, model, endpoint, group_name) DO UPDATE
    SET refunded = d.refunded + excluded.refunded
), moved AS (
    UPDATE ledger.account AS acc
    SET paid_posted = acc.paid_posted + d.paid, trial_posted = acc.trial_posted + d.trial
    FROM (SELECT m.account_id,
              COALESCE(sum(m.amount) FILTER (WHERE m.leg = 0), 0)::bigint AS paid,
              COALESCE(sum(m.amount) FILTER (WHERE m.leg = 1), 0)::bigint AS trial
          FROM made AS m GROUP BY m.account_id) AS d
    WHERE acc.id = d.account_id
), given_back AS (
    -- A budget gets it back only while the stretch it was taken from is open.
    UPDATE ledger.budget_period AS p
    SET used = p.used - d.amount
    FROM (SELECT b.budget_id, b.starts_at, max(o.at) AS at, sum(o.amount)::bigint AS amount
          FROM told AS o
          CROSS JOIN LATERAL unnest(o.budget_ids, o.budget_starts) AS b (budget_id, starts_at)
          GROUP BY b.budget_id, b.starts_at) AS d
    WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at AND d.at < p.ends_at
), undelivered AS (
    SELECT DISTINCT o.account_id, o.request_id, o.capacity, o.capacity_day, o.idempotency
    FROM told AS o WHERE o.kind = 'undelivered'
), places AS (
    UPDATE ledger.capacity AS c
    SET used = c.used - d.places
    FROM (SELECT n.capacity, n.capacity_day, count(*) AS places
          FROM undelivered AS n WHERE n.capacity IS NOT NULL
          GROUP BY n.capacity, n.capacity_day) AS d
    WHERE c.name = d.capacity AND c.day = d.capacity_day
), freed AS (
    DELETE FROM ledger.idempotency AS i
    USING undelivered AS n
    WHERE n.idempotency IS NOT NULL
        AND i.account_id = n.account_id AND i.key = n.idempotency AND i.request_id = n.request_id
)
SELECT o.request_id, o.kind, o.leg, o.amount, o.model, o.task_id, ledger.fresh_id() AS event_id FROM told AS o

-- What is or was held for a call: a row, what its usage row says of a packed hold that is over, or a place in the batch
-- of a node that works on it. An open packed hold is looked for in the batches above the watermarks, which are those of
-- the last two minutes. $1 request id, $2 account id, $3 the day of the id, $4 milliseconds without a heartbeat after
-- which a node counts as dead
WITH found AS (
    SELECT h.paid + h.trial AS amount, h.opened_at, h.state, h.resolved_at, h.node, h.epoch
    FROM ledger.hold AS h
    WHERE h.request_id = $1::uuid AND h.account_id = $2::bigint
    UNION ALL
    SELECT u.held_paid + u.held_trial, u.opened_at,
        CASE WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 'settled'
            ELSE 'voided' END,
        u.settled_at, u.node, u.epoch
    FROM ledger.usage AS u
    WHERE u.request_id = $1::uuid AND u.account_id = $2::bigint AND u.hold_epoch IS NOT NULL
), open AS (
    SELECT b.paid + b.trial + COALESCE(x.amount, 0) AS amount, b.opened_at, 'open' AS state,
        NULL::timestamptz AS resolved_at, e.node, e.epoch
    FROM ledger.node_epoch AS e
    CROSS JOIN LATERAL (SELECT max(b.lane) AS lane FROM ledger.hold_batch AS b
        WHERE b.day = $3::date AND b.epoch_id = e.id) AS last
    CROSS JOIN LATERAL generate_series(0, last.lane) AS l (lane)
    LEFT JOIN ledger.hold_watermark AS mark ON mark.epoch_id = e.id AND mark.lane = l.lane
    CROSS JOIN LATERAL (
        SELECT b.seq, b.opened_at, p.position, b.account_ids[p.position] AS account_id, b.paid[p.position] AS paid,
            b.trial[p.position] AS trial
        FROM ledger.hold_batch AS b
        CROSS JOIN LATERAL (SELECT array_position(b.request_ids, $1::uuid) AS position) AS p
        WHERE b.day = $3::date AND b.epoch_id = e.id AND b.lane = l.lane AND b.seq > COALESCE(mark.seq, -1)
            AND p.position IS NOT NULL
        OFFSET 0
    ) AS b
    LEFT JOIN LATERAL (SELECT sum(x.paid + x.trial)::bigint AS amount FROM ledger.hold_extension AS x
        WHERE x.day = $3::date AND x.epoch_id = e.id AND x.lane = l.lane AND x.seq = b.seq
            AND x.position = b.position) AS x ON true
    WHERE NOT EXISTS (SELECT FROM found) AND e.swept_at IS NULL AND b.account_id = $2::bigint
        AND NOT EXISTS (SELECT FROM ledger.hold_release AS f WHERE f.epoch_id = e.id AND f.lane = l.lane
            AND f.seq = b.seq AND f.position = b.position)
)
SELECT f.amount, f.opened_at, f.state, f.resolved_at,
    EXISTS (SELECT FROM ledger.node AS n WHERE n.name = f.node AND n.epoch = f.epoch
        AND n.heartbeat_at > app.now() - $4::bigint * interval '1 millisecond') AS has_live_node
FROM (SELECT * FROM found UNION ALL SELECT * FROM open) AS f
LIMIT 1

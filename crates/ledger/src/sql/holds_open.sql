-- Packed holds are looked for where some can be open: in epochs that were not swept, above each lane's watermark.
-- Every amount is bounded: a sum of bigint is numeric.
SELECT count(*) AS count,
    LEAST(COALESCE(sum(h.paid::numeric + h.trial), 0), 9223372036854775807)::bigint AS amount,
    count(*) FILTER (WHERE h.deadline < app.now()) AS overdue,
    LEAST(COALESCE(sum(h.paid::numeric + h.trial) FILTER (WHERE h.deadline < app.now()), 0), 9223372036854775807)::bigint
        AS overdue_amount
FROM (SELECT h.paid, h.trial, h.deadline FROM ledger.hold AS h WHERE h.state = 'open'
      UNION ALL
      SELECT p.paid + COALESCE(x.paid, 0), p.trial + COALESCE(x.trial, 0),
          b.opened_at + p.lifetime_ms * interval '1 millisecond'
      FROM ledger.recent_batch AS b
      CROSS JOIN LATERAL unnest(b.request_ids, b.paid, b.trial, b.lifetimes_ms) WITH ORDINALITY
          AS p (request_id, paid, trial, lifetime_ms, position)
      LEFT JOIN LATERAL (SELECT u.request_id FROM ledger.usage AS u WHERE u.request_id = p.request_id LIMIT 1) AS u ON true
      LEFT JOIN LATERAL (SELECT sum(x.paid)::bigint AS paid, sum(x.trial)::bigint AS trial
          FROM ledger.hold_extension AS x
          WHERE x.epoch_id = b.epoch_id AND x.lane = b.lane AND x.seq = b.seq AND x.position = p.position) AS x ON true
      WHERE u.request_id IS NULL) AS h

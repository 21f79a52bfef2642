-- Every amount is bounded: a sum of bigint is numeric.
SELECT count(*) AS count,
    LEAST(COALESCE(sum(h.paid::numeric + h.trial), 0), 9223372036854775807)::bigint AS amount,
    count(*) FILTER (WHERE h.deadline < app.now()) AS overdue,
    LEAST(COALESCE(sum(h.paid::numeric + h.trial) FILTER (WHERE h.deadline < app.now()), 0), 9223372036854775807)::bigint
        AS overdue_amount
FROM ledger.hold AS h
WHERE h.state = 'open'

DELETE FROM ledger.unchained AS n
WHERE n.ctid = ANY (ARRAY(
    SELECT w.place
    FROM (SELECT first.place, sum(cardinality(first.request_ids)) OVER (ORDER BY first.place)
              - cardinality(first.request_ids) AS lines_before
          FROM (SELECT one.ctid AS place, one.request_ids FROM ledger.unchained AS one
                WHERE one.kind = ANY ($1) LIMIT $2) AS first) AS w
    WHERE w.lines_before < $3))
RETURNING n.kind, n.leg, n.request_ids

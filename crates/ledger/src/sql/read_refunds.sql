-- $1 request ids
SELECT t.request_id, t.kind
FROM unnest($1::uuid[]) AS asked (request_id)
CROSS JOIN LATERAL (
    SELECT * FROM {transfer} AS t
    WHERE t.request_id = asked.request_id AND t.kind IN ('refund', 'settlement_adjustment', 'undelivered') OFFSET 0
) AS t

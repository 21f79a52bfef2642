-- What became of requests that were not ours to resolve any more.
-- $1 request ids
SELECT h.request_id, h.account_id, h.state, u.paid, u.trial
FROM unnest($1::uuid[]) AS asked (request_id)
CROSS JOIN LATERAL (
    SELECT * FROM {hold} AS h WHERE h.request_id = asked.request_id AND h.resolved_at IS NOT NULL OFFSET 0
) AS h
CROSS JOIN LATERAL (
    SELECT * FROM {usage} AS u WHERE u.request_id = asked.request_id OFFSET 0
) AS u

-- One look at the primary key for each id, whatever the planner thinks of their number.
-- $1 request ids
SELECT h.request_id, h.account_id, h.state, h.paid, h.trial, h.budget_ids, h.budget_starts
FROM unnest($1::uuid[]) AS asked (request_id)
CROSS JOIN LATERAL (
    SELECT * FROM {hold} AS h WHERE h.request_id = asked.request_id OFFSET 0
) AS h

-- What became of requests that were not ours to resolve any more: every one that was resolved has its usage row.
-- $1 request ids
SELECT u.request_id, u.account_id, u.paid, u.trial,
    CASE WHEN u.outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 'settled'
        ELSE 'voided' END AS state
FROM unnest($1::uuid[]) AS asked (request_id)
CROSS JOIN LATERAL (
    SELECT * FROM {usage} AS u WHERE u.request_id = asked.request_id OFFSET 0
) AS u

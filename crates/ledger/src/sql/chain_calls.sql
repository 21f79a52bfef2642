SELECT u.request_id, u.account_id, u.settled_at AS moment,
    to_char(u.settled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
    u.key_id, u.model, u.endpoint, u.group_name, u.outcome, u.estimated, u.tier, u.units,
    encode(u.price_version, 'hex') AS price_version, u.paid, u.trial
FROM unnest($1::uuid[]) AS w (request_id)
CROSS JOIN LATERAL (
    SELECT * FROM ledger.usage AS one WHERE one.request_id = w.request_id OFFSET 0
) AS u

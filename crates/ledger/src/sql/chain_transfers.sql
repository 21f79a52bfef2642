SELECT t.request_id, t.kind, t.leg, t.account_id, t.at AS moment,
    to_char(t.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
    CASE WHEN t.credit >= 0 THEN t.amount ELSE -t.amount END AS amount
FROM unnest($1::uuid[], $2::text[], $3::smallint[]) AS w (request_id, kind, leg)
CROSS JOIN LATERAL (
    SELECT * FROM ledger.transfer AS one
    WHERE one.request_id = w.request_id AND one.kind = w.kind AND one.leg = w.leg
    OFFSET 0
) AS t

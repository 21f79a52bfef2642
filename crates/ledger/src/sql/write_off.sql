-- $1 request ids, $2 reasons, $3 account ids, $4 sales, $5 costs
INSERT INTO ledger.write_off (request_id, reason, account_id, sale, cost)
SELECT a.request_id, a.reason, a.account_id, a.sale, a.cost
FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS a (request_id, reason, account_id, sale, cost)
ON CONFLICT (request_id, reason) DO NOTHING

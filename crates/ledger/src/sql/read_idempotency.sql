-- Keys are valid for a day; older rows are ignored. $1 account ids, $2 keys
SELECT i.account_id, i.key, i.body_hash, i.request_id, i.state
FROM unnest($1::bigint[], $2::text[]) AS asked (account_id, key)
JOIN ledger.idempotency AS i USING (account_id, key)
WHERE i.created_at > app.now() - interval '24 hours'

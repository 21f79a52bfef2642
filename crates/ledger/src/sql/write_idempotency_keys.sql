-- Writes the idempotency keys of calls; a row older than a day is overwritten. $1 account ids, $2 keys, $3
-- body hashes, $4 request ids
INSERT INTO ledger.idempotency AS i (account_id, key, body_hash, request_id, created_at)
SELECT a.account_id, a.key, a.body_hash, a.request_id, app.now()
FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::uuid[]) AS a (account_id, key, body_hash, request_id)
ON CONFLICT (account_id, key) DO UPDATE
SET body_hash = excluded.body_hash, request_id = excluded.request_id, state = 'running', response = NULL,
    created_at = excluded.created_at

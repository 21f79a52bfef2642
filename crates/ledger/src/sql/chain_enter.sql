WITH link AS (
    INSERT INTO ledger.chain_link (account_id, day, first_number, first_at, last_at, entries)
    SELECT n.account_id, n.day, n.first_number, n.first_at, n.last_at, n.entries
    FROM unnest($1::bigint[], $2::date[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::bytea[])
        AS n (account_id, day, first_number, first_at, last_at, entries)
)
INSERT INTO ledger.chain_day AS d (account_id, day, first_number, lines, oldest_call)
SELECT n.account_id, n.day, n.first_number, octet_length(n.entries) / 49, n.oldest_call
FROM unnest($1::bigint[], $2::date[], $3::bigint[], $6::bytea[], $7::uuid[])
    AS n (account_id, day, first_number, entries, oldest_call)
ON CONFLICT (account_id, day) DO UPDATE
SET lines = d.lines + excluded.lines, oldest_call = least(d.oldest_call, excluded.oldest_call)

-- The revision of accounts, and the budgets that a key of theirs counts in: the account's own, the key's and its
-- ancestors'. Budgets are null for a key that is not of the account. $1 account ids, $2 key ids (0 without a key)
SELECT n.account_id, n.key_id, a.revision,
    CASE WHEN n.key_id = 0 OR s.key_id IS NOT NULL THEN ARRAY(
        SELECT b.id FROM ledger.budget AS b
        WHERE b.account_id = a.id AND b.removed_at IS NULL AND (b.key_id IS NULL OR b.key_id = ANY (s.chain))
        ORDER BY b.id) END AS budgets
FROM unnest($1::bigint[], $2::bigint[]) AS n (account_id, key_id)
JOIN ledger.account AS a ON a.id = n.account_id
LEFT JOIN ledger.spender AS s ON s.key_id = n.key_id AND s.account_id = n.account_id

-- One lock per account, in the order of their ids; it covers everything of the account.
SELECT a.id, a.paid_posted, a.credit_limit, a.paid_held, a.trial_posted, a.trial_held, a.topped_up_at IS NOT NULL AS topped_up,
    a.low_balance_nanos, a.balance_low
FROM ledger.account AS a
WHERE a.id = ANY ($1::bigint[])
ORDER BY a.id
FOR NO KEY UPDATE

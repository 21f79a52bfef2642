-- Updates the low-balance flags: accounts that fell below their threshold, and those above it again. $1
-- account ids, $2 whether each is below
UPDATE ledger.account AS acc
SET balance_low = a.low
FROM unnest($1::bigint[], $2::boolean[]) AS a (account_id, low)
WHERE acc.id = a.account_id AND acc.balance_low <> a.low
RETURNING acc.id, acc.balance_low, acc.low_balance_nanos, acc.paid_posted + acc.trial_posted AS posted,
    ledger.fresh_id() AS event_id

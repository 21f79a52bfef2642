-- Indexes of the call search: by key, by model, failed, expensive. The usage table is the busiest, so every
-- settlement pays for each index here; what each costs was measured (docs/adr/0022-log-search.md), and what
-- is not here is found by looking at a bounded number of rows.
--
-- An index of the whole table becomes one of each day's table, and new days get it by themselves. On a
-- house that has many days already, make the same indexes on each day's table beforehand with CREATE
-- INDEX CONCURRENTLY: this file then only takes them over, and no settlement waits.

-- Of one key, newest first.
CREATE INDEX usage_of_key ON ledger.usage (account_id, key_id, request_id);
-- Of one model, newest first.
CREATE INDEX usage_of_model ON ledger.usage (account_id, model, request_id);
-- Calls that delivered nothing (1), and calls of a cent and more (2): never both, because a failure is
-- free. Few, and those that are looked for most; all other calls pay nothing for this. The mark is part
-- of the order so that a search can insist on this index.
CREATE INDEX usage_failed_or_expensive ON ledger.usage (
    account_id,
    (CASE WHEN outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') THEN 1 ELSE 2 END),
    request_id)
    WHERE (outcome NOT IN ('complete', 'client_gone', 'balance_exhausted', 'accepted') OR paid + trial >= 10000000);

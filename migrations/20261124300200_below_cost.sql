-- Delivered calls that were charged less than they cost, for the page that shows them. No other call is in the index,
-- so a settlement at a profit pays nothing for it. On an installation with many days make the same index on each day's
-- table beforehand with CREATE INDEX CONCURRENTLY; this file then only takes them over.
CREATE INDEX usage_below_cost ON ledger.usage (request_id)
    WHERE cost > paid + trial AND outcome IN ('complete', 'client_gone', 'balance_exhausted', 'accepted');

-- The number of what a call is made under; a new one if it is the first. $1 model, $2 endpoint, $3 group, $4 price
-- version
WITH made AS (
    INSERT INTO ledger.call_terms (model, endpoint, group_name, price_version) VALUES ($1, $2, $3, $4)
    ON CONFLICT (model, endpoint, group_name, price_version) DO NOTHING
    RETURNING id
)
SELECT id FROM made
UNION ALL
SELECT t.id FROM ledger.call_terms AS t
WHERE t.model = $1 AND t.endpoint = $2 AND t.group_name = $3 AND t.price_version = $4
LIMIT 1

-- Today's calls that were sold below their cost, by channel and model; the greatest loss first. $1 limit
SELECT d.channel_id, d.model, sum(d.below_cost_calls)::bigint AS calls, sum(d.below_cost_loss)::bigint AS loss
FROM ledger.margin_sum AS d
WHERE d.account_id = 0 AND d.day = (app.now() AT TIME ZONE 'UTC')::date AND d.below_cost_calls > 0
GROUP BY d.channel_id, d.model
ORDER BY loss DESC, d.channel_id, d.model
LIMIT $1

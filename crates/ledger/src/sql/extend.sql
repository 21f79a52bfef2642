-- Raises open holds. $1 request ids, $2 account ids, $3 more paid, $4 more trial
WITH raised AS (
    UPDATE {hold} AS h
    SET paid = h.paid + a.paid, trial = h.trial + a.trial
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) AS a (request_id, account_id, paid, trial)
    WHERE h.request_id = a.request_id AND h.account_id = a.account_id AND h.resolved_at IS NULL
    RETURNING h.request_id, h.account_id, a.paid, a.trial, h.budget_ids, h.budget_starts
), promised AS (
    UPDATE ledger.account AS acc
    SET paid_held = acc.paid_held + d.paid, trial_held = acc.trial_held + d.trial
    FROM (SELECT r.account_id, sum(r.paid)::bigint AS paid, sum(r.trial)::bigint AS trial
          FROM raised AS r GROUP BY r.account_id) AS d
    WHERE acc.id = d.account_id
), counted AS (
    UPDATE ledger.budget_period AS p
    SET used = p.used + d.used
    FROM (SELECT b.budget_id, b.starts_at, sum(r.paid + r.trial)::bigint AS used
          FROM raised AS r
          CROSS JOIN LATERAL unnest(r.budget_ids, r.budget_starts) AS b (budget_id, starts_at)
          GROUP BY b.budget_id, b.starts_at) AS d
    WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at
)
SELECT r.request_id FROM raised AS r

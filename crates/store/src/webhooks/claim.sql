-- Claims due deliveries fairly: no webhook and no account exceeds its deliveries in flight from this node,
-- and those with the fewest come first. Webhooks at their limit are excluded before the window is cut, or
-- the backlog of a hanging one would hide all others. $1 and $2 webhooks and accounts of what is on its
-- way, $3 most of one webhook, $4 most of one account, $5 window, $6 limit, $7 lease in seconds
WITH busy AS MATERIALIZED (
    SELECT b.webhook_id, b.account_id FROM unnest($1::uuid[], $2::bigint[]) AS b (webhook_id, account_id)
), waiting AS MATERIALIZED (
    SELECT d.webhook_id, d.event_id, d.account_id, d.due_at
    FROM app.webhook_delivery AS d
    JOIN app.webhook AS w ON w.id = d.webhook_id AND w.paused_at IS NULL
    WHERE d.state = 'waiting' AND d.due_at <= app.now()
        AND d.webhook_id <> ALL (SELECT b.webhook_id FROM busy AS b GROUP BY b.webhook_id HAVING count(*) >= $3)
        AND d.account_id <> ALL (SELECT b.account_id FROM busy AS b GROUP BY b.account_id HAVING count(*) >= $4)
    ORDER BY d.due_at LIMIT $5
), ranked AS (
    SELECT w.webhook_id, w.event_id, w.due_at,
        row_number() OVER (PARTITION BY w.webhook_id ORDER BY w.due_at, w.event_id)
            + (SELECT count(*) FROM busy AS b WHERE b.webhook_id = w.webhook_id) AS of_webhook,
        row_number() OVER (PARTITION BY w.account_id ORDER BY w.due_at, w.event_id)
            + (SELECT count(*) FROM busy AS b WHERE b.account_id = w.account_id) AS of_account
    FROM waiting AS w
), chosen AS MATERIALIZED (
    SELECT d.webhook_id, d.event_id, d.event_account, d.seq, d.created_at, d.task_id, d.due_at
    FROM app.webhook_delivery AS d JOIN ranked AS r USING (webhook_id, event_id)
    WHERE d.state = 'waiting' AND d.due_at <= app.now() AND r.of_webhook <= $3 AND r.of_account <= $4
    ORDER BY r.of_account, r.due_at LIMIT $6
    FOR UPDATE OF d SKIP LOCKED
)
UPDATE app.webhook_delivery AS d
SET due_at = app.now() + make_interval(secs => $7), claim = d.claim + 1, tries = d.tries + 1
FROM chosen AS c
JOIN app.webhook AS w ON w.id = c.webhook_id
LEFT JOIN app.task_webhook AS h ON h.task_id = c.task_id AND w.kind = 'tasks'
LEFT JOIN app.event AS e
    ON e.account_id = c.event_account AND e.seq = c.seq AND e.created_at = c.created_at
WHERE d.webhook_id = c.webhook_id AND d.event_id = c.event_id
RETURNING d.webhook_id, d.event_id, d.account_id, d.seq, d.topic, d.task_id, d.claim, d.tries, d.created_at,
    w.kind, COALESCE(w.url, h.url) AS url, w.secret,
    CASE WHEN w.old_secret_until > app.now() THEN w.old_secret END AS old_secret, e.body,
    (extract(epoch FROM app.now() - c.due_at) * 1000)::bigint AS late_millis

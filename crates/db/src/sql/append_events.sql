-- Numbers events by their accounts' counters, writes them, puts them on their way to the webhooks that
-- want them, and leaves a copy to be carried on. Events of the system account go to webhooks by a job
-- (store::webhooks::expand_system_event): thousands of rows are no part of a caller's transaction.
-- $1 ids, $2 account ids, $3 topics, $4 task ids, $5 bodies
WITH asked AS MATERIALIZED (
    SELECT a.*, row_number() OVER (PARTITION BY a.account_id ORDER BY a.place) AS nth,
        count(*) OVER (PARTITION BY a.account_id) AS many
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $5::jsonb[]) WITH ORDINALITY
        AS a (id, account_id, topic, task_id, body, place)
), counted AS (
    INSERT INTO app.event_counter AS c (account_id, value)
    SELECT a.account_id, max(a.many) FROM asked AS a GROUP BY a.account_id ORDER BY a.account_id
    ON CONFLICT (account_id) DO UPDATE SET value = c.value + excluded.value
    RETURNING c.account_id, c.value
), numbered AS (
    SELECT a.id, a.account_id, c.value - a.many + a.nth AS seq, a.topic, a.task_id, a.body
    FROM asked AS a JOIN counted AS c USING (account_id)
), written AS (
    INSERT INTO app.event (account_id, seq, id, topic, task_id, body, created_at)
    SELECT n.account_id, n.seq, n.id, n.topic, n.task_id, n.body, (SELECT app.now()) FROM numbered AS n
), hooked AS (
    INSERT INTO app.webhook_delivery
        (webhook_id, event_id, account_id, event_account, seq, topic, task_id, due_at, created_at)
    SELECT w.id, n.id, n.account_id, n.account_id, n.seq, n.topic, n.task_id,
        (SELECT app.now()), (SELECT app.now())
    FROM numbered AS n JOIN app.webhook AS w ON w.account_id = n.account_id
    WHERE CASE w.kind
        WHEN 'tasks' THEN n.topic IN ('task.completed', 'task.failed')
            AND EXISTS (SELECT FROM app.task_webhook AS h WHERE h.task_id = n.task_id)
        ELSE w.topics IS NULL OR n.topic = ANY (w.topics) END
    ON CONFLICT DO NOTHING
)
INSERT INTO app.outbox (id, topic, account_id, seq, body)
SELECT n.id, n.topic, n.account_id, n.seq,
    jsonb_build_object('task_id', n.task_id, 'body', n.body) FROM numbered AS n

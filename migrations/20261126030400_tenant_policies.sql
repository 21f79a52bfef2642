-- A second check behind the filters of queries (ADR 100). A transaction of the console's role that works for one account
-- says so in `trunkline.account` (crates/db/src/tenant.rs), and sees and writes rows of that account alone. Where nothing
-- is said, it sees all: operators, commands and sign-in.
--
-- Only the console's role is concerned. Everyone else passes by the policy `everyone`, which the planner drops, and the
-- statements of the ledger's lanes name partitions, which have no policies. Nor do partitions need any for the console: its
-- role has no right on one, and a query of the parent is held to the parent's policies, whichever partitions are made later.
--
-- A view reads with the rights of its owner, whom no policy concerns, unless it is told to read with its caller's: all
-- views that the console's role may read are (`security_invoker`).
CREATE FUNCTION app.tenant() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('trunkline.account', true), '')::bigint;
-- Whether rows of an account are shown. The words are chosen for the planner: it takes IS NOT NULL to hold for nearly every
-- row, as it does beside a filter by account, and plans that query as if there were no policy. An equation would count as a
-- second filter, and a few rows would be expected where thousands come.
CREATE FUNCTION app.is_shown(account bigint, tenant bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN NULLIF(COALESCE(account = tenant, true), false) IS NOT NULL;
GRANT EXECUTE ON FUNCTION app.tenant(), app.is_shown(bigint, bigint) TO trunkline_console;

-- The tables of this set; one that a later migration makes gets its policies there.
DO $policies$
DECLARE
    -- Each row is of one account, whose number is in this column.
    by_account text[] := ARRAY[
        'app.account_note', 'app.api_key', 'app.event', 'app.event_counter', 'app.imported_account', 'app.invitation',
        'app.live_connection', 'app.low_balance_email', 'app.low_balance_notice', 'app.member', 'app.payment',
        'app.payment_profile', 'app.playground_key', 'app.task_webhook', 'app.trial_grant', 'app.video_schedule',
        'app.video_task', 'app.webhook', 'app.webhook_delivery', 'app.workflow_run', 'ledger.adjustment', 'ledger.budget',
        'ledger.chain_day', 'ledger.chain_link', 'ledger.hold', 'ledger.hold_release', 'ledger.idempotency',
        'ledger.late_failure', 'ledger.margin_day', 'ledger.spender', 'ledger.top_up', 'ledger.transfer',
        'ledger.unconfirmed_delivery', 'ledger.usage', 'ledger.usage_day', 'ledger.write_off'];
    by_id text[] := ARRAY['app.account', 'ledger.account'];
    -- A row without an account is for every account.
    shared text[] := ARRAY['app.outbox', 'app.rate_limit'];
    -- A row without an account is the operator's.
    logged text[] := ARRAY['app.action_log'];
    -- A row holds calls of many accounts, and no page of a customer reads it.
    mixed text[] := ARRAY['ledger.hold_batch'];
    name text;
BEGIN
    -- The subquery is asked once a statement and not once a row.
    FOREACH name IN ARRAY by_account || by_id || shared || logged || mixed LOOP
        EXECUTE format('CREATE POLICY everyone ON %s USING (true)', name);
        EXECUTE format('CREATE POLICY tenant ON %s AS RESTRICTIVE TO trunkline_console USING (%s)', name, CASE
            WHEN name = ANY (by_id) THEN 'app.is_shown(id, (SELECT app.tenant()))'
            WHEN name = ANY (logged) THEN 'app.is_shown(COALESCE(account_id, 0), (SELECT app.tenant()))'
            WHEN name = ANY (mixed) THEN '(SELECT app.tenant()) IS NULL'
            ELSE 'app.is_shown(account_id, (SELECT app.tenant()))' END);
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', name);
    END LOOP;
END
$policies$;

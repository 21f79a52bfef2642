-- The function of a day, which names the day's tables: through their parents each statement would lock every day
-- there is. Made with the day's tables and dropped with them (ledger.make_partitions). A migration that changes the
-- text calls this for every day that exists.
--
-- Arguments are arrays, one element an operation, or null where no operation has such: PostgreSQL prepares each array for
-- every batch, even an empty one. Accounts, capacities and budgets are indexes into a_, c_ and w_. The caller names each
-- account, each request and each hold once, accounts and capacities in their order. The holds that end are of the
-- batch's own epoch and lane unless of_epoch and of_lane name others, as a recovery does.
--
-- A refused reservation and an extension are in `answers`; without r_codes there all reservations are held. Positions
-- count those that are held, in their order.
-- Answers to reservations: 0 held, 1 the wallets have too little, 2 a budget has, 3 never topped up, 4 the day's
-- capacity is used up, 5 the idempotency key is taken, 6 resolved before, 7 no such account or not its request, 8 stale
-- revision, 9 its hold is a row.
-- To extensions: 0 held, 1 and 2 as far as there was money, 3 no open hold, 4 moved to a row.
-- To settlements and voids: 0 done, 1 resolved before, 2 no such hold, 3 moved to a row.
-- Errors: TL001 the epoch is over, TL002 there are events to write and the caller cannot (may_notify), TL003 the
-- sequence was used by another batch.
CREATE FUNCTION ledger.make_apply(day date) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    template text := $template$
CREATE OR REPLACE FUNCTION ledger.apply_{day}(
    by_node text, by_epoch bigint, by_lane smallint, by_seq bigint, of_epoch integer, of_lane smallint,
    may_notify boolean, may_be_applied boolean DEFAULT true, a_ids bigint[] DEFAULT NULL,
    a_revisions bigint[] DEFAULT NULL, r_requests uuid[] DEFAULT NULL, r_accounts integer[] DEFAULT NULL,
    r_keys bigint[] DEFAULT NULL, r_amounts bigint[] DEFAULT NULL,
    r_paid_only boolean[] DEFAULT NULL, r_terms integer[] DEFAULT NULL, r_lifetimes integer[] DEFAULT NULL,
    r_capacities integer[] DEFAULT NULL, r_idempotency text[] DEFAULT NULL, r_bodies bytea[] DEFAULT NULL,
    c_names text[] DEFAULT NULL, c_caps bigint[] DEFAULT NULL, w_budgets bigint[] DEFAULT NULL,
    b_reservations integer[] DEFAULT NULL, b_windows integer[] DEFAULT NULL, e_requests uuid[] DEFAULT NULL,
    e_accounts integer[] DEFAULT NULL, e_seqs bigint[] DEFAULT NULL, e_positions integer[] DEFAULT NULL,
    e_totals bigint[] DEFAULT NULL, s_requests uuid[] DEFAULT NULL, s_accounts integer[] DEFAULT NULL,
    s_seqs bigint[] DEFAULT NULL, s_positions integer[] DEFAULT NULL, s_amounts bigint[] DEFAULT NULL,
    s_outcomes text[] DEFAULT NULL,
    s_units jsonb[] DEFAULT NULL, s_measured jsonb[] DEFAULT NULL, s_estimated boolean[] DEFAULT NULL,
    s_tiers text[] DEFAULT NULL, s_costs bigint[] DEFAULT NULL, s_resales bigint[] DEFAULT NULL,
    s_attempts jsonb[] DEFAULT NULL, s_warnings text[] DEFAULT NULL, s_unpaid_reasons text[] DEFAULT NULL,
    s_unpaid_sales bigint[] DEFAULT NULL,
    OUT epoch_id integer, OUT r_paid bigint[], OUT r_trial bigint[], OUT answers jsonb,
    OUT s_codes smallint[], OUT s_paid bigint[], OUT s_trial bigint[], OUT s_charged boolean[],
    OUT low_accounts bigint[], OUT low_now boolean[], OUT reached_budgets bigint[], OUT reached_starts timestamptz[])
-- No SET: it would be undone and done in every batch, every name has its schema, and it runs as its caller.
LANGUAGE plpgsql VOLATILE
AS $apply$
DECLARE
    moment constant timestamptz := app.now();
    r_count constant integer := COALESCE(cardinality(r_requests), 0);
    e_count constant integer := COALESCE(cardinality(e_requests), 0);
    s_count constant integer := COALESCE(cardinality(s_requests), 0);
    members bigint;
    was_applied boolean := false;
    before ledger.hold_batch_{day};
    a integer; o integer; k integer := 0; b integer := 1; w integer; amount bigint; took_paid bigint; took_trial bigint;
    trial_left bigint; paid_left bigint; budget_left bigint; tightest integer; code smallint; today date;
    -- Of each account: 1 paid money and credit, 2 what is held of it, 3 and 4 the same of trial money, 5 and 6 what the
    -- batch charges of each, 7 whether the revision is the caller's, 8 whether it was topped up.
    wallets bigint[]; any_threshold boolean;
    is_plain boolean; is_there boolean; was_refused boolean := false;
    r_codes smallint[]; r_budgets bigint[]; r_fits bigint[]; r_reserved bigint[]; r_others uuid[]; r_same_body boolean[];
    r_finished boolean[]; e_codes smallint[]; e_held bigint[]; e_budgets bigint[];
    r_used bigint[]; r_rows boolean[]; r_taken_by uuid[]; r_taken_body bytea[]; r_taken_done boolean[];
    h_requests uuid[]; h_accounts bigint[]; h_keys bigint[]; h_paid bigint[]; h_trial bigint[]; h_paid_only boolean[];
    h_terms integer[]; h_lifetimes integer[]; h_capacities text[]; h_idempotency text[];
    hb_positions integer[]; hb_ids bigint[]; hb_starts timestamptz[];
    c_left bigint[]; c_taken bigint[];
    w_starts timestamptz[]; w_left bigint[]; w_taken bigint[]; w_reached boolean[]; w_notify boolean[];
    raised record;
    -- Of each hold that ends: 1 its place among the settlements, 2 and 3 what it has, 4 and 5 what is charged.
    ended bigint[]; ended_count integer := 0; ended_requests uuid[]; ended_accounts bigint[]; twice integer[];
    mark bigint; any_extended boolean; x_paid bigint[]; x_trial bigint[]; any_budget boolean; any_claim boolean;
BEGIN
    -- Until the end of the transaction the node's next epoch cannot begin. An expression, because a PERFORM is a query.
    IF pg_advisory_xact_lock_shared(ledger.node_lock(by_node)) IS NULL THEN
        RETURN;
    END IF;
    -- The epoch, and one lock per account, in the order of their ids; it covers everything of the account.
    SELECT e.id, l.wallets, l.any_threshold
    INTO epoch_id, wallets, any_threshold
    FROM ledger.node AS n
    JOIN ledger.node_epoch AS e ON e.node = n.name AND e.epoch = n.epoch
    CROSS JOIN (
        SELECT array_agg(ARRAY[l.paid_posted + l.credit_limit, l.paid_held, l.trial_posted, l.trial_held, 0, 0,
                CASE WHEN l.revision = a_revisions[i] THEN 1 ELSE 0 END, CASE WHEN l.topped_up_at IS NULL THEN 0 ELSE 1 END])
                AS wallets,
            bool_or(l.low_balance_nanos IS NOT NULL) AS any_threshold
        FROM generate_series(1, cardinality(a_ids)) AS i
        LEFT JOIN LATERAL (SELECT * FROM ledger.account AS acc WHERE acc.id = a_ids[i] FOR NO KEY UPDATE) AS l ON true) AS l
    WHERE n.name = by_node AND n.epoch = by_epoch;
    IF epoch_id IS NULL THEN
        RAISE EXCEPTION 'this epoch of % is over', by_node USING ERRCODE = 'TL001';
    END IF;

    members := hash_array_extended(COALESCE(r_requests || e_requests || s_requests, '{}'),
        hash_array_extended(r_amounts || e_totals || s_amounts || ARRAY[r_count, e_count]::bigint[], 0));
    -- A batch that was applied is answered from what it wrote. One that is sent for the first time was not; if the caller is
    -- wrong about that, the primary key refuses it.
    IF may_be_applied THEN
        SELECT * INTO before FROM ledger.hold_batch_{day} AS m
        WHERE m.epoch_id = apply_{day}.epoch_id AND m.lane = by_lane AND m.seq = by_seq;
        was_applied := FOUND;
        IF before.members <> members THEN
            RAISE EXCEPTION 'batch % of lane % was written with other operations', by_seq, by_lane USING ERRCODE = 'TL003';
        END IF;
        answers := before.answers;
        FOR i IN 1 .. CASE WHEN was_applied THEN r_count ELSE 0 END LOOP
            w := array_position(before.request_ids, r_requests[i]);
            r_paid[i] := before.paid[w];
            r_trial[i] := before.trial[w];
        END LOOP;
    END IF;

    IF r_count > 0 AND NOT was_applied THEN
        IF r_count > 1 AND (SELECT count(DISTINCT n.id) FROM unnest(r_requests) AS n (id)) <> r_count THEN
            RAISE EXCEPTION 'a batch reserves one request twice' USING ERRCODE = 'unique_violation';
        END IF;
        is_there := EXISTS (SELECT FROM ledger.usage_{day} AS u WHERE u.request_id = ANY (r_requests))
            OR EXISTS (SELECT FROM ledger.hold_{day} AS h WHERE h.request_id = ANY (r_requests));
        -- Nothing but wallets can refuse a plain batch.
        is_plain := NOT is_there AND b_reservations IS NULL AND r_capacities IS NULL AND r_idempotency IS NULL;
        IF is_there THEN
            SELECT array_agg(u.account_id), array_agg(h.request_id IS NOT NULL) INTO r_used, r_rows
            FROM unnest(r_requests) AS n (id)
            LEFT JOIN LATERAL (SELECT u.account_id FROM ledger.usage_{day} AS u WHERE u.request_id = n.id LIMIT 1) AS u ON true
            LEFT JOIN LATERAL (SELECT h.request_id FROM ledger.hold_{day} AS h WHERE h.request_id = n.id LIMIT 1) AS h ON true;
        END IF;
        IF w_budgets IS NOT NULL THEN
            SELECT array_agg(p.starts), array_agg(b.limit_nanos - COALESCE(p.used, 0)), array_agg(0::bigint),
                array_agg(p.reached_at IS NOT NULL), array_agg(false)
            INTO w_starts, w_left, w_taken, w_reached, w_notify
            FROM unnest(w_budgets) AS n (id)
            LEFT JOIN LATERAL (SELECT * FROM ledger.budget AS b WHERE b.id = n.id LIMIT 1) AS b ON true
            LEFT JOIN LATERAL (
                SELECT s.starts, p.used, p.reached_at
                FROM (SELECT ledger.period_start(b.period, b.timezone, moment) AS starts) AS s
                LEFT JOIN ledger.budget_period AS p ON p.budget_id = b.id AND p.starts_at = s.starts LIMIT 1) AS p ON true;
        END IF;
        IF c_names IS NOT NULL THEN
            today := (moment AT TIME ZONE 'UTC')::date;
            WITH locked AS (
                INSERT INTO ledger.capacity AS c (name, day, used, cap)
                SELECT n.name, today, 0, n.cap FROM unnest(c_names, c_caps) AS n (name, cap)
                ON CONFLICT (name, day) DO UPDATE SET cap = greatest(excluded.cap, c.used)
                RETURNING c.name, c.cap - c.used AS free
            )
            SELECT array_agg(l.free ORDER BY array_position(c_names, l.name)), array_agg(0::bigint)
            INTO c_left, c_taken FROM locked AS l;
        END IF;
        IF r_idempotency IS NOT NULL THEN
            -- Keys are valid for a day; older rows are ignored.
            SELECT array_agg(d.request_id), array_agg(d.body_hash), array_agg(d.state = 'finished')
            INTO r_taken_by, r_taken_body, r_taken_done
            FROM unnest(r_accounts, r_idempotency) AS n (account, key)
            LEFT JOIN LATERAL (SELECT * FROM ledger.idempotency AS d
                WHERE d.account_id = a_ids[n.account] AND d.key = n.key AND d.created_at > moment - interval '24 hours'
                LIMIT 1) AS d ON true;
        END IF;
        r_paid := r_amounts;
        r_trial := array_fill(0::bigint, ARRAY[r_count]);
        FOR i IN 1 .. r_count LOOP
            a := r_accounts[i];
            amount := r_amounts[i];
            -- Trial money first.
            took_trial := CASE WHEN r_paid_only[i] THEN 0 ELSE least(amount, wallets[a][3] - wallets[a][4]) END;
            took_paid := amount - took_trial;
            IF (is_plain AND wallets[a][7] = 1 AND amount >= 0 AND wallets[a][2] + took_paid <= wallets[a][1]
                    AND (wallets[a][8] = 1 OR NOT r_paid_only[i])) IS NOT TRUE THEN
                -- What became of another account's request is not told.
                code := CASE WHEN wallets[a][1] IS NULL OR amount < 0 OR r_used[i] <> a_ids[a] THEN 7
                    WHEN r_used[i] = a_ids[a] THEN 6 WHEN r_rows[i] THEN 9 WHEN wallets[a][7] = 0 THEN 8
                    WHEN r_taken_by[i] IS NOT NULL THEN 5 ELSE 0 END;
                IF code = 5 THEN
                    IF r_others IS NULL THEN
                        r_others := array_fill(NULL::uuid, ARRAY[r_count]);
                        r_same_body := array_fill(NULL::boolean, ARRAY[r_count]);
                        r_finished := r_same_body;
                    END IF;
                    r_others[i] := r_taken_by[i];
                    r_same_body[i] := r_taken_body[i] = r_bodies[i];
                    r_finished[i] := r_taken_done[i];
                END IF;
                tightest := NULL;
                budget_left := 9223372036854775807;
                w := b;
                WHILE b_reservations[w] = i LOOP
                    IF greatest(w_left[b_windows[w]], 0) < budget_left THEN
                        budget_left := greatest(w_left[b_windows[w]], 0);
                        tightest := b_windows[w];
                    END IF;
                    w := w + 1;
                END LOOP;
                IF code = 0 THEN
                    trial_left := CASE WHEN r_paid_only[i] THEN 0 ELSE wallets[a][3] - wallets[a][4] END;
                    paid_left := wallets[a][1] - wallets[a][2];
                    IF r_paid_only[i] AND wallets[a][8] = 0 THEN
                        code := 3;
                    ELSIF amount > trial_left + paid_left OR amount > budget_left THEN
                        code := CASE WHEN amount > trial_left + paid_left THEN 1 ELSE 2 END;
                        IF r_fits IS NULL THEN
                            r_fits := array_fill(NULL::bigint, ARRAY[r_count]);
                            r_reserved := r_fits;
                            r_budgets := r_fits;
                        END IF;
                        r_fits[i] := least(trial_left + paid_left, budget_left);
                        r_reserved[i] := wallets[a][2] + wallets[a][4];
                        IF code = 2 THEN
                            r_budgets[i] := w_budgets[tightest];
                            w_notify[tightest] := NOT w_reached[tightest];
                        END IF;
                    ELSIF c_left[r_capacities[i]] < 1 THEN
                        code := 4;
                    END IF;
                END IF;
                IF code <> 0 THEN
                    IF NOT was_refused THEN
                        was_refused := true;
                        r_codes := array_fill(0::smallint, ARRAY[r_count]);
                    END IF;
                    r_codes[i] := code;
                    r_paid[i] := NULL;
                    r_trial[i] := NULL;
                    b := w;
                    CONTINUE;
                END IF;
                WHILE b < w LOOP
                    w_left[b_windows[b]] := w_left[b_windows[b]] - amount;
                    w_taken[b_windows[b]] := w_taken[b_windows[b]] + amount;
                    hb_positions := array_append(hb_positions, k + 1);
                    hb_ids := array_append(hb_ids, w_budgets[b_windows[b]]);
                    hb_starts := array_append(hb_starts, w_starts[b_windows[b]]);
                    b := b + 1;
                END LOOP;
                IF r_capacities[i] IS NOT NULL THEN
                    c_left[r_capacities[i]] := c_left[r_capacities[i]] - 1;
                    c_taken[r_capacities[i]] := c_taken[r_capacities[i]] + 1;
                END IF;
            END IF;
            k := k + 1;
            h_accounts[k] := a_ids[a];
            wallets[a][2] := wallets[a][2] + took_paid;
            IF took_trial > 0 THEN
                r_paid[i] := took_paid;
                r_trial[i] := took_trial;
                wallets[a][4] := wallets[a][4] + took_trial;
            END IF;
        END LOOP;
        IF was_refused OR r_capacities IS NOT NULL OR r_idempotency IS NOT NULL THEN
            SELECT COALESCE(array_agg(n.request_id), '{}'), COALESCE(array_agg(n.key_id), '{}'),
                COALESCE(array_agg(n.paid), '{}'), COALESCE(array_agg(n.trial), '{}'),
                COALESCE(array_agg(n.paid_only), '{}'), COALESCE(array_agg(n.terms), '{}'),
                COALESCE(array_agg(n.lifetime), '{}'),
                CASE WHEN bool_or(n.capacity IS NOT NULL) THEN array_agg(c_names[n.capacity]) END,
                CASE WHEN bool_or(n.idempotency IS NOT NULL) THEN array_agg(n.idempotency) END
            INTO h_requests, h_keys, h_paid, h_trial, h_paid_only, h_terms, h_lifetimes, h_capacities, h_idempotency
            FROM unnest(r_codes, r_requests, r_keys, r_paid, r_trial, r_paid_only, r_terms, r_lifetimes, r_capacities,
                r_idempotency)
                AS n (code, request_id, key_id, paid, trial, paid_only, terms, lifetime, capacity, idempotency)
            WHERE COALESCE(n.code, 0) = 0;
        END IF;
        IF h_capacities IS NOT NULL THEN
            UPDATE ledger.capacity AS c SET used = c.used + n.taken
            FROM unnest(c_names, c_taken) AS n (name, taken) WHERE c.name = n.name AND c.day = today AND n.taken > 0;
        END IF;
        IF h_idempotency IS NOT NULL THEN
            INSERT INTO ledger.idempotency AS d (account_id, key, body_hash, request_id, created_at)
            SELECT a_ids[n.account], n.key, n.body, n.request_id, moment
            FROM unnest(r_codes, r_accounts, r_idempotency, r_bodies, r_requests) AS n (code, account, key, body, request_id)
            WHERE COALESCE(n.code, 0) = 0 AND n.key IS NOT NULL
            ON CONFLICT (account_id, key) DO UPDATE
            SET body_hash = excluded.body_hash, request_id = excluded.request_id, state = 'running', response = NULL,
                created_at = excluded.created_at;
        END IF;
        IF hb_ids IS NOT NULL THEN
            INSERT INTO ledger.budget_period AS p (budget_id, starts_at, ends_at, used, cap)
            SELECT n.id, n.starts,
                ledger.period_end(g.period, g.timezone, CASE n.starts WHEN '-infinity' THEN moment ELSE n.starts END),
                n.taken, g.limit_nanos
            FROM unnest(w_budgets, w_starts, w_taken) AS n (id, starts, taken)
            CROSS JOIN LATERAL (SELECT * FROM ledger.budget AS g WHERE g.id = n.id OFFSET 0) AS g
            WHERE n.taken > 0
            ON CONFLICT (budget_id, starts_at) DO UPDATE SET used = p.used + excluded.used;
        END IF;
        FOR w IN 1 .. COALESCE(cardinality(w_notify), 0) LOOP
            IF w_notify[w] THEN
                reached_budgets := array_append(reached_budgets, w_budgets[w]);
                reached_starts := array_append(reached_starts, w_starts[w]);
            END IF;
        END LOOP;
    END IF;

    -- Extensions are few: one at a time. A reservation remembers its wallets.
    IF e_count > 0 AND NOT was_applied THEN
        e_codes := array_fill(0::smallint, ARRAY[e_count]);
        e_held := array_fill(NULL::bigint, ARRAY[e_count]);
        e_budgets := e_held;
    END IF;
    FOR i IN 1 .. CASE WHEN was_applied THEN 0 ELSE e_count END LOOP
        a := e_accounts[i];
        SELECT m.account_ids[e_positions[i]] AS account_id, m.request_ids[e_positions[i]] AS request_id,
            m.paid_only[e_positions[i]] AS paid_only,
            m.paid[e_positions[i]] + m.trial[e_positions[i]] + COALESCE(x.amount, 0) AS held,
            u.request_id IS NOT NULL AS resolved, m.seq <= COALESCE(mark.seq, -1) AS moved, t.id AS budget, t.free AS free,
            t.starts_at, t.reached
        INTO raised
        FROM ledger.hold_batch_{day} AS m
        LEFT JOIN LATERAL (SELECT sum(x.paid + x.trial)::bigint AS amount FROM ledger.hold_extension_{day} AS x
            WHERE x.epoch_id = m.epoch_id AND x.lane = m.lane AND x.seq = m.seq AND x.position = e_positions[i]) AS x ON true
        LEFT JOIN LATERAL (SELECT u.request_id FROM ledger.usage_{day} AS u
            WHERE u.request_id = e_requests[i] LIMIT 1) AS u ON true
        LEFT JOIN ledger.hold_watermark AS mark ON mark.epoch_id = m.epoch_id AND mark.lane = m.lane
        LEFT JOIN LATERAL (
            SELECT g.id, greatest(g.limit_nanos - p.used, 0) AS free, p.starts_at, p.reached_at IS NOT NULL AS reached
            FROM unnest(m.budget_positions, m.budget_ids, m.budget_starts) AS n (position, id, starts)
            JOIN ledger.budget AS g ON g.id = n.id
            JOIN ledger.budget_period AS p ON p.budget_id = n.id AND p.starts_at = n.starts
            WHERE n.position = e_positions[i] ORDER BY 2, 1 LIMIT 1) AS t ON true
        WHERE m.epoch_id = apply_{day}.epoch_id AND m.lane = by_lane AND m.seq = e_seqs[i];
        IF raised.request_id IS DISTINCT FROM e_requests[i] OR raised.account_id IS DISTINCT FROM a_ids[a]
            OR raised.resolved THEN
            e_codes[i] := 3;
            CONTINUE;
        ELSIF raised.moved THEN
            e_codes[i] := 4;
            CONTINUE;
        END IF;
        amount := greatest(e_totals[i] - raised.held, 0);
        trial_left := CASE WHEN raised.paid_only THEN 0 ELSE wallets[a][3] - wallets[a][4] END;
        paid_left := wallets[a][1] - wallets[a][2];
        e_codes[i] := 0;
        IF amount > trial_left + paid_left THEN
            e_codes[i] := 1;
        ELSIF amount > raised.free THEN
            e_codes[i] := 2;
            e_budgets[i] := raised.budget;
            IF NOT raised.reached THEN
                reached_budgets := array_append(reached_budgets, raised.budget);
                reached_starts := array_append(reached_starts, raised.starts_at);
            END IF;
        END IF;
        amount := least(amount, trial_left + paid_left, raised.free);
        e_held[i] := raised.held + amount;
        IF amount > 0 THEN
            took_trial := least(amount, trial_left);
            took_paid := amount - took_trial;
            wallets[a][2] := wallets[a][2] + took_paid;
            wallets[a][4] := wallets[a][4] + took_trial;
            INSERT INTO ledger.hold_extension_{day} (day, epoch_id, lane, seq, position, batch_seq, paid, trial, at)
            VALUES (date '{date}', apply_{day}.epoch_id, by_lane, e_seqs[i], e_positions[i], by_seq, took_paid, took_trial, moment);
            UPDATE ledger.budget_period AS p SET used = p.used + amount
            FROM ledger.hold_batch_{day} AS m
            CROSS JOIN LATERAL unnest(m.budget_positions, m.budget_ids, m.budget_starts) AS n (position, id, starts)
            WHERE m.epoch_id = apply_{day}.epoch_id AND m.lane = by_lane AND m.seq = e_seqs[i]
                AND n.position = e_positions[i] AND p.budget_id = n.id AND p.starts_at = n.starts;
        END IF;
    END LOOP;

    IF s_count > 0 THEN
        of_epoch := COALESCE(of_epoch, epoch_id);
        of_lane := COALESCE(of_lane, by_lane);
        SELECT COALESCE((SELECT w.seq FROM ledger.hold_watermark AS w WHERE w.epoch_id = of_epoch AND w.lane = of_lane), -1),
            EXISTS (SELECT FROM ledger.hold_extension_{day} AS x
                WHERE x.epoch_id = of_epoch AND x.lane = of_lane AND x.seq = ANY (s_seqs))
        INTO mark, any_extended;
        IF any_extended THEN
            SELECT array_agg(x.paid), array_agg(x.trial) INTO x_paid, x_trial
            FROM generate_series(1, s_count) AS i
            CROSS JOIN LATERAL (
                SELECT sum(x.paid)::bigint AS paid, sum(x.trial)::bigint AS trial FROM ledger.hold_extension_{day} AS x
                WHERE x.epoch_id = of_epoch AND x.lane = of_lane AND x.seq = s_seqs[i] AND x.position = s_positions[i]) AS x;
        END IF;
        IF NOT was_applied THEN
            -- The holds that end, with what they have, and their usage rows. Trial money is charged first, and never more
            -- of either than is held. A failed call with an amount is a mistake, which the table's CHECK refuses.
            WITH held AS MATERIALIZED (
                SELECT i AS place, m.key_id, m.terms_id, m.opened_at, m.paid, m.trial, m.has_budgets, m.has_claims,
                    least(greatest(s_amounts[i], 0), m.trial) AS trial_charged
                FROM generate_series(1, s_count) AS i
                CROSS JOIN LATERAL (
                    SELECT m.key_ids[s_positions[i]] AS key_id, m.terms_ids[s_positions[i]] AS terms_id, m.opened_at,
                        m.paid[s_positions[i]] + COALESCE(x_paid[i], 0) AS paid,
                        m.trial[s_positions[i]] + COALESCE(x_trial[i], 0) AS trial, m.budget_ids IS NOT NULL AS has_budgets,
                        m.capacity_day IS NOT NULL OR m.idempotency IS NOT NULL AS has_claims
                    FROM ledger.hold_batch_{day} AS m
                    WHERE m.epoch_id = of_epoch AND m.lane = of_lane AND m.seq = s_seqs[i]
                        AND m.request_ids[s_positions[i]] = s_requests[i]
                        AND m.account_ids[s_positions[i]] = a_ids[s_accounts[i]]
                    OFFSET 0) AS m
                WHERE s_seqs[i] > mark
                    AND NOT EXISTS (SELECT FROM ledger.usage_{day} AS u WHERE u.request_id = s_requests[i])
            ), written AS (
                INSERT INTO ledger.usage_{day} (request_id, account_id, key_id, node, epoch, model, endpoint, group_name,
                    units, measured, estimated, price_version, tier, paid, trial, cost, resale, attempts, warnings, outcome,
                    opened_at, settled_at, held_paid, held_trial, hold_epoch, hold_lane, hold_seq, hold_position, batch_lane,
                    batch_seq)
                SELECT s_requests[h.place], a_ids[s_accounts[h.place]], h.key_id, by_node, by_epoch, t.model, t.endpoint,
                    t.group_name, s_units[h.place], s_measured[h.place], s_estimated[h.place], t.price_version,
                    s_tiers[h.place], least(greatest(s_amounts[h.place], 0) - h.trial_charged, h.paid), h.trial_charged,
                    s_costs[h.place], s_resales[h.place], s_attempts[h.place],
                    COALESCE(string_to_array(s_warnings[h.place], ','), '{}'), s_outcomes[h.place], h.opened_at, moment,
                    h.paid, h.trial, of_epoch, of_lane, s_seqs[h.place], s_positions[h.place], by_lane, by_seq
                FROM held AS h
                LEFT JOIN LATERAL (SELECT * FROM ledger.call_terms AS t WHERE t.id = h.terms_id OFFSET 0) AS t ON true
            )
            SELECT array_agg(ARRAY[h.place, h.paid, h.trial,
                    least(greatest(s_amounts[h.place], 0) - h.trial_charged, h.paid), h.trial_charged]),
                bool_or(h.has_budgets),
                bool_or(h.has_claims OR s_unpaid_reasons[h.place] IS NOT NULL OR s_amounts[h.place] > h.paid + h.trial)
            INTO ended, any_budget, any_claim
            FROM held AS h;
            ended_count := COALESCE(array_length(ended, 1), 0);
            FOR i IN 1 .. ended_count LOOP
                w := ended[i][1];
                a := s_accounts[w];
                ended_requests[i] := s_requests[w];
                ended_accounts[i] := a_ids[a];
                s_paid[i] := ended[i][4];
                s_trial[i] := ended[i][5];
                wallets[a][2] := wallets[a][2] - ended[i][2];
                wallets[a][5] := wallets[a][5] + ended[i][4];
                IF ended[i][3] > 0 THEN
                    wallets[a][4] := wallets[a][4] - ended[i][3];
                    wallets[a][6] := wallets[a][6] + ended[i][5];
                END IF;
            END LOOP;
            IF ended_count > 0 THEN
                INSERT INTO ledger.usage_unsummed (request_ids, account_ids) VALUES (ended_requests, ended_accounts);
            END IF;
        END IF;
        IF ended_count = s_count THEN
            s_codes := array_fill(0::smallint, ARRAY[s_count]);
        ELSE
            -- Some were over before, are rows or never were; or the batch is answered a second time. A usage row of
            -- another account is not this call's: an id is charged under one account. A hold whose request has the row of
            -- another hold is to be released.
            SELECT array_agg(CASE
                    WHEN u.account_id IS NOT NULL AND (u.is_own OR s_seqs[i] > mark) THEN CASE
                        WHEN u.account_id <> a_ids[s_accounts[i]] THEN 2
                        WHEN u.is_own AND u.node = by_node AND u.epoch = by_epoch AND u.batch_lane = by_lane
                            AND u.batch_seq = by_seq THEN 0
                        ELSE 1 END
                    WHEN s_seqs[i] <= mark THEN 3
                    ELSE 2 END::smallint),
                array_agg(u.paid), array_agg(u.trial), array_agg(u.outcome = ANY ({charging})),
                array_agg(i) FILTER (WHERE NOT u.is_own AND s_seqs[i] > mark AND EXISTS (
                    SELECT FROM ledger.hold_batch_{day} AS m
                    WHERE m.epoch_id = of_epoch AND m.lane = of_lane AND m.seq = s_seqs[i]
                        AND m.request_ids[s_positions[i]] = s_requests[i]
                        AND m.account_ids[s_positions[i]] = a_ids[s_accounts[i]]))
            INTO s_codes, s_paid, s_trial, s_charged, twice
            FROM generate_series(1, s_count) AS i
            LEFT JOIN LATERAL (
                SELECT u.*, (u.hold_epoch, u.hold_lane, u.hold_seq, u.hold_position)
                    IS NOT DISTINCT FROM (of_epoch, of_lane, s_seqs[i], s_positions[i]) AS is_own
                FROM ledger.usage_{day} AS u WHERE u.request_id = s_requests[i] LIMIT 1) AS u ON true;
        END IF;
    END IF;
    IF was_applied THEN
        RETURN;
    END IF;

    IF s_count > 0 THEN
        -- A hold whose request has the usage row of another one is released, once.
        FOREACH o IN ARRAY COALESCE(twice, '{}') LOOP
            a := s_accounts[o];
            SELECT * INTO before FROM ledger.hold_batch_{day} AS m
            WHERE m.epoch_id = of_epoch AND m.lane = of_lane AND m.seq = s_seqs[o];
            took_paid := before.paid[s_positions[o]] + COALESCE(x_paid[o], 0);
            took_trial := before.trial[s_positions[o]] + COALESCE(x_trial[o], 0);
            INSERT INTO ledger.hold_release (day, epoch_id, lane, seq, position, request_id, account_id, paid, trial, at)
            VALUES (date '{date}', of_epoch, of_lane, s_seqs[o], s_positions[o], s_requests[o], a_ids[a], took_paid,
                took_trial, moment)
            ON CONFLICT ON CONSTRAINT hold_release_pkey DO NOTHING;
            IF FOUND THEN
                wallets[a][2] := wallets[a][2] - took_paid;
                wallets[a][4] := wallets[a][4] - took_trial;
                UPDATE ledger.budget_period AS p SET used = p.used - took_paid - took_trial
                FROM unnest(before.budget_positions, before.budget_ids, before.budget_starts) AS n (position, id, starts)
                WHERE n.position = s_positions[o] AND p.budget_id = n.id AND p.starts_at = n.starts;
                UPDATE ledger.capacity AS c SET used = c.used - 1
                WHERE c.name = before.capacities[s_positions[o]] AND c.day = before.capacity_day;
                DELETE FROM ledger.idempotency AS d
                WHERE d.account_id = a_ids[a] AND d.key = before.idempotency[s_positions[o]] AND d.request_id = s_requests[o];
            END IF;
        END LOOP;
        IF any_budget THEN
            WITH freed AS (
                UPDATE ledger.budget_period AS p SET used = p.used - d.unused
                FROM (SELECT g.id, g.starts, sum(n.unused)::bigint AS unused
                      FROM (SELECT ended[i][1] AS place, ended[i][2] + ended[i][3] - ended[i][4] - ended[i][5] AS unused
                          FROM generate_series(1, ended_count) AS i) AS n
                      CROSS JOIN LATERAL (SELECT * FROM ledger.hold_batch_{day} AS m
                          WHERE m.epoch_id = of_epoch AND m.lane = of_lane AND m.seq = s_seqs[n.place] OFFSET 0) AS m
                      CROSS JOIN LATERAL unnest(m.budget_positions, m.budget_ids, m.budget_starts) AS g (position, id, starts)
                      WHERE g.position = s_positions[n.place]
                      GROUP BY g.id, g.starts) AS d
                WHERE p.budget_id = d.id AND p.starts_at = d.starts
                    AND (d.unused > 0 OR (p.used >= p.cap AND p.reached_at IS NULL))
                RETURNING p.budget_id, p.starts_at, p.used >= p.cap AND p.reached_at IS NULL AS used_up
            )
            SELECT reached_budgets || array_agg(f.budget_id), reached_starts || array_agg(f.starts_at)
            INTO reached_budgets, reached_starts FROM freed AS f WHERE f.used_up;
        END IF;
        IF any_claim THEN
            UPDATE ledger.capacity AS c SET used = c.used - d.places
            FROM (SELECT m.name, m.day, count(*) AS places
                  FROM (SELECT ended[i][1] AS place FROM generate_series(1, ended_count) AS i) AS n
                  CROSS JOIN LATERAL (SELECT m.capacities[s_positions[n.place]] AS name, m.capacity_day AS day
                      FROM ledger.hold_batch_{day} AS m
                      WHERE m.epoch_id = of_epoch AND m.lane = of_lane AND m.seq = s_seqs[n.place] OFFSET 0) AS m
                  WHERE s_outcomes[n.place] <> ALL ({charging}) AND m.name IS NOT NULL GROUP BY m.name, m.day) AS d
            WHERE c.name = d.name AND c.day = d.day;
            WITH claims AS (
                SELECT s_requests[n.place] AS request_id, a_ids[s_accounts[n.place]] AS account_id, m.key,
                    s_outcomes[n.place] = ANY ({charging}) AS is_charged
                FROM (SELECT ended[i][1] AS place FROM generate_series(1, ended_count) AS i) AS n
                CROSS JOIN LATERAL (SELECT m.idempotency[s_positions[n.place]] AS key FROM ledger.hold_batch_{day} AS m
                    WHERE m.epoch_id = of_epoch AND m.lane = of_lane AND m.seq = s_seqs[n.place] OFFSET 0) AS m
            ), finished AS (
                UPDATE ledger.idempotency AS d SET state = 'finished'
                FROM claims AS n
                WHERE n.is_charged AND d.account_id = n.account_id AND d.key = n.key AND d.request_id = n.request_id
            )
            DELETE FROM ledger.idempotency AS d
            USING claims AS n
            WHERE NOT n.is_charged AND d.account_id = n.account_id AND d.key = n.key AND d.request_id = n.request_id;
            -- What was used and is not charged is the operator's loss.
            INSERT INTO ledger.write_off (request_id, reason, account_id, sale, cost)
            SELECT s_requests[n.place], l.reason, a_ids[s_accounts[n.place]], l.sale, s_costs[n.place]
            FROM (SELECT ended[i][1] AS place FROM generate_series(1, ended_count) AS i) AS n
            CROSS JOIN LATERAL (VALUES (s_unpaid_reasons[n.place], s_unpaid_sales[n.place]),
                ('overrun', s_amounts[n.place] - s_paid[n.place] - s_trial[n.place])) AS l (reason, sale)
            WHERE l.reason IS NOT NULL AND (l.reason = s_unpaid_reasons[n.place] OR l.sale > 0)
            ON CONFLICT (request_id, reason) DO NOTHING;
        END IF;
    END IF;

    UPDATE ledger.account AS acc
    SET paid_posted = acc.paid_posted - wallets[i][5], paid_held = wallets[i][2],
        trial_posted = acc.trial_posted - wallets[i][6], trial_held = wallets[i][4]
    FROM generate_series(1, cardinality(a_ids)) AS i
    WHERE acc.id = a_ids[i] AND (acc.paid_held <> wallets[i][2] OR acc.trial_held <> wallets[i][4] OR wallets[i][5] > 0
        OR wallets[i][6] > 0);
    IF any_threshold THEN
        SELECT array_agg(acc.id), array_agg(NOT acc.balance_low) INTO low_accounts, low_now
        FROM ledger.account AS acc
        WHERE acc.id = ANY (a_ids) AND (acc.paid_posted + acc.trial_posted < acc.low_balance_nanos) <> acc.balance_low;
    END IF;
    IF NOT may_notify AND (low_accounts IS NOT NULL OR reached_budgets IS NOT NULL) THEN
        RAISE EXCEPTION 'there are events to write' USING ERRCODE = 'TL002';
    END IF;

    IF was_refused OR e_count > 0 THEN
        answers := jsonb_build_object('r_codes', r_codes, 'r_budgets', r_budgets, 'r_fits', r_fits, 'r_reserved', r_reserved,
            'r_others', r_others, 'r_same_body', r_same_body, 'r_finished', r_finished, 'e_codes', e_codes, 'e_held', e_held,
            'e_budgets', e_budgets);
    END IF;
    INSERT INTO ledger.hold_batch_{day} (day, epoch_id, lane, seq, members, opened_at, request_ids, account_ids, key_ids,
        paid, trial, paid_only, terms_ids, lifetimes_ms, budget_positions, budget_ids, budget_starts, capacities,
        capacity_day, idempotency, answers)
    VALUES (date '{date}', apply_{day}.epoch_id, by_lane, by_seq, members, moment, COALESCE(h_requests, r_requests, '{}'),
        COALESCE(h_accounts, '{}'), COALESCE(h_keys, r_keys, '{}'), COALESCE(h_paid, r_paid, '{}'),
        COALESCE(h_trial, r_trial, '{}'), COALESCE(h_paid_only, r_paid_only, '{}'), COALESCE(h_terms, r_terms, '{}'),
        COALESCE(h_lifetimes, r_lifetimes, '{}'),
        hb_positions, hb_ids, hb_starts, h_capacities, CASE WHEN h_capacities IS NOT NULL THEN today END, h_idempotency,
        answers);
END
$apply$;
$template$;
BEGIN
    -- A list of constants is one, where a variable would be evaluated in every batch.
    template := replace(template, '{charging}', $$'{complete,client_gone,balance_exhausted,accepted}'::text[]$$);
    EXECUTE replace(replace(template, '{date}', day::text), '{day}', to_char(day, 'YYYYMMDD'));
    EXECUTE format('REVOKE ALL ON FUNCTION ledger.%I FROM PUBLIC', 'apply_' || to_char(day, 'YYYYMMDD'));
    EXECUTE format('GRANT EXECUTE ON FUNCTION ledger.%I TO trunkline_data', 'apply_' || to_char(day, 'YYYYMMDD'));
END
$make$;

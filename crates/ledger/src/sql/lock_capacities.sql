-- Today's row of each, made if it is the first of the day, and locked by the update. Names come sorted.
-- $1 names, $2 caps
INSERT INTO ledger.capacity AS c (name, day, used, cap)
SELECT asked.name, (app.now() AT TIME ZONE 'UTC')::date, 0, asked.cap
FROM unnest($1::text[], $2::bigint[]) AS asked (name, cap)
ON CONFLICT (name, day) DO UPDATE SET cap = greatest(excluded.cap, c.used)
RETURNING name, cap - used AS left_today

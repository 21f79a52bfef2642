-- $1 names, $2 how many of each; today's rows exist and are locked
UPDATE ledger.capacity AS c
SET used = c.used + a.places
FROM unnest($1::text[], $2::bigint[]) AS a (name, places)
WHERE c.name = a.name AND c.day = (app.now() AT TIME ZONE 'UTC')::date

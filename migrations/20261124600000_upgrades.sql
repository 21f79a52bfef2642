-- A node that has handed its sockets over to its successor serves its last calls: limits are not divided by it. The
-- previous release counts it as long as it lives.
ALTER TABLE ledger.node ADD COLUMN is_leaving boolean NOT NULL DEFAULT false;

-- Whether the release before a migration may run on the schema after it. An executable reads it for migrations that
-- it does not know, and does not start where one says no.
ALTER TABLE app.migration ADD COLUMN previous_runs boolean NOT NULL DEFAULT true;

-- An account that is closed is erased by a job of the data plane: prompts, files and webhooks are its own. Names and
-- addresses of people go when it is closed.
ALTER TABLE app.account ADD COLUMN erased_at timestamptz;
CREATE INDEX account_to_erase ON app.account (id) WHERE closed_at IS NOT NULL AND erased_at IS NULL;
GRANT UPDATE (erased_at) ON app.account TO trunkline_data;
GRANT DELETE ON app.invitation TO trunkline_console;
GRANT UPDATE (email) ON app.person TO trunkline_console;

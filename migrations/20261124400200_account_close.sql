-- An account that is closed can be erased: names and addresses of people go at once, prompts and files by a job of the
-- data plane.
ALTER TABLE app.account ADD COLUMN erasing_since timestamptz;
ALTER TABLE app.account ADD COLUMN erased_at timestamptz;
CREATE INDEX account_to_erase ON app.account (id) WHERE erasing_since IS NOT NULL AND erased_at IS NULL;
GRANT UPDATE (erasing_since) ON app.account TO trunkline_console;
GRANT UPDATE (erased_at) ON app.account TO trunkline_data;

-- What becomes of a stream whose client leaves, chosen by its key. Null means `cancel`, which is also what the
-- release before this one does. Rows of before have no word, so there is nothing to validate.
ALTER TABLE app.api_key ADD COLUMN on_disconnect text;
ALTER TABLE app.api_key ADD CONSTRAINT api_key_on_disconnect
    CHECK (on_disconnect IN ('cancel', 'finish')) NOT VALID;

-- Keys make keys through the data plane. A policy is never changed once it is made.
GRANT INSERT (on_disconnect) ON app.api_key TO trunkline_data;

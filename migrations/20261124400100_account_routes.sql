-- Which routes an account is served by, as app.api_key has it for a key: a key's own setting wins where it orders, and
-- narrows where it demands. Null is no demand, as rows of before have it.
ALTER TABLE app.account ADD COLUMN policy text;
ALTER TABLE app.account ADD COLUMN max_input_nanos bigint;
ALTER TABLE app.account ADD COLUMN max_output_nanos bigint;
ALTER TABLE app.account ADD COLUMN max_unit_nanos bigint;
ALTER TABLE app.account ADD COLUMN residencies text[];
ALTER TABLE app.account ADD COLUMN upstream_zero_retention boolean NOT NULL DEFAULT false;
ALTER TABLE app.account ADD CONSTRAINT account_policy_known
    CHECK (policy IN ('priority', 'cheapest', 'fastest')) NOT VALID;
ALTER TABLE app.account ADD CONSTRAINT account_max_input_bounded
    CHECK (max_input_nanos BETWEEN 0 AND 1000000000000000) NOT VALID;
ALTER TABLE app.account ADD CONSTRAINT account_max_output_bounded
    CHECK (max_output_nanos BETWEEN 0 AND 1000000000000000) NOT VALID;
ALTER TABLE app.account ADD CONSTRAINT account_max_unit_bounded
    CHECK (max_unit_nanos BETWEEN 0 AND 1000000000000000) NOT VALID;
ALTER TABLE app.account ADD CONSTRAINT account_residencies_bounded
    CHECK (app.is_list_of_words(residencies, 1, 200, 128)) NOT VALID;
GRANT UPDATE (policy, max_input_nanos, max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention)
    ON app.account TO trunkline_console;

-- Nodes make sub-keys with these columns and change none: whoever breaks into a node lifts no key's highest price.
REVOKE UPDATE (policy, max_input_nanos, max_output_nanos, max_unit_nanos) ON app.api_key FROM trunkline_data;

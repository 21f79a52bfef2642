-- Which routes a key is served by: their order, the highest price it pays, and attributes that it demands.
-- Prices are nano-USD, of a million tokens and of one unit. Null is no demand, as rows of before have it.
ALTER TABLE app.api_key ADD COLUMN policy text;
ALTER TABLE app.api_key ADD COLUMN max_input_nanos bigint;
ALTER TABLE app.api_key ADD COLUMN max_output_nanos bigint;
ALTER TABLE app.api_key ADD COLUMN max_unit_nanos bigint;
ALTER TABLE app.api_key ADD COLUMN residencies text[];
ALTER TABLE app.api_key ADD COLUMN upstream_zero_retention boolean NOT NULL DEFAULT false;
ALTER TABLE app.api_key ADD CONSTRAINT api_key_policy_known
    CHECK (policy IN ('priority', 'cheapest', 'fastest')) NOT VALID;
ALTER TABLE app.api_key ADD CONSTRAINT api_key_max_input_bounded
    CHECK (max_input_nanos BETWEEN 0 AND 1000000000000000) NOT VALID;
ALTER TABLE app.api_key ADD CONSTRAINT api_key_max_output_bounded
    CHECK (max_output_nanos BETWEEN 0 AND 1000000000000000) NOT VALID;
ALTER TABLE app.api_key ADD CONSTRAINT api_key_max_unit_bounded
    CHECK (max_unit_nanos BETWEEN 0 AND 1000000000000000) NOT VALID;
ALTER TABLE app.api_key ADD CONSTRAINT api_key_residencies_bounded
    CHECK (app.is_list_of_words(residencies, 1, 200, 128)) NOT VALID;

-- The console may write the table whole and change what is named; nodes make sub-keys and change their prices.
GRANT INSERT (policy, max_input_nanos, max_output_nanos, max_unit_nanos, residencies, upstream_zero_retention)
    ON app.api_key TO trunkline_data;
GRANT UPDATE (policy, max_input_nanos, max_output_nanos, max_unit_nanos)
    ON app.api_key TO trunkline_data, trunkline_console;

-- What an upstream promises: where it keeps data, and that it keeps nothing of requests and responses.
ALTER TABLE app.channel ADD COLUMN residency text;
ALTER TABLE app.channel ADD COLUMN zero_retention boolean NOT NULL DEFAULT false;
ALTER TABLE app.channel ADD CONSTRAINT channel_residency_bounded
    CHECK (char_length(residency) BETWEEN 1 AND 128) NOT VALID;
GRANT UPDATE (residency, zero_retention) ON app.channel TO trunkline_console;

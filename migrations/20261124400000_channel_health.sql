-- How channels do, by model and endpoint, in spans of five minutes: what calls came to, how long their answers took to
-- begin, and how fast they were written. Nodes add sums of many calls at a time; a worker deletes what is 90 days old.
-- first_byte counts answers by their time to the first byte: the place is twice the binary logarithm of milliseconds.
CREATE TABLE app.channel_health (
    span timestamptz NOT NULL,
    channel_id bigint NOT NULL,
    model text NOT NULL,
    endpoint text NOT NULL,
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    first_byte integer[] NOT NULL,
    output_tokens bigint NOT NULL,
    output_millis bigint NOT NULL,
    CONSTRAINT channel_health_pkey PRIMARY KEY (span, channel_id, model, endpoint),
    CONSTRAINT channel_health_channel_fkey FOREIGN KEY (channel_id) REFERENCES app.channel (id) ON DELETE CASCADE,
    CONSTRAINT channel_health_words_bounded
        CHECK (char_length(model) BETWEEN 1 AND 200 AND char_length(endpoint) BETWEEN 1 AND 64),
    CONSTRAINT channel_health_counts
        CHECK (calls >= 0 AND failed BETWEEN 0 AND calls AND output_tokens >= 0 AND output_millis >= 0),
    CONSTRAINT channel_health_first_byte CHECK (cardinality(first_byte) = 40)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON app.channel_health TO trunkline_data;
GRANT SELECT ON app.channel_health TO trunkline_console;

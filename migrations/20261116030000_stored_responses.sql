-- Dear reader,
--
-- a client's key names a call, and for a day the call's answer is kept under it, so that the same call
-- sent again gets the same answer and costs nothing. The table was there already with its column
-- `answer`; here it gets what keeping needs.
--
-- The answer is written into its row while the call is still `running`, and shown only once the charge
-- has made the row `finished`. That is why no crash leaves a charge without its answer, and why no
-- large answer ever stands in the transaction in which a thousand other calls settle. A call that is
-- voided deletes its row, and its answer with it.
--
-- A name that begins with the character 1 was given by us: a client's library says that it may try
-- again by itself, and its next try must find the first. No client can send that character in a header.
-- Such an answer is kept for two minutes.

-- A sealed answer looks like noise: trying to compress eight megabytes of it is work for nothing.
ALTER TABLE ledger.idempotency ALTER COLUMN response SET STORAGE EXTERNAL;
ALTER TABLE ledger.idempotency
    ADD CONSTRAINT idempotency_response_bounded CHECK (octet_length(response) <= 9000000) NOT VALID;

-- What is too old is found without reading what is not.
CREATE INDEX idempotency_by_age ON ledger.idempotency (created_at);
CREATE INDEX idempotency_generated_by_age ON ledger.idempotency (created_at) WHERE starts_with(key, E'\x01');
-- The first try of a library that tries again.
CREATE INDEX idempotency_generated_by_body ON ledger.idempotency (account_id, body_hash, created_at)
    WHERE starts_with(key, E'\x01');

CREATE VIEW ledger.audit_stored_response_overdue AS
SELECT i.account_id, i.request_id, i.created_at
FROM ledger.idempotency AS i
WHERE i.response IS NOT NULL AND i.created_at < app.now() - interval '48 hours';
COMMENT ON VIEW ledger.audit_stored_response_overdue IS
    'an answer is kept for a day after its call and forgotten within the next';

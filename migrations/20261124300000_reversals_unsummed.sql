-- Refunds and late failures that wait to be added to the sums of margins (the next file). Triggers note them, not the
-- statements that make them, so that those of the previous release are noted too. Charges are not noted: the condition
-- is false for them. A late failure counts on the day of its call, a refund on the day on which it is made.
CREATE TABLE ledger.reversal_unsummed (
    request_id uuid        NOT NULL,
    at         timestamptz NOT NULL,
    amount     bigint      NOT NULL,
    failed     smallint    NOT NULL,
    CONSTRAINT reversal_unsummed_is_one CHECK ((amount > 0 AND failed = 0) OR (amount = 0 AND failed = 1))
);
GRANT SELECT, INSERT ON ledger.reversal_unsummed TO trunkline_data, trunkline_console;
GRANT DELETE ON ledger.reversal_unsummed TO trunkline_data;

CREATE FUNCTION ledger.note_refund() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.reversal_unsummed (request_id, at, amount, failed)
    VALUES (NEW.request_id, NEW.at, NEW.amount, 0);
    RETURN NULL;
END
$note$;
CREATE TRIGGER transfer_notes_refund AFTER INSERT ON ledger.transfer
    FOR EACH ROW WHEN (NEW.kind IN ('refund', 'settlement_adjustment', 'undelivered'))
    EXECUTE FUNCTION ledger.note_refund();

CREATE FUNCTION ledger.note_late_failure() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.reversal_unsummed (request_id, at, amount, failed)
    VALUES (NEW.request_id, NEW.day::timestamp AT TIME ZONE 'UTC', 0, 1);
    RETURN NULL;
END
$note$;
CREATE TRIGGER late_failure_is_noted AFTER INSERT ON ledger.late_failure
    FOR EACH ROW EXECUTE FUNCTION ledger.note_late_failure();

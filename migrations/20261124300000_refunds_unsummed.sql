-- Refunds that wait to be added to the sums of margins (the next file). A trigger notes them, not the statement of
-- refunds, so that a refund made by the previous release is noted too. Charges are not: its condition is false for them.
CREATE TABLE ledger.refund_unsummed (
    request_id uuid        NOT NULL,
    at         timestamptz NOT NULL,
    amount     bigint      NOT NULL,
    CONSTRAINT refund_unsummed_amount_positive CHECK (amount > 0)
);
GRANT SELECT, INSERT ON ledger.refund_unsummed TO trunkline_data, trunkline_console;
GRANT DELETE ON ledger.refund_unsummed TO trunkline_data;

CREATE FUNCTION ledger.note_refund() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.refund_unsummed (request_id, at, amount) VALUES (NEW.request_id, NEW.at, NEW.amount);
    RETURN NULL;
END
$note$;
CREATE TRIGGER transfer_notes_refund AFTER INSERT ON ledger.transfer
    FOR EACH ROW WHEN (NEW.kind IN ('refund', 'settlement_adjustment', 'undelivered'))
    EXECUTE FUNCTION ledger.note_refund();

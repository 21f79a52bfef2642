-- Transfers are lines of the chains too: payments, refunds, corrections. What was written before this file is none.
CREATE FUNCTION ledger.note_unchained_transfer() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.unchained (kind, leg, request_ids) VALUES (NEW.kind, NEW.leg, ARRAY[NEW.request_id]);
    RETURN NULL;
END
$note$;
-- A total of a dropped day repeats charges that are lines already.
CREATE TRIGGER transfer_goes_to_the_chain AFTER INSERT ON ledger.transfer
    FOR EACH ROW WHEN (NEW.kind <> 'day_total')
    EXECUTE FUNCTION ledger.note_unchained_transfer();

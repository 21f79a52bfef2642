-- Once for each time that the balance falls below the threshold: `balance_low` changes with the event balance.low, in
-- the same transaction.
--
-- SECURITY DEFINER because calls are settled by the data plane, which knows no person: it gets the addresses of this
-- email and no others.
CREATE FUNCTION app.note_low_balance() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO app.low_balance_notice
        (id, account_id, to_address, name, organisation, language, balance_nanos, threshold_nanos)
    SELECT ledger.fresh_id(), NEW.id, p.email, p.name, a.name, w.language,
        NEW.paid_posted + NEW.trial_posted, NEW.low_balance_nanos
    FROM app.low_balance_email AS w
    JOIN app.account AS a ON a.id = w.account_id
    JOIN app.member AS m ON m.account_id = w.account_id AND m.role IN ('owner', 'admin', 'billing')
    JOIN app.person AS p ON p.id = m.person_id
        AND p.email_verified_at IS NOT NULL AND p.disabled_at IS NULL
    WHERE w.account_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER account_balance_is_low AFTER UPDATE OF balance_low ON ledger.account
    FOR EACH ROW WHEN (NEW.balance_low AND NOT OLD.balance_low)
    EXECUTE FUNCTION app.note_low_balance();

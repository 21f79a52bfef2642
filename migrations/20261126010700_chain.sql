-- The hash chain of an account: its calls and transfers as numbered lines, by days, each day under a signed root
-- (ADR 84). What is hashed is in docs/guide/receipts.md.

-- What waits to be entered: calls when they are summed up, transfers when they are written. Without an index, as
-- ledger.usage_unsummed: all of it is read whenever any of it is. Triggers note them, so that no statement that
-- settles or moves money has to know of the chain.
CREATE TABLE ledger.unchained (
    kind        text     NOT NULL,
    leg         smallint NOT NULL,
    request_ids uuid[]   NOT NULL
);
ALTER TABLE ledger.unchained ALTER COLUMN request_ids SET STORAGE EXTERNAL;
CREATE FUNCTION ledger.note_unchained_calls() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    INSERT INTO ledger.unchained (kind, leg, request_ids)
    SELECT 'charge', 0, s.request_ids FROM summed AS s;
    RETURN NULL;
END
$note$;
CREATE TRIGGER usage_unsummed_goes_to_the_chain AFTER DELETE ON ledger.usage_unsummed
    REFERENCING OLD TABLE AS summed
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.note_unchained_calls();
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

-- A day of an account's chain. Its root is signed when the day is over; it never changes then and is kept for ever,
-- so that old receipts and statements stay provable. `oldest_call` is the lowest id among its calls, which says whether
-- all of them are still kept; null if it has none.
CREATE TABLE ledger.chain_day (
    account_id   bigint NOT NULL,
    day          date   NOT NULL,
    first_number bigint NOT NULL,
    lines        bigint NOT NULL,
    oldest_call  uuid,
    root         bytea,
    previous     bytea,
    head         bytea,
    public_key   bytea,
    signature    bytea,
    signed_at    timestamptz,
    CONSTRAINT chain_day_pkey PRIMARY KEY (account_id, day),
    CONSTRAINT chain_day_has_lines CHECK (first_number > 0 AND lines > 0),
    CONSTRAINT chain_day_signed_whole CHECK (
        num_nulls(root, previous, head, public_key, signature, signed_at) IN (0, 6)),
    CONSTRAINT chain_day_lengths CHECK (octet_length(root) = 32 AND octet_length(previous) = 32
        AND octet_length(head) = 32 AND octet_length(public_key) = 32 AND octet_length(signature) = 64)
);
CREATE INDEX chain_day_unsigned ON ledger.chain_day (day, account_id) WHERE head IS NULL;
CREATE TRIGGER chain_day_is_signed_once BEFORE UPDATE ON ledger.chain_day
    FOR EACH ROW WHEN (OLD.head IS NOT NULL)
    EXECUTE FUNCTION ledger.refuse_change('a signed day is never changed');
CREATE TRIGGER chain_day_is_kept BEFORE DELETE ON ledger.chain_day
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a day of a chain is kept');

-- Which lines a day has, in their order: for each line one byte of its kind, sixteen of its id and the hash of its
-- text. One row for each account and transaction of the job, with the moments of its first and last line. Kinds: 0 is a
-- charge; otherwise twice the number of the kind and the leg: 1 refund, 2 settlement_adjustment, 3 undelivered, 4 top_up,
-- 5 trial_grant, 6 adjust.
CREATE TABLE ledger.chain_link (
    account_id   bigint      NOT NULL,
    day          date        NOT NULL,
    first_number bigint      NOT NULL,
    first_at     timestamptz NOT NULL,
    last_at      timestamptz NOT NULL,
    entries      bytea       NOT NULL,
    CONSTRAINT chain_link_pkey PRIMARY KEY (account_id, day, first_number),
    CONSTRAINT chain_link_whole CHECK (octet_length(entries) > 0 AND octet_length(entries) % 49 = 0)
);
ALTER TABLE ledger.chain_link ALTER COLUMN entries SET STORAGE EXTERNAL;
-- For the sweep of what is too old.
CREATE INDEX chain_link_age ON ledger.chain_link (day);
CREATE TRIGGER chain_link_is_append_only BEFORE UPDATE ON ledger.chain_link
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a link of a chain is written once');

-- Every key that has signed. Published for ever: the private half goes with its generation of the keyring.
CREATE TABLE ledger.chain_key (
    public_key    bytea       NOT NULL,
    first_used_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT chain_key_pkey PRIMARY KEY (public_key),
    CONSTRAINT chain_key_is_ed25519 CHECK (octet_length(public_key) = 32)
);

-- Links leave with their calls, some at a time; a day without its signature needs them. SECURITY DEFINER because the job
-- that calls this runs as the data plane, which may not delete them.
CREATE FUNCTION ledger.purge_chain_links(most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $purge$
DECLARE
    gone integer;
BEGIN
    DELETE FROM ledger.chain_link AS l
    WHERE l.ctid = ANY (ARRAY(
        SELECT old.ctid FROM ledger.chain_link AS old
        WHERE old.day < (SELECT k.from_day FROM ledger.usage_kept AS k)
            AND EXISTS (SELECT FROM ledger.chain_day AS d
                        WHERE d.account_id = old.account_id AND d.day = old.day AND d.head IS NOT NULL)
        LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$purge$;

GRANT INSERT ON ledger.unchained TO trunkline_data, trunkline_console;
GRANT SELECT, DELETE ON ledger.unchained TO trunkline_data;
GRANT SELECT ON ledger.chain_day, ledger.chain_link, ledger.chain_key TO trunkline_data, trunkline_console;
GRANT INSERT ON ledger.chain_day, ledger.chain_link TO trunkline_data;
GRANT UPDATE (lines, oldest_call, root, previous, head, public_key, signature, signed_at) ON ledger.chain_day
    TO trunkline_data;
GRANT INSERT ON ledger.chain_key TO trunkline_data, trunkline_console;
GRANT EXECUTE ON FUNCTION ledger.purge_chain_links(integer) TO trunkline_data;

CREATE VIEW ledger.audit_chain_broken AS
SELECT c.account_id, c.day
FROM (SELECT d.account_id, d.day, d.first_number, d.lines, d.previous, d.head,
          lag(d.head) OVER in_order AS head_before, lag(d.first_number + d.lines) OVER in_order AS next_number
      FROM ledger.chain_day AS d
      WINDOW in_order AS (PARTITION BY d.account_id ORDER BY d.day)) AS c
LEFT JOIN (SELECT l.account_id, l.day, sum(octet_length(l.entries) / 49) AS lines
           FROM ledger.chain_link AS l
           GROUP BY l.account_id, l.day) AS k USING (account_id, day)
WHERE c.first_number <> COALESCE(c.next_number, 1)
    OR (c.head IS NOT NULL AND c.previous IS DISTINCT FROM COALESCE(c.head_before, decode(repeat('00', 32), 'hex')))
    OR (c.lines IS DISTINCT FROM k.lines AND c.day >= (SELECT u.from_day FROM ledger.usage_kept AS u));
COMMENT ON VIEW ledger.audit_chain_broken IS
    'each day of an account''s hash chain follows the one before it, and has the links of its lines';

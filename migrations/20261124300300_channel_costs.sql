-- The price lists that a channel has had, each from a moment on: the cost of a past call is explained by the list of
-- its time. Written by a trigger, so that no way of editing a channel leaves it out; never changed.
CREATE TABLE app.channel_cost (
    channel_id bigint      NOT NULL,
    since      timestamptz NOT NULL,
    -- Null: the channel had none from then on.
    cost       jsonb,
    CONSTRAINT channel_cost_pkey PRIMARY KEY (channel_id, since)
);
CREATE TRIGGER channel_cost_is_append_only BEFORE UPDATE OR DELETE ON app.channel_cost
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change('a price list that was in use is never edited');
INSERT INTO app.channel_cost (channel_id, since, cost)
SELECT c.id, c.created_at, c.cost FROM app.channel AS c WHERE c.cost IS NOT NULL;

-- SECURITY DEFINER, so that no role can write a list that was not in use.
CREATE FUNCTION app.note_channel_cost() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $note$
BEGIN
    -- The moment of the row, not of its transaction: two changes of one transaction are two lists.
    INSERT INTO app.channel_cost (channel_id, since, cost)
    VALUES (NEW.id, app.now() + (pg_catalog.clock_timestamp() - pg_catalog.now()), NEW.cost);
    RETURN NULL;
END
$note$;
CREATE TRIGGER channel_notes_first_cost AFTER INSERT ON app.channel
    FOR EACH ROW WHEN (NEW.cost IS NOT NULL) EXECUTE FUNCTION app.note_channel_cost();
CREATE TRIGGER channel_notes_cost AFTER UPDATE OF cost ON app.channel
    FOR EACH ROW WHEN (NEW.cost IS DISTINCT FROM OLD.cost) EXECUTE FUNCTION app.note_channel_cost();
GRANT SELECT ON app.channel_cost TO trunkline_data, trunkline_console;

-- Nodes wait for things that others write: a changed price, a revoked key, a task to be sent, a message to
-- a webhook. They used to ask for each several times a second, which kept an idle PostgreSQL busy for 40 to
-- 55 milliseconds of every second. Now the writer of such a row notifies in the same transaction, and
-- waiting nodes look then.
--
-- A notification only means that there may be a row; the tables are authoritative. A node that was not
-- listening finds it by polling (crates/db/src/notifications.rs): nothing may depend on having received
-- one. None of these tables is written by an ordinary call: a transaction that notifies waits for every
-- other one that does when it commits.
CREATE FUNCTION app.signal() RETURNS trigger
    LANGUAGE plpgsql
AS $notify$
BEGIN
    PERFORM pg_catalog.pg_notify('trunkline', TG_ARGV[0]);
    RETURN NULL;
END
$notify$;

CREATE TRIGGER revision_notifies AFTER INSERT OR UPDATE ON app.revision
    FOR EACH ROW EXECUTE FUNCTION app.signal('revisions');

CREATE TRIGGER outbox_notifies AFTER INSERT ON app.outbox
    FOR EACH ROW EXECUTE FUNCTION app.signal('outbox');
-- What concerns everybody is expanded to every webhook by a job.
CREATE TRIGGER outbox_notifies_webhooks AFTER INSERT ON app.outbox
    FOR EACH ROW WHEN (NEW.account_id = 0) EXECUTE FUNCTION app.signal('webhooks');

CREATE TRIGGER webhook_delivery_notifies AFTER INSERT ON app.webhook_delivery
    FOR EACH ROW EXECUTE FUNCTION app.signal('webhooks');
-- Sooner than it was: sent again by hand, or put off for less than its lease.
CREATE TRIGGER webhook_delivery_notifies_sooner AFTER UPDATE ON app.webhook_delivery
    FOR EACH ROW WHEN (NEW.state = 'waiting' AND NEW.due_at < OLD.due_at) EXECUTE FUNCTION app.signal('webhooks');
-- Deliveries rest and wake with their webhook.
CREATE TRIGGER webhook_notifies AFTER UPDATE ON app.webhook
    FOR EACH ROW WHEN (OLD.paused_at IS DISTINCT FROM NEW.paused_at) EXECUTE FUNCTION app.signal('webhooks');

CREATE TRIGGER video_schedule_notifies AFTER INSERT ON app.video_schedule
    FOR EACH ROW EXECUTE FUNCTION app.signal('video');
-- Not each question to an upstream, of which there are hundreds a second: the node that asked knows when it
-- will ask again.
CREATE TRIGGER video_schedule_notifies_sooner AFTER UPDATE ON app.video_schedule
    FOR EACH ROW WHEN (NEW.job <> OLD.job OR (NEW.job <> 'poll' AND NEW.due_at < OLD.due_at))
    EXECUTE FUNCTION app.signal('video');

-- What nothing reads or writes: an event takes its number from its account, and a published copy is deleted.
DROP TABLE app.outbox_counter;
ALTER TABLE app.outbox DROP COLUMN published_at;

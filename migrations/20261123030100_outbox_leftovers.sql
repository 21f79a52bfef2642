-- What nothing reads or writes: an event takes its number from its account, and a published copy is deleted.
DROP TABLE app.outbox_counter;
ALTER TABLE app.outbox DROP COLUMN published_at;
-- A row that is claimed is locked, and PostgreSQL asks for the right to change some column of it.
GRANT UPDATE (created_at) ON app.outbox TO trunkline_data;

-- The key that files in the media store are sealed with, sealed by the keyring. The first node makes it; a rotation
-- of the keyring seals this row anew, and no file.
CREATE TABLE app.media_key (
    id         bigint      NOT NULL,
    sealed     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT media_key_pkey PRIMARY KEY (id),
    CONSTRAINT media_key_sealed_bounded CHECK (octet_length(sealed) BETWEEN 1 AND 1000)
);
GRANT SELECT, INSERT ON app.media_key TO trunkline_data;
GRANT UPDATE (sealed) ON app.media_key TO trunkline_data;

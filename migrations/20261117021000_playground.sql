-- The playground of the console calls models with a key, as any client does: what it costs is charged,
-- limited and logged like all else. Each person has one such key in each organisation, short-lived and
-- made anew when it is asked for again; this says which. By its name it could not be told: anybody may
-- call any key anything.
CREATE TABLE app.playground_key (
    account_id bigint NOT NULL,
    person_id  bigint NOT NULL,
    key_id     bigint NOT NULL,
    CONSTRAINT playground_key_pkey PRIMARY KEY (account_id, person_id),
    CONSTRAINT playground_key_of_a_person FOREIGN KEY (person_id) REFERENCES app.person (id),
    -- Both columns: a key of the same account.
    CONSTRAINT playground_key_of_same_account FOREIGN KEY (account_id, key_id)
        REFERENCES app.api_key (account_id, id)
);
GRANT SELECT, INSERT ON app.playground_key TO trunkline_console;
GRANT UPDATE (key_id) ON app.playground_key TO trunkline_console;

CREATE VIEW app.audit_playground_key_for_ever AS
SELECT p.account_id, p.person_id, p.key_id
FROM app.playground_key AS p
JOIN app.api_key AS k ON k.id = p.key_id
WHERE k.expires_at IS NULL AND k.revoked_at IS NULL AND k.deleted_at IS NULL;
COMMENT ON VIEW app.audit_playground_key_for_ever IS
    'a playground key expires, unless it was revoked';

-- A device on which a person signed in before has its own count of failed sign-ins: failures of others cannot
-- lock it out. Its row is the proof that it is known.
ALTER TABLE app.sign_in_attempt DROP CONSTRAINT sign_in_attempt_kind;
ALTER TABLE app.sign_in_attempt ADD CONSTRAINT sign_in_attempt_kind
    CHECK (kind IN ('address', 'network', 'device')) NOT VALID;
ALTER TABLE app.sign_in_attempt VALIDATE CONSTRAINT sign_in_attempt_kind;

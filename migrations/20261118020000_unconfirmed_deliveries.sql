-- Charges whose delivery is in doubt: their process ended without an orderly stop within seconds after it wrote
-- them, and no other process knows whether the client got the answer. They are noted when the node's next epoch
-- begins. The customer sees them and may have them refunded; a call with a stored answer is not among them.
ALTER TABLE ledger.node_epoch ADD COLUMN ended_at timestamptz;
COMMENT ON COLUMN ledger.node_epoch.ended_at IS 'when the process stopped in order, with nothing left to deliver';
GRANT UPDATE (ended_at) ON ledger.node_epoch TO trunkline_data;

CREATE TABLE ledger.unconfirmed_delivery (
    request_id uuid        NOT NULL,
    account_id bigint      NOT NULL,
    at         timestamptz NOT NULL DEFAULT app.now(),
    CONSTRAINT unconfirmed_delivery_pkey PRIMARY KEY (request_id)
);
CREATE INDEX unconfirmed_delivery_of_account ON ledger.unconfirmed_delivery (account_id, request_id);
GRANT SELECT, INSERT ON ledger.unconfirmed_delivery TO trunkline_data;
GRANT SELECT ON ledger.unconfirmed_delivery TO trunkline_console;

CREATE VIEW ledger.audit_unconfirmed_delivery_was_not_charged AS
SELECT d.request_id, d.account_id, u.account_id AS account_of_call, u.outcome, u.paid, u.trial
FROM ledger.unconfirmed_delivery AS d
LEFT JOIN ledger.usage AS u USING (request_id)
WHERE u.request_id IS NULL OR u.account_id <> d.account_id OR u.paid + u.trial = 0;
COMMENT ON VIEW ledger.audit_unconfirmed_delivery_was_not_charged IS
    'a delivery in doubt is of a call that was charged to its account';

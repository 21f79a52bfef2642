-- Whether a node takes events to the others through NATS; null while that is not known. All that run say the
-- same, or one without NATS would take away copies that wait for it.
ALTER TABLE ledger.node ADD COLUMN uses_nats boolean;

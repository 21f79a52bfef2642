-- A view reads with the rights of its owner, whom no policy concerns, unless it is told to read with its caller's. These
-- are all views that the console's role may read; the next file has the policies. `CREATE OR REPLACE VIEW` forgets the
-- option: say it again there.
ALTER VIEW ledger.any_hold SET (security_invoker = true);
ALTER VIEW ledger.exposure SET (security_invoker = true);
ALTER VIEW ledger.exposure_day SET (security_invoker = true);
ALTER VIEW ledger.loss_day SET (security_invoker = true);
ALTER VIEW ledger.margin_call SET (security_invoker = true);
ALTER VIEW ledger.margin_sum SET (security_invoker = true);
ALTER VIEW ledger.margin_unsummed SET (security_invoker = true);
ALTER VIEW ledger.packed_hold SET (security_invoker = true);
ALTER VIEW ledger.posting SET (security_invoker = true);
ALTER VIEW ledger.recent_batch SET (security_invoker = true);
ALTER VIEW ledger.usage_sum SET (security_invoker = true);

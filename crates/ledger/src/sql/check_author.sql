-- Held until the end of the transaction, so that the node's next life cannot begin in between: its
-- registration asks for this row FOR UPDATE and waits, or we wait and then find another epoch.
SELECT n.epoch
FROM ledger.node AS n
WHERE n.name = $1 AND n.epoch = $2
FOR KEY SHARE

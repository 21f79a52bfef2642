-- Until the end of the transaction the node's next epoch cannot begin: it waits for this batch, or this
-- batch waits for it and gets false.
SELECT ledger.check_node_epoch($1, $2)

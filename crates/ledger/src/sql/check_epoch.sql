-- Until the end of the transaction the node's next life cannot begin: it waits for us, or we wait for
-- it and are told that ours is over.
SELECT ledger.check_node_epoch($1, $2)

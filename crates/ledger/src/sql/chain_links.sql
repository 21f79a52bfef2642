SELECT l.first_number, l.entries
FROM (SELECT near.first_number, near.entries,
          sum(octet_length(near.entries)) OVER (ORDER BY near.first_number) - octet_length(near.entries) AS bytes_before
      FROM (SELECT one.first_number, one.entries FROM ledger.chain_link AS one
            WHERE one.account_id = $1 AND one.day = $2 AND one.first_number >= $3
            ORDER BY one.first_number LIMIT $4) AS near) AS l
WHERE l.bytes_before < $5
ORDER BY l.first_number

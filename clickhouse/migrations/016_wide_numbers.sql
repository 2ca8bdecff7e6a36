-- Steps of auctions are coins: those of more than four whole ones had no row.
ALTER TABLE nft_auctions MODIFY COLUMN min_step UInt64;
ALTER TABLE nft_auction_states MODIFY COLUMN min_step UInt64;

-- Numbers of orders have all 256 bits.
ALTER TABLE multisig_orders MODIFY COLUMN order_seqno UInt256;

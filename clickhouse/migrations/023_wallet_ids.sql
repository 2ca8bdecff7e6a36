-- Wallets of an owner and of a jetton are named by their ids: jetton_wallets_by_id has the address of each once.
ALTER TABLE jetton_wallets_to_owner MODIFY QUERY SELECT owner, id, jetton FROM jetton_wallets;
ALTER TABLE jetton_wallets_by_owner DROP COLUMN IF EXISTS address;

ALTER TABLE jetton_wallets_to_jetton MODIFY QUERY SELECT jetton, id FROM jetton_wallets;
ALTER TABLE jetton_wallets_by_jetton DROP COLUMN IF EXISTS address;

"""Reads a devnet through pytoniq and prints what it found as JSON.

Trust level 1 checks proofs, level 0 signatures, too.
"""

import asyncio
import base64
import json
import logging
import sys

from pytoniq import LiteClient
from pytoniq.liteclient.client import LiteServerError

FULL = -0x8000000000000000


async def read_account(client, address):
    account, shard_account = await client.raw_get_account_state(address)
    transactions = await client.get_transactions(address, 16)
    _, blocks = await client.raw_get_transactions(address, 1)
    one = await client.get_one_transaction(address, transactions[0].lt, blocks[0])
    assert one.cell.hash == transactions[0].cell.hash
    return {
        'address': address,
        'balance': str(account.storage.balance.grams),
        'lastHash': shard_account.last_trans_hash.hex(),
        # Oldest first, as tonutils-go has them.
        'transactions': [each.cell.hash.hex() for each in reversed(transactions)],
        'walletSeqno': (await client.run_get_method(address, 'seqno', []))[0],
    }


async def read_block(client, block, master):
    await client.raw_get_block(block)
    await client.raw_get_block_header(block)
    if block.workchain != -1:
        await client.get_shard_block_proof(block)
        await client.raw_get_shard_info(master, 0, block.shard, True)
    # Pages of two, so that lists are gone on with.
    ids = await client.raw_get_block_transactions(block, 2)
    whole = await client.raw_get_block_transactions_ext(block, 2)
    assert [each['hash'] for each in ids] == [each.cell.hash for each in whole]
    return {
        'workchain': block.workchain,
        'seqno': block.seqno,
        'root': block.root_hash.hex(),
        'transactions': [each['hash'].hex() for each in ids],
    }


async def read(client, asked):
    master = client.last_mc_block
    block, _ = await client.lookup_block(-1, FULL, asked['seqno'])
    shards = await client.get_all_shards_info(block)
    config = await client.get_config_params([19], master)
    await client.get_config_all(master)
    await client.raw_get_mc_block_proof(master, block)
    await client.get_out_msg_queue_sizes()
    try:
        await client.lookup_block(-1, FULL, 1 << 30)
        raise AssertionError('a block that is not there was found')
    except LiteServerError as error:
        assert error.code == 651, error
    found = {
        'master': master.seqno,
        'masterRoot': master.root_hash.hex(),
        'accounts': [await read_account(client, address) for address in asked['accounts']],
        'nobodyIsOne': (await client.raw_get_account_state(asked['nobody']))[0] is not None,
        'blocks': [await read_block(client, each, block) for each in [*shards, block]],
        'globalId': config[19].load_int(32),
    }
    await client.raw_send_message(base64.b64decode(asked['message']))
    head = (await client.get_masterchain_info())['last']['seqno']
    waited = await client.wait_masterchain_seqno(head + 2, 10000, 'getMasterchainInfo', {})
    found['waitedFor'] = waited['last']['seqno']
    return found


async def main(config_path, question_path, trust_level):
    with open(config_path) as config, open(question_path) as question:
        client = LiteClient.from_config(json.load(config), 0, trust_level=int(trust_level), timeout=30)
        asked = json.load(question)
    await client.connect()
    # The updater asks on its own, and would move the head between two questions.
    client.updater.cancel()
    found = await read(client, asked)
    print(json.dumps(found))
    # At the end the client complains of answers that come while it closes.
    logging.disable()
    await client.close()


asyncio.run(main(*sys.argv[1:]))

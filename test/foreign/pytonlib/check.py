"""Reads a devnet through tonlib, which checks signatures and all proofs, and prints what it found as JSON."""

import asyncio
import base64
import json
import sys
import tempfile

from pytonlib import TonlibClient

FULL = '-9223372036854775808'


def hexed(text):
    return base64.b64decode(text).hex()


async def read_account(client, address):
    state = await client.raw_get_account_state(address)
    transactions = await client.get_transactions(address, limit=16)
    ran = await client.raw_run_method(address, 'seqno', [])
    assert ran['exit_code'] == 0, ran
    return {
        'address': address,
        'balance': state['balance'],
        'lastHash': hexed(state['last_transaction_id']['hash']),
        # Oldest first, as the other clients have them.
        'transactions': [hexed(each['transaction_id']['hash']) for each in reversed(transactions)],
        'walletSeqno': int(ran['stack'][0][1], 16),
    }


async def read_block(client, block):
    parts = block['workchain'], block['shard'], block['seqno']
    header = await client.get_block_header(*parts, block['root_hash'], block['file_hash'])
    assert header['id']['root_hash'] == block['root_hash']
    ids = await client.get_block_transactions(*parts, 100, block['root_hash'], block['file_hash'])
    assert all(each['mode'] == 135 for each in ids['transactions']), ids
    # A block is found by its own end_lt.
    assert (await client.lookup_block(*parts[:2], lt=int(header['end_lt'])))['seqno'] == block['seqno']
    if block['workchain'] != -1:
        assert (await client.get_shard_block_proof(*parts))['links']
    return {
        'workchain': block['workchain'],
        'seqno': block['seqno'],
        'root': hexed(block['root_hash']),
        'transactions': [hexed(each['hash']) for each in ids['transactions']],
    }


async def read(client, asked):
    await client.sync_tonlib()
    last = (await client.get_masterchain_info())['last']
    block = await client.lookup_block(-1, FULL, asked['seqno'])
    shards = (await client.get_shards(asked['seqno']))['shards']
    await client.get_config_all()
    sizes = await client.get_out_msg_queue_sizes()
    assert len(sizes['shards']) > 1, sizes
    signatures = await client.get_masterchain_block_signatures(asked['seqno'])
    assert signatures['signatures'], signatures
    config = await client.get_config_param(19)
    missing = await client.raw_get_account_state(asked['nobody'])
    found = {
        'master': last['seqno'],
        'masterRoot': hexed(last['root_hash']),
        'accounts': [await read_account(client, address) for address in asked['accounts']],
        'nobodyIsOne': missing['balance'] != '-1',
        'blocks': [await read_block(client, each) for each in [*shards, block]],
        # The only cell of the bag, before its checksum.
        'globalId': int.from_bytes(base64.b64decode(config['config']['bytes'])[-8:-4], 'big', signed=True),
    }
    await client.raw_send_message(base64.b64decode(asked['message']))
    while (newest := (await client.get_masterchain_info())['last']['seqno']) < last['seqno'] + 2:
        await asyncio.sleep(0.2)
    found['waitedFor'] = newest
    return found


async def main(config_path, question_path, _):
    with open(config_path) as config, open(question_path) as question:
        network, asked = json.load(config), json.load(question)
    with tempfile.TemporaryDirectory() as keystore:
        client = TonlibClient(ls_index=0, config=network, keystore=keystore, tonlib_timeout=30)
        await client.init()
        found = await read(client, asked)
        print(json.dumps(found))
        await client.close()


asyncio.run(main(*sys.argv[1:]))

"""The calls of pytoncenter's client of the v2 API, its decoder of get-methods included; prints what it saw as JSON."""

import asyncio
import base64
import json
import sys

from aiohttp import ClientResponseError
from pytoncenter import get_client
from pytoncenter.decoder import Decoder, Types

PATIENCE_S = 60
PAGE = 2


async def until(what, ask):
    for _ in range(PATIENCE_S * 4):
        if answer := await ask():
            return answer
        await asyncio.sleep(0.25)
    raise TimeoutError(what)


def hexed(text):
    return base64.b64decode(text).hex()


async def history_of(client, address):
    found, start = [], {}
    while True:
        page = await client.get_transactions(address, limit=PAGE, **start)
        fresh = page[1:] if start else page
        found += fresh
        if not fresh:
            return found
        last = page[-1]['transaction_id']
        start = {'begin_lt': last['lt'], 'hash': last['hash']}


async def blocks(client):
    info = await client.get_masterchain_info()
    assert (await client.get_consensus_block())['consensus_block'] >= info['last']['seqno']
    shards = (await client.get_shards(info['last']['seqno']))['shards']
    for block in [info['last'], *shards]:
        place = block['workchain'], block['shard'], block['seqno']
        header = await client.get_block_header(*place)
        assert header['id'] == block, header
        assert await client.lookup_block(*place[:2], lt=header['end_lt']) == block
        assert await client.lookup_block(*place) == block
        ids = await client.get_block_transactions(*place, count=100)
        assert not ids['incomplete']
        await client.get_shard_block_proof(*place)
    return len(shards)


async def live(client, asked):
    address = asked['address']
    before = [str(await client.get_address_balance(address)), await client.get_address_state(address)]
    for seqno, boc in enumerate(asked['messages']):
        await (client.send_boc_return_hash(boc) if seqno else client.send_boc(boc))

        async def taken():
            [entry] = await client.run_get_method(address, 'seqno') or [{}]
            return entry.get('type') == 'num' and int(entry['value'], 16) == seqno + 1

        await until(f'message {seqno} is taken', taken)

    # By somebody else: jettons for the wallet.
    await client.send_boc(asked['payment'])

    async def jettons():
        try:
            return (await client.get_token_data(asked['jettonWallet']))['balance']
        except ClientResponseError as error:
            assert error.status == 409, error
            return None

    token = await until('the jettons have arrived', jettons)

    async def whole():
        found = await history_of(client, address)
        return found if len(found) >= 3 else None

    history = await until('the notice has arrived', whole)
    sending = next(each for each in history if each['out_msgs'])
    trace = await client.trace_tx(sending)
    stack = [
        *(['num', number] for number in asked['numbers']),
        ['tvm.Cell', asked['cell']],
        ['tvm.Slice', asked['slice']],
    ]
    echo = Decoder(Types.Number('most'), Types.Number('least'), Types.Cell('cell'), Types.Cell('slice'))
    echoed = echo.decode(await client.run_get_method(asked['echo'], 'anything', stack))
    # Its decoder of jetton masters fails on any address with the tonpy of today.
    parts = Decoder(Types.Number('supply'), Types.Bool('mintable'), *map(Types.Cell, ('admin', 'content', 'code')))
    master = parts.decode(await client.run_get_method(asked['master'], 'get_jetton_data', []))
    fees = await client.estimate_fee(asked['to'], asked['cell'], '', '')
    both = await client.multicall(client.get_wallet_information(address), client.get_extended_address_information(address))
    return {
        'before': before,
        'jettons': token,
        'history': [hexed(each['transaction_id']['hash']) for each in history],
        'children': len(trace['children']),
        'stack': [str(echoed['most']), str(echoed['least']), echoed['cell'].get_hash().lower(), echoed['slice'].get_hash().lower()],
        'master': {'mintable': master['mintable'], 'supplied': master['supply'] > 0},
        'fee': fees['source_fees']['in_fwd_fee'] > 0,
        'wallet': both[0]['wallet_type'],
        'kind': both[1]['account_state']['@type'],
        'shards': await blocks(client),
        'version': bool((await client.get_config_param(8))['config']['bytes']),
        'address': (await client.detect_address(await client.pack_address(address)))['raw_form'],
        'nobody': await client.get_address_state(asked['nobody']),
    }


async def main(question):
    with open(question) as file:
        asked = json.load(file)
    client = get_client('v2', 'mainnet', custom_endpoint=f'{asked["url"]}/api/v2', api_key='any', qps=1000)
    print(json.dumps(await live(client, asked)))


asyncio.run(main(sys.argv[1]))

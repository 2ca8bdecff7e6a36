"""A wallet's life through tonsdk and its client of the v2 API; prints what it saw as JSON."""

import asyncio
import base64
import json
import sys

import aiohttp
import nacl.signing
from tonsdk.boc import Cell
from tonsdk.contract.token.ft import JettonWallet
from tonsdk.contract.wallet import WalletV3ContractR2
from tonsdk.provider import ToncenterClient, ToncenterWrongResult, address_state
from tonsdk.utils import Address

PATIENCE_S = 60


async def until(what, ask):
    for _ in range(PATIENCE_S * 4):
        if (answer := await ask()) is not None:
            return answer
        await asyncio.sleep(0.25)
    raise TimeoutError(what)


def wallet_of(seed):
    public_key = bytes(nacl.signing.SigningKey(seed).verify_key)
    return WalletV3ContractR2(public_key=public_key, private_key=seed + public_key, wc=0)


def raw(address):
    return Address(address).to_string(False)


def plain(entry):
    """The library's own reader knows neither cells nor what stands in tuples."""
    kind, value = entry
    if kind == 'num':
        return str(int(value, 16))
    assert kind == 'cell', entry
    return Cell.one_from_boc(base64.b64decode(value['bytes'])).bytes_hash().hex()


def address_in(entry):
    bits = Cell.one_from_boc(base64.b64decode(entry[1]['bytes'])).begin_parse()
    return bits.read_msg_addr().to_string(False)


async def live(call, asked):
    client = ToncenterClient(f'{asked["url"]}/api/v2/', 'any')
    wallet, giver = wallet_of(bytes.fromhex(asked['seed'])), wallet_of(bytes.fromhex(asked['giverSeed']))
    address = raw(wallet.address.to_string())
    send = lambda message: call(client.raw_send_message(message['message'].to_boc(False)))
    state = await call(client.raw_get_account_state(address))
    before = [str(state['balance']), address_state(state)]

    async def seqno(of):
        ran = await call(client.raw_run_method(raw(of.address.to_string()), 'seqno', []))
        return int(ran['stack'][0][1], 16) if ran['exit_code'] == 0 else None

    # The first transfer carries the wallet's code and data.
    to = Address(asked['to']).to_string(True, True, False)
    await send(wallet.create_transfer_message(to, 500_000_000, 0, payload='from tonsdk'))

    async def sent():
        return True if await seqno(wallet) == 1 else None

    await until('the wallet has sent', sent)

    async def jetton_wallet_of(owner):
        cell = Cell()
        cell.bits.write_address(Address(owner))
        argument = base64.b64encode(cell.to_boc(False)).decode()
        ran = await call(client.raw_run_method(asked['master'], 'get_wallet_address', [['tvm.Slice', argument]]))
        return address_in(ran['stack'][0])

    own = await jetton_wallet_of(address)
    body = JettonWallet().create_transfer_body(
        Address(address), int(asked['amount']), forward_amount=1, response_address=giver.address
    )
    source = await jetton_wallet_of(raw(giver.address.to_string()))
    await send(giver.create_transfer_message(source, 100_000_000, await seqno(giver), payload=body))

    async def data():
        ran = await call(client.raw_run_method(own, 'get_wallet_data', []))
        return ran['stack'] if ran['exit_code'] == 0 else None

    balance, owner, master, _ = await until('the jettons have arrived', data)
    stack = [*(['num', number] for number in asked['numbers']), ['tvm.Cell', asked['cell']], ['tvm.Slice', asked['slice']]]
    echoed = await call(client.raw_run_method(asked['echo'], 'anything', stack))
    try:
        await call(client.raw_run_method('no address', 'seqno', []))
        refused = None
    except ToncenterWrongResult as error:
        refused = error.code
    return {
        'wallet': address,
        'before': before,
        'jettons': plain(balance),
        'stack': [plain(entry) for entry in echoed['stack']],
        'jettonWallet': {'address': own, 'owner': address_in(owner), 'master': address_in(master)},
        'nobody': address_state(await call(client.raw_get_account_state(asked['nobody']))),
        'refused': refused,
    }


async def main(question):
    with open(question) as file:
        asked = json.load(file)
    async with aiohttp.ClientSession() as session:
        call = lambda ask: ask['func'](session, *ask['args'], **ask['kwargs'])
        print(json.dumps(await live(call, asked)))


asyncio.run(main(sys.argv[1]))

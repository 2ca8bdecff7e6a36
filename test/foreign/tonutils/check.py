"""A wallet's life through tonutils and its client of the v2 API; prints what it saw as JSON."""

import asyncio
import json
import sys

from ton_core import Address, Cell, NetworkGlobalID, PrivateKey, Slice
from tonutils.clients import ToncenterClient
from tonutils.contracts import JettonMasterStandard, JettonTransferBuilder, JettonWalletStandard, WalletV4R2

PATIENCE_S = 60


async def until(what, ask):
    for _ in range(PATIENCE_S * 4):
        if answer := await ask():
            return answer
        await asyncio.sleep(0.25)
    raise TimeoutError(what)


def plain(value):
    """Numbers as text, cells and slices by hash, addresses as they stand in a cell."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Address):
        return value.to_cell().hash.hex()
    if isinstance(value, Slice):
        return value.to_cell().hash.hex()
    return value if value is None else value.hash.hex()


async def seqno_is(wallet, seqno):
    await wallet.refresh()
    return wallet.is_active and await wallet.seqno() == seqno


async def live(client, asked):
    wallet = WalletV4R2.from_private_key(client, PrivateKey(bytes.fromhex(asked['seed'])))
    giver = WalletV4R2.from_private_key(client, PrivateKey(bytes.fromhex(asked['giverSeed'])))
    info = await client.get_info(wallet.address)
    before = [str(info.balance), info.state.value]
    # The first transfer carries the wallet's code and data.
    await wallet.transfer(Address(asked['to']), 500_000_000, body='from tonutils', bounce=False)
    await until('the wallet has sent', lambda: seqno_is(wallet, 1))

    master = await JettonMasterStandard.from_address(client, Address(asked['master']), load_state=False)
    await giver.transfer_message(
        JettonTransferBuilder(
            destination=wallet.address,
            jetton_amount=int(asked['amount']),
            jetton_master_address=master.address,
            amount=100_000_000,
        )
    )
    own = await master.get_wallet_address(wallet.address)

    async def balance():
        state = await client.get_info(own)
        return state.code_raw and (await client.run_get_method(own, 'get_wallet_data'))[0]

    jettons = await until('the jettons have arrived', balance)
    history = await until('the notice has arrived', lambda: pages(client, wallet.address, 3))

    supply, mintable, admin, content, code = await master.get_jetton_data()
    data = await (await JettonWalletStandard.from_address(client, own, load_state=False)).get_wallet_data()
    cell, text = Cell.one_from_boc(asked['cell']), Cell.one_from_boc(asked['slice']).begin_parse()
    stack = [*map(int, asked['numbers']), cell, text, [5, cell, text]]
    config = await client.get_config()
    return {
        'wallet': wallet.address.to_str(is_user_friendly=False),
        'before': before,
        'jettons': str(jettons),
        'history': history,
        'stack': plain(await client.run_get_method(Address(asked['echo']), 'anything', stack)),
        'master': {
            'supplied': supply > 0,
            'mintable': mintable != 0,
            'admin': admin.to_str(is_user_friendly=False),
            'walletCode': code.hash.hex(),
        },
        'jettonWallet': {
            'address': own.to_str(is_user_friendly=False),
            'owner': data[1].to_str(is_user_friendly=False),
            'master': data[2].to_str(is_user_friendly=False),
        },
        'config': sorted(config),
        'nobody': (await client.get_info(Address(asked['nobody']))).state.value,
    }


async def pages(client, address, least):
    """The whole history, which the client asks for in pages until the first transaction."""
    found = await client.get_transactions(address, limit=1000)
    return [each.cell.hash.hex() for each in found] if len(found) >= least else None


async def main(question):
    with open(question) as file:
        asked = json.load(file)
    base_url = f'{asked["url"]}/api/v2'
    # With a key it does not wait 1.3 s between two requests.
    async with ToncenterClient(NetworkGlobalID.MAINNET, base_url=base_url, api_key='any', timeout=30) as client:
        print(json.dumps(await live(client, asked)))


asyncio.run(main(sys.argv[1]))

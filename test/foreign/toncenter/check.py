"""Every call of the v2 API that toncenter wraps, v3 and the streams, through its models; prints what it saw as JSON."""

import asyncio
import base64
import json
import sys

from toncenter.exceptions import ToncenterError
from toncenter.rest import ToncenterRestClient
from toncenter.rest.v3.models import V2RunGetMethodRequest
from toncenter.streaming import ToncenterSSE, ToncenterWebSocket
from toncenter.types import Network

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


async def refusal(call):
    try:
        await call
    except ToncenterError as error:
        return type(error).__name__
    raise AssertionError('nothing was refused')


async def history_of(transactions, address):
    """To the first transaction, in pages that begin with the last one of the page before."""
    found, start = [], {}
    while True:
        page = await transactions.get_transactions(address, limit=PAGE, archival=True, **start)
        fresh = page[1:] if start else page
        found += fresh
        if not fresh:
            return found
        start = {'lt': page[-1].transaction_id.lt, 'hash': page[-1].transaction_id.hash}


class Heard:
    """What a stream tells of the transactions of an account, at its levels."""

    def __init__(self, transport, url):
        self.levels = {}
        self.stream = transport('any', Network.MAINNET, base_url=url)
        self.stream.on_transactions(self.note, min_finality='pending')

    def note(self, told):
        for each in told.transactions:
            self.levels.setdefault(hexed(each['hash']), set()).add(told.finality)

    async def start(self, address):
        await self.stream.create_session()
        self.task = asyncio.create_task(self.stream.start(addresses=[address]))
        await self.stream.wait_subscribed(30)

    async def end(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.stream.close_session()

    def final(self):
        return {hash for hash, levels in self.levels.items() if 'finalized' in levels}


async def index(v3, asked):
    """Listings of the v3 API: their models refuse what has another form."""
    address, master, nobody = asked['address'], asked['master'], asked['nobody']
    listed = (await v3.blockchain.get_transactions(account=[address], limit=100)).transactions
    hashes = [each.hash for each in listed]
    for each in await asyncio.gather(
        v3.accounts.get_account_states([address, master]),
        v3.accounts.get_address_book([address, master]),
        v3.accounts.get_metadata([master, asked['jettonWallet']]),
        v3.actions.get_pending_actions(account=address),
        v3.actions.get_pending_traces(account=address),
        v3.blockchain.get_blocks(limit=100),
        v3.blockchain.get_messages(limit=100),
        v3.blockchain.get_transactions(limit=100),
        v3.jettons.get_jetton_burns(),
        v3.jettons.get_jetton_masters(address=[master]),
        v3.nfts.get_nft_collections(),
        v3.nfts.get_nft_items(limit=100, include_on_sale=True),
        v3.nfts.get_nft_transfers(),
        v3.stats.get_top_accounts_by_balance(),
        v3.utils.get_decode(opcodes=['0x0f8a7ea5']),
        v3.vesting.get_vesting_contracts(wallet_address=[address], check_whitelist=True),
    ):
        assert each is not None

    async def traced():
        traces = (await v3.actions.get_traces(account=address, include_actions=True, limit=100)).traces
        return set(hashes) <= {hash for each in traces for hash in each.transactions}

    await until('its traces are whole', traced)
    actions = (await v3.actions.get_actions(account=address, include_accounts=True, include_transactions=True)).actions
    ran = await v3.api_v2.run_get_method(V2RunGetMethodRequest(address=address, method='seqno', stack=[]))
    wallet = (await v3.accounts.get_wallet_states([address])).wallets[0]
    information = await v3.api_v2.get_wallet_information(address)
    assert (wallet.wallet_type, wallet.seqno) == (information.wallet_type, information.seqno)
    jettons = (await v3.jettons.get_jetton_wallets(owner_address=[address])).jetton_wallets
    transfers = (await v3.jettons.get_jetton_transfers(owner_address=[address])).jetton_transfers
    return {
        'history': [hexed(hash) for hash in hashes],
        'seqno': [wallet.seqno, int(ran.stack[0].value, 16)],
        'type': wallet.wallet_type,
        'jettons': [each.balance for each in jettons],
        'transfers': [each.amount for each in transfers],
        'actions': sorted({each.type for each in actions}),
        'refused': [
            await refusal(v3.blockchain.get_transactions(hash='no hash')),
            await refusal(v3.blockchain.get_transactions_by_masterchain_block(2_000_000_000)),
            await refusal(v3.api_v2.get_wallet_information(master)),
            await refusal(v3.blockchain.get_pending_transactions(account=[nobody])),
        ],
    }


async def accounts(v2, address):
    information = await v2.accounts.get_address_information(address)
    extended = await v2.accounts.get_extended_address_information(address)
    wallet = await v2.accounts.get_wallet_information(address)
    state = await v2.accounts.get_address_state(address)
    assert state == information.state
    balance = await v2.accounts.get_address_balance(address)
    older = await v2.accounts.get_address_information(address, seqno=information.block_id.seqno - 1)
    assert older.block_id.seqno == information.block_id.seqno - 1
    return {
        'state': state,
        'balance': balance,
        'kind': extended.account_state.type,
        'wallet': wallet.wallet,
        'walletType': wallet.wallet_type,
    }


async def blocks(v2):
    info = await v2.blocks.get_masterchain_info()
    consensus = await v2.blocks.get_consensus_block()
    assert consensus.consensus_block >= info.last.seqno
    last = info.last
    signed = await v2.blocks.get_masterchain_block_signatures(last.seqno - 1)
    assert signed.signatures
    sizes = await v2.blocks.get_out_msg_queue_size()
    assert len(sizes.shards) > 1
    shards = (await v2.blocks.get_shards(last.seqno)).shards
    counted = []
    for block in [last, *shards]:
        place = block.workchain, block.shard, block.seqno
        header = await v2.blocks.get_block_header(*place, root_hash=block.root_hash, file_hash=block.file_hash)
        assert header.id == block, (header.id, block)
        for by in ({'seqno': block.seqno}, {'lt': header.end_lt}, {'unixtime': header.gen_utime}):
            found = await v2.blocks.lookup_block(block.workchain, block.shard, **by)
            assert found.seqno == block.seqno or 'unixtime' in by, (by, found)
        proof = await v2.blocks.get_shard_block_proof(*place)
        assert bool(proof.links) == (block.workchain != -1)
        ids, after = [], {}
        while True:
            page = await v2.transactions.get_block_transactions(*place, count=PAGE, **after)
            ids += [each.hash for each in page.transactions]
            if not page.incomplete:
                break
            end = page.transactions[-1]
            after = {'after_lt': end.lt, 'after_hash': end.account.split(':')[1]}
        whole = await v2.transactions.get_block_transactions_ext(*place, count=100)
        assert [each.transaction_id.hash for each in whole.transactions] == ids
        counted.append(len(ids))
    return {'last': last.seqno, 'shards': len(shards), 'counted': sum(counted) > 0}


async def live(client, asked):
    v2, address = client.v2, asked['address']
    streams = [Heard(transport, asked['url']) for transport in (ToncenterSSE, ToncenterWebSocket)]
    for each in streams:
        await each.start(address)
    before = await v2.accounts.get_address_information(address)
    sent = []
    for seqno, boc in enumerate(asked['messages']):
        info = await v2.send.send_boc_return_hash(boc) if seqno else await v2.send.send_boc(boc)
        sent.append(hexed(info.hash) if seqno else info.type)

        async def taken():
            ran = await v2.runmethod.run_get_method(address, 'seqno')
            return ran.exit_code == 0 and int(ran.stack[0][1], 16) == seqno + 1

        await until(f'message {seqno} is taken', taken)

    # By somebody else: jettons for the wallet.
    sent.append(hexed((await v2.send.send_boc_return_hash(asked['payment'])).hash))

    async def jettons():
        try:
            return (await v2.accounts.get_token_data(asked['jettonWallet'])).balance
        except ToncenterError:
            return None

    token = await until('the jettons have arrived', jettons)

    async def whole():
        found = await history_of(v2.transactions, address)
        return found if len(found) >= 3 else None

    history = await until('the notice has arrived', whole)
    # The gift came before anyone listened.
    told = {hexed(each.transaction_id.hash) for each in history[:-1]}
    for each in streams:

        async def all_told():
            return told <= each.final()

        await until('the streams have told it all', all_told)
        await each.end()
    paged = await v2.transactions.get_transactions_std(address, limit=1)
    out = next(message for each in history for message in each.out_msgs)
    by = out.source, out.destination, out.created_lt
    one, two, source = [
        await locate(*by)
        for locate in (
            v2.transactions.try_locate_tx,
            v2.transactions.try_locate_result_tx,
            v2.transactions.try_locate_source_tx,
        )
    ]
    assert one.transaction_id == two.transaction_id
    assert source.transaction_id in [each.transaction_id for each in history]
    stack = [
        *(['num', number] for number in asked['numbers']),
        ['tvm.Cell', asked['cell']],
        ['tvm.Slice', asked['slice']],
        ['tuple', {'@type': 'tvm.tuple', 'elements': [number(5)]}],
        ['list', {'@type': 'tvm.list', 'elements': [number(6), number(7)]}],
    ]
    echoed = await v2.runmethod.run_get_method(asked['echo'], 'anything', stack)
    typed = [
        number(asked['numbers'][1]),
        {'@type': 'tvm.stackEntryCell', 'cell': {'@type': 'tvm.cell', 'bytes': asked['cell']}},
        {'@type': 'tvm.stackEntrySlice', 'slice': {'@type': 'tvm.slice', 'bytes': asked['slice']}},
        {'@type': 'tvm.stackEntryTuple', 'tuple': {'@type': 'tvm.tuple', 'elements': [number(5)]}},
        {'@type': 'tvm.stackEntryList', 'list': {'@type': 'tvm.list', 'elements': [number(6)]}},
    ]
    std = await v2.runmethod.run_get_method_std(asked['echo'], 'anything', typed)
    fees = await v2.send.estimate_fee(asked['to'], asked['cell'])
    config = await v2.configuration.get_config_all()
    version = await v2.configuration.get_config_param(8)
    await v2.configuration.get_libraries(['ff' * 32])
    detected = await v2.utils.detect_address(address)
    packed = await v2.utils.pack_address(address)
    assert packed == detected.bounceable.b64url
    assert (await v2.utils.unpack_address(packed)).lower() == address.lower()
    assert (await v2.utils.detect_hash('ff' * 32)).hex == 'ff' * 32
    called = await v2.rpc.json_rpc('getAddressState', params={'address': address})
    master = await v2.accounts.get_token_data(asked['master'])
    return {
        'before': [before.balance, before.state],
        'sent': sent,
        'jettons': token,
        'history': [hexed(each.transaction_id.hash) for each in history],
        'heard': [sorted(each.final()) for each in streams],
        'index': await index(client.v3, asked),
        'newest': hexed(paged.transactions[0].transaction_id.hash),
        'stack': echoed.stack,
        'std': [entry.model_dump(by_alias=True) for entry in std.stack],
        'fee': fees.source_fees.in_fwd_fee > 0,
        'config': [bool(config.config.bytes), bool(version.config.bytes)],
        'account': await accounts(v2, address),
        'nobody': await accounts(v2, asked['nobody']),
        'blocks': await blocks(v2),
        'rpc': called if isinstance(called, str) else called['result'],
        'master': {'symbol': master.jetton_content.data['symbol'], 'mintable': master.mintable, 'supply': master.total_supply.isdigit()},
        'refused': [
            await refusal(v2.accounts.get_address_balance('no address')),
            await refusal(v2.accounts.get_token_data(asked['nobody'])),
        ],
    }


def number(value):
    return {'@type': 'tvm.stackEntryNumber', 'number': {'@type': 'tvm.numberDecimal', 'number': str(value)}}


async def main(question):
    with open(question) as file:
        asked = json.load(file)
    # With a key it does not wait a second between two requests; its retries would only make failures slow.
    async with ToncenterRestClient('any', base_url=asked['url'], timeout=30, retry_policy=None) as client:
        print(json.dumps(await live(client, asked)))


asyncio.run(main(sys.argv[1]))

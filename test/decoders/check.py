"""Reads every block of a folder with pytoniq-core and prints a line for each: id, root hash, transaction hashes."""

import sys
from pathlib import Path

from pytoniq_core import Cell
from pytoniq_core.tlb.block import Block


def describe(path: Path) -> str:
    root = Cell.one_from_boc(path.read_bytes())
    block = Block.deserialize(root.begin_parse())
    hashes = []
    for account in block.extra.account_blocks[0].values():
        for transaction in account.transactions[0].values():
            hashes.append(transaction.cell.hash.hex())
    shard = block.info.shard
    prefix = shard.shard_prefix if isinstance(shard.shard_prefix, int) else int(shard.shard_prefix)
    number = prefix | 1 << (63 - shard.shard_pfx_bits)
    ident = f"{shard.workchain_id}:{number:016x}:{block.info.seqno}"
    return f"{ident} {root.hash.hex()} {','.join(sorted(hashes))}"


for path in sorted(Path(sys.argv[1]).glob("*.boc")):
    print(describe(path))

import { type Cell, toBoc } from '../../chain/builder.ts';
import type { Hash } from '../../chain/model.ts';
import { blockIdExtToTl, type LiteAnswer, type LiteRequest } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import type { Blocks } from './blocks.ts';
import { prove, showHeader } from './proofs.ts';
import { accountBlocks, blockTransactions, type Entry, showTransaction } from './transactions.ts';

type Listing = LiteRequest<'listBlockTransactions'> | LiteRequest<'listBlockTransactionsExt'>;
type TransactionId = LiteAnswer<'listBlockTransactions'>['ids'][number];

/** A node's limit. */
const MAX_LISTED = 256;

/** Bits of the mode: fields of each id, a proof, the direction, where to go on. */
const LIST = { account: 1, lt: 2, hash: 4, proof: 32, reverse: 64, after: 128 } as const;

interface Page {
  entries: Entry[];
  incomplete: boolean;
}

/** The transactions behind `after` in the order asked for: by account, then lt, or the reverse. */
function pageOf(root: Cell, { mode, count, after }: Listing): Page {
  const reverse = (mode & LIST.reverse) !== 0;
  const all = blockTransactions(root);
  if (reverse) all.reverse();
  const start =
    mode & LIST.after && after !== undefined ? all.findIndex((entry) => isBehind(entry, after, reverse)) : 0;
  const rest = start < 0 ? [] : all.slice(start);
  const limit = Math.min(count, MAX_LISTED);
  return { entries: rest.slice(0, limit), incomplete: rest.length > limit };
}

function isBehind(entry: Entry, after: { account: Hash; lt: bigint }, reverse: boolean): boolean {
  const order = Buffer.compare(entry.account, after.account) || Math.sign(Number(entry.lt - after.lt));
  return reverse ? order < 0 : order > 0;
}

/** Shows the ways to the transactions listed, and to the one they come behind. */
function listProof(root: Cell, { mode, after }: Listing, { entries }: Page): Buffer {
  if (!(mode & LIST.proof)) return Buffer.alloc(0);
  const shown = prove(root, (visit) => {
    showHeader(root, 0, visit);
    accountBlocks(root, visit);
    if (mode & LIST.after && after !== undefined) showTransaction(root, after.account, after.lt, visit);
    for (const { account, lt } of entries) showTransaction(root, account, lt, visit);
  });
  return toBoc(shown);
}

function idOf({ account, lt, cell }: Entry, mode: number): TransactionId {
  return {
    // As nodes do: the mode of the call, of which the lowest bits say what is here.
    mode,
    ...(mode & LIST.account ? { account } : {}),
    ...(mode & LIST.lt ? { lt } : {}),
    ...(mode & LIST.hash ? { hash: cell.hash() } : {}),
  };
}

export function blockTransactionHandlers(blocks: Blocks): LiteHandlers {
  function list(request: Listing) {
    const place = blocks.find(request.id);
    const root = blocks.root(place);
    const page = pageOf(root, request);
    return { page, common: { id: blockIdExtToTl(place), reqCount: request.count, incomplete: page.incomplete }, root };
  }
  return {
    listBlockTransactions(request) {
      const { page, common, root } = list(request);
      const ids = page.entries.map((entry) => idOf(entry, request.mode));
      return { ...common, ids, proof: listProof(root, request, page) };
    },
    listBlockTransactionsExt(request) {
      const { page, common, root } = list(request);
      const cells = page.entries.map(({ cell }) => cell);
      const transactions = cells.length === 0 ? Buffer.alloc(0) : toBoc(cells);
      return { ...common, transactions, proof: listProof(root, request, page) };
    },
  };
}

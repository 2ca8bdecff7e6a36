/** A devnet in memory with its people, step by step, and a log of it as an ingester would have written it. */
import { accountStatesAfter } from '../src/chain/accounts.ts';
import { rawAddress, workchainOf } from '../src/chain/address.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { toBoc } from '../src/chain/builder.ts';
import type { AccountState } from '../src/chain/model.ts';
import { createActors } from '../src/devnet/actors/actors.ts';
import { type Cast, createCast } from '../src/devnet/actors/cast.ts';
import { type InitialAccount, initialAccounts } from '../src/devnet/actors/initial-accounts.ts';
import type { Deed } from '../src/devnet/actors/traffic.ts';
import { createChain } from '../src/devnet/chain.ts';
import { chainLedger, genesisOf } from '../src/devnet/chain-ledger.ts';
import type { Chain, ChainOptions, GenesisAccount, ProducedBlock, ProducedStep } from '../src/devnet/model.ts';
import { type CellRecord, encodeCellRecord } from '../streams/cell-record.ts';
import { encodeBlockRecord } from '../streams/envelope.ts';
import { askAccount } from '../streams/ingest/cell-answers.ts';
import type { EventLog, LogRecord } from '../streams/log.ts';
import type { TopicNames } from '../streams/topics.ts';

export interface PeopledDevnet {
  chain: Chain;
  cast: Cast;
  genesis: readonly InitialAccount[];
  /** Another step, a second later unless its time is given, and what the people send after it. */
  step(): Promise<ProducedStep>;
  close(): void;
}

const START = 1_700_000_000;
const TRADERS = 8;

/** What the people do, and until when. */
export interface PeopledOptions {
  /** Of the chain, where it is to be another than usual. */
  chain?: Partial<ChainOptions>;
  weights?: Partial<Record<Deed, number>>;
  /** How many people. */
  traders?: number;
  /** Let messages race with each other. */
  races?: boolean;
  /** Behind which steps nobody sends anything: what is on its way comes to rest. */
  rests?: (mcSeqno: number) => boolean;
  /** Accounts of the zero state besides the people's. */
  contracts?: readonly GenesisAccount[];
  /** Time of a step in seconds behind the start. Default: its seqno. */
  secondsOf?: (mcSeqno: number) => number;
}

/** Jettons and items have data of several cells, of which a block shows those that change. */
const TOKEN_DEEDS = { transfer: 1, jettonPayment: 4, burn: 1, mint: 2, giveItem: 3, mintItem: 3 } as const;

/** @param rate external messages a step */
export async function createPeopledDevnet(
  seed: string,
  rate: number,
  {
    weights = TOKEN_DEEDS,
    traders = TRADERS,
    races = false,
    rests = () => false,
    secondsOf = (mcSeqno) => mcSeqno,
    contracts = [],
    chain: more = {},
  }: PeopledOptions = {},
): Promise<PeopledDevnet> {
  const cast = createCast({ seed, traders });
  const genesis = initialAccounts(cast);
  const options = { folder: null, seed, blockTimeMs: 1000, startUtime: START, ...more };
  const chain = await createChain({ ...options, genesis: [...genesisOf(genesis), ...contracts] });
  const now = { seqno: 0, nowMs: START * 1000 };
  const actors = createActors({ seed, traders, ledger: chainLedger(chain), now, rate, weights, races });
  return {
    chain,
    cast,
    genesis,
    async step() {
      const step = chain.produce(START + secondsOf(chain.head().mc.seqno + 1));
      if (!rests(step.mc.seqno)) await actors.step({ seqno: step.mc.seqno, nowMs: step.mc.genUtime * 1000 });
      return step;
    },
    close() {
      actors.close();
      chain.close();
    },
  };
}

/** The states that a step's blocks show, the whole of them or parts. */
export function statesAfter(step: ProducedStep): { block: ProducedBlock; state: AccountState }[] {
  return [...step.shards, step.mc].flatMap((block) =>
    accountStatesAfter(decodeBlock(openBoc(block.bytes))).map((state) => ({ block, state })),
  );
}

/** The blocks of a step as they stand in the log. */
export function stepRecords({ chain }: PeopledDevnet, { shards, mc }: ProducedStep): LogRecord[] {
  const blocks = [...shards, mc];
  return blocks.map(({ workchain, shard, seqno, rootHash, fileHash, genUtime, bytes }, at) =>
    encodeBlockRecord({
      id: { workchain, shard, seqno, rootHash, fileHash },
      globalId: chain.globalId,
      genUtime,
      mcSeqno: mc.seqno,
      seal: at === blocks.length - 1 ? blocks.length : null,
      receivedAtMs: genUtime * 1000,
      source: 'devnet',
      zeroState: chain.zeroState.mc.rootHash,
      boc: bytes,
    }),
  );
}

/** An account to ask for: the state to ask, and the step before which the answer comes. */
interface Question {
  block: ProducedBlock;
  state: AccountState;
  mcSeqno: number;
  due: number;
}

/**
 * Appends steps with the cells that their blocks leave out: some answers come before the next step, others later, and
 * some of those are outrun by a newer state, which is then asked for, too. Each comes twice.
 *
 * @param steps how many, or whether there is to be another one behind a step
 */
export async function logWithCells(
  devnet: PeopledDevnet,
  log: EventLog,
  topics: TopicNames,
  steps: number | ((step: ProducedStep) => boolean),
) {
  const isLast = (n: number, step: ProducedStep): boolean =>
    typeof steps === 'number' ? n === steps - 1 : !steps(step);
  const waiting = new Map<string, Question>();
  const newest = new Map<string, Question>();
  const known = new Set<string>();
  const codes = new Set<string>();
  let asked = 0;

  async function answer(question: Question): Promise<CellRecord[]> {
    const { state, block, mcSeqno } = question;
    const found = devnet.chain.account(workchainOf(state.account), state.account.subarray(4), mcSeqno);
    const { account, hash: stateHash, lastTransactionLt: lt, lastTransactionHash } = state;
    const last = { lastTransactionLt: lt, lastTransactionHash };
    const node = { account: async () => ({ boc: found && toBoc(found.account), ...last }) };
    const { globalId } = devnet.chain;
    const answers = await askAccount(
      node,
      { account, stateHash, lt, transaction: lastTransactionHash, block, mcSeqno, globalId, extra: null },
      new AbortController().signal,
    );
    const after = await log.end(topics.blocks);
    return answers
      .filter(({ kind, hash }) => kind === 'data' || !codes.has(hash.toString('hex')))
      .map((one) => ({ ...one, after, receivedAtMs: 0 }));
  }

  async function keep(question: Question): Promise<void> {
    const records = await answer(question);
    for (const { kind, hash } of records) if (kind === 'code') codes.add(hash.toString('hex'));
    await log.append(topics.cells, records.map(encodeCellRecord));
  }

  function look(step: ProducedStep): void {
    const { seqno } = step.mc;
    for (const { block, state } of statesAfter(step)) {
      const account = rawAddress(state.account);
      const question = { block, state, mcSeqno: seqno, due: seqno };
      newest.set(account, question);
      const code = state.codeHash !== null && !state.codeComplete && !codes.has(state.codeHash.toString('hex'));
      const data = state.dataHash !== null && !state.dataComplete && !known.has(account);
      if ((code || data) && !waiting.has(account)) waiting.set(account, { ...question, due: seqno + (asked++ % 3) });
    }
  }

  let isOver = steps === 0;
  for (let n = 0; !isOver; n++) {
    const step = await devnet.step();
    await log.append(topics.blocks, stepRecords(devnet, step));
    look(step);
    isOver = isLast(n, step);
    for (const [account, question] of waiting) {
      if (question.due > step.mc.seqno && (typeof steps !== 'number' || n < steps - 2)) continue;
      waiting.delete(account);
      known.add(account);
      await keep(question);
      const later = newest.get(account);
      if (later && later.mcSeqno > question.mcSeqno) await keep(later);
      // As two ingesters in turn may do.
      await keep(question);
    }
  }
}

/** What proofs by signatures cost, for the benchmark: a group as large as mainnet's, signed by the devnet's validators. */
import { checkLink, createSignerCache } from '../src/chain/block-proof.ts';
import { createChain } from '../src/devnet/chain.ts';
import { createLiteserver } from '../src/devnet/liteserver.ts';
import type { Chain } from '../src/devnet/model.ts';
import { blockIdExtToTl, decodeAnswer, encodeAnswer } from '../src/node/lite-api.ts';
import { linkFromTl } from '../src/node/lite-links.ts';
import type { Executor } from '../src/tvm/executor.ts';

export interface ProofFigures {
  signatures: number;
  /** Of one answer. */
  bytes: number;
  /** CPU milliseconds to read and check an answer: the first from a key block, and those after it. */
  firstMs: number;
  nextMs: number;
}

const VALIDATORS = { total: 350, main: 100 };
const PROOFS = 100;

export async function measureProofs(): Promise<ProofFigures> {
  const options = { folder: null, seed: 'proof figures', genesis: [], blockTimeMs: 1000, validators: VALIDATORS };
  const chain = await createChain({ ...options, limits: { keepStates: 10 } });
  try {
    while (chain.head().mc.seqno < PROOFS + 1) chain.produce(1_800_000_000 + chain.head().mc.seqno);
    const answers = await answersOf(chain);
    // Once before, so that nothing is compiled while it is measured.
    check(answers.slice(0, 20), createSignerCache());
    const first = cpuMs(() => {
      for (const answer of answers.slice(0, 20)) check([answer], createSignerCache());
    });
    const signers = createSignerCache();
    check(answers.slice(0, 1), signers);
    const next = cpuMs(() => check(answers, signers));
    const [{ signatures }] = decodeAnswer('getBlockProof', answers[0]).steps.map(linkFromTl).map(onlyForward);
    return {
      signatures: signatures.signatures.length,
      bytes: answers[0].length,
      firstMs: first / 20,
      nextMs: next / answers.length,
    };
  } finally {
    chain.close();
  }
}

/** The answers of a server to the question for each block behind the first key block. */
async function answersOf(chain: Chain): Promise<Buffer[]> {
  const unused = new Proxy({} as Executor, {});
  const { handlers, close } = createLiteserver({ chain, executor: unused });
  const { getBlockProof } = handlers;
  if (getBlockProof === undefined) throw new Error('no such handler');
  const at = (seqno: number) => {
    const place = chain.lookup({ workchain: -1, shard: '8000000000000000', seqno });
    if (place === null) throw new Error(`no block ${seqno}`);
    return blockIdExtToTl(place);
  };
  const answers: Buffer[] = [];
  for (let seqno = 2; seqno <= PROOFS + 1; seqno++) {
    const request = { method: 'getBlockProof', mode: 1, knownBlock: at(1), targetBlock: at(seqno) } as const;
    const call = { signal: new AbortController().signal, peer: 'none' };
    answers.push(encodeAnswer('getBlockProof', await getBlockProof(request, call)));
  }
  close();
  return answers;
}

function check(answers: readonly Buffer[], signers: ReturnType<typeof createSignerCache>): void {
  for (const answer of answers) {
    for (const step of decodeAnswer('getBlockProof', answer).steps) checkLink(linkFromTl(step), signers);
  }
}

function onlyForward(link: ReturnType<typeof linkFromTl>) {
  if (link.kind !== 'forward') throw new Error('not a forward link');
  return link;
}

function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

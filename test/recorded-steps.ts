/** Steps of a recorded sequence as a projector publishes them that begins with them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Arrival } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import type { BatchAccounts } from '../streams/project/accounts.ts';
import { createAssembler } from '../streams/project/assemble.ts';
import { countInto, newCounters } from '../streams/project/counters.ts';
import { decodeStep } from '../streams/project/decode.ts';
import type { StoredAccount } from '../streams/project/packed.ts';
import { projectedSteps } from '../streams/project/step-rows.ts';
import { createOpenMessages } from '../streams/project/traces.ts';
import type { ProjectedStep } from '../streams/projected-step.ts';
import { readSteps, type Step } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { sequenceFile } from './recorded-sequence.ts';

const MAX_DATA_BYTES = 1024 * 1024;

/** The offset behind a step is its place in the list. */
export function recordedSteps(name: Parameters<typeof sequenceFile>[0]): Promise<Arrival[]> {
  return stepsOfFiles([sequenceFile(name)]);
}

/** The same of block files; `loose`: blocks without their masterchain block make steps too. */
export async function stepsOfFiles(files: readonly string[], { loose = false } = {}): Promise<Arrival[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-steps-'));
  const log = openEmbeddedLog({ folder });
  try {
    const topics = topicNames();
    await importFiles(log, topics, files, { loose });
    const steps: ProjectedStep[] = [];
    const project = createSteps();
    const { signal } = new AbortController();
    for await (const some of readSteps(log, topics.blocks, 0, { signal, stopAtEnd: true })) {
      for (const step of some) steps.push(await project(step));
    }
    return steps.map((step, i) => ({ step, nextOffset: i + 1 }));
  } finally {
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As the projector does it, with what it would find in the tables in memory. */
export function createSteps(): (step: Step) => Promise<ProjectedStep> {
  const held = new Map<string, StoredAccount>();
  const data = new Map<string, Buffer>();
  const accounts: BatchAccounts = {
    get: (account) => held.get(account.toString('hex')) ?? null,
    put: (account, stored) => void held.set(account.toString('hex'), stored),
    dataOf: async (account) => data.get(account.toString('hex')) ?? null,
    putData: (account, boc) => void data.set(account.toString('hex'), boc),
  };
  const assembler = createAssembler({
    accounts: { begin: async () => accounts },
    openMessages: createOpenMessages(100_000, () => undefined),
    senders: { find: async () => new Map() },
    maxDataBytes: MAX_DATA_BYTES,
    metrics: countInto(newCounters()),
  });
  const { signal } = new AbortController();
  let number = 0;
  let previous = 0;
  return async (step) => {
    const batch = { number: ++number, firstMcSeqno: step.mcSeqno };
    const { steps } = await assembler.assemble([decodeStep(step)], batch, signal, { live: true });
    const [projected] = projectedSteps([step], steps, previous);
    previous = step.mcSeqno;
    return projected;
  };
}

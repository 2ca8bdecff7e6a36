/** Steps of a recorded sequence as a projector publishes them, without tables: traces and states before are left out. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Arrival } from '../src/window/window.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { sequenceFile } from '../streams/ingest/recorded-sequence.ts';
import type { LiveStep } from '../streams/live-steps.ts';
import { decodeStep } from '../streams/project/decode.ts';
import { createLiveDraft, type LiveLinks } from '../streams/project/live.ts';
import { inOrder } from '../streams/project/order.ts';
import { readSteps, type Step } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';

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
    const live = createLive();
    const steps: LiveStep[] = [];
    const { signal } = new AbortController();
    for await (const some of readSteps(log, topics.blocks, 0, { signal, stopAtEnd: true })) {
      steps.push(...some.map((step) => live(step)));
    }
    return steps.map((step, i) => ({ step, nextOffset: i + 1 }));
  } finally {
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function createLive(): (step: Step) => LiveStep {
  const sent = new Map<string, NonNullable<LiveLinks['arrival']>>();
  let previous = 0;
  return (step) => {
    const decoded = decodeStep(step);
    const draft = createLiveDraft(decoded.blocks, MAX_DATA_BYTES);
    for (const placed of inOrder(decoded)) {
      const { transaction, block, after } = placed;
      const arrival = (transaction.inMsg && sent.get(transaction.inMsg.hash.toString('hex'))) ?? null;
      const traceId = arrival?.traceId ?? transaction.hash;
      draft.transaction(placed, { traceId, externalHash: null, before: null, arrival });
      for (const message of transaction.outMsgs) {
        sent.set(message.hash.toString('hex'), {
          traceId,
          externalHash: null,
          outTxHash: transaction.hash,
          outLt: transaction.lt,
          outMcSeqno: step.mcSeqno,
          globalVersion: block.record.header.genSoftware?.version ?? 0,
        });
      }
      if (after) draft.state(after, block, null, null);
    }
    const sealed = draft.seal(step, previous);
    previous = step.mcSeqno;
    return sealed;
  };
}

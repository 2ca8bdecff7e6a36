import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { TABLES } from '../../clickhouse/tables/all.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { recordedSteps } from '../../test/recorded-steps.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { decodeProjectedStep, encodeProjectedStep, type ProjectedStep } from '../projected-step.ts';
import { encodeStepRecords, readProjectedSteps } from '../steps-topic.ts';
import { topicNames } from '../topics.ts';
import { createPublisher } from './publish.ts';

const topics = topicNames();
const MB = 1024 * 1024;

let steps: ProjectedStep[];
let folder: string;
let log: EventLog;

beforeAll(async () => {
  if (shelf !== null) steps = (await recordedSteps('mainnet-genesis_a')).map(({ step }) => step);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-publish-'));
  log = openEmbeddedLog({ folder });
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

const publisher = (retainBytes = 64 * MB) => createPublisher({ log, topics, logger: silent, retainBytes, retainMs: 0 });

async function published(): Promise<ProjectedStep[]> {
  const { signal } = new AbortController();
  const found: ProjectedStep[] = [];
  for await (const some of readProjectedSteps(log, topics.steps, await log.low(topics.steps), {
    signal,
    stopAtEnd: true,
  })) {
    found.push(...some.map(({ step }) => step));
  }
  return found;
}

/** A character a byte: buffers are compared element by element, which takes seconds for these. */
const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const bytesOf = (some: readonly ProjectedStep[]): string[] => some.map((step) => asText(encodeProjectedStep(step)));
const seqnos = (some: readonly ProjectedStep[]): number[] => some.map(({ mcSeqno }) => mcSeqno);

describe.skipIf(shelf === null)('projected steps', () => {
  it('are read as they were written, every column of every row', () => {
    const rowBytes = (table: Table, rows: readonly object[]): string => {
      const writer = new RowWriter();
      for (const row of rows) table.write(writer, row);
      return asText(Buffer.concat(writer.take()));
    };
    for (const step of steps) {
      const { rows, ...head } = decodeProjectedStep(encodeProjectedStep(step));
      const { rows: written, ...headWritten } = step;
      expect(head).toEqual(headWritten);
      for (const table of TABLES.filter(({ carried }) => carried !== null)) {
        expect(rowBytes(table, rows.of(table)), table.name).toEqual(rowBytes(table, written.of(table)));
      }
    }
  });

  it('have the same bytes each time, also after they were read', async () => {
    const again = (await recordedSteps('mainnet-genesis_a')).map(({ step }) => encodeProjectedStep(step));
    expect(again.map(asText)).toEqual(bytesOf(steps));
    expect(bytesOf(again.map((bytes) => decodeProjectedStep(bytes)))).toEqual(again.map(asText));
  });

  it('of an earlier version are passed over', async () => {
    const records = steps.slice(0, 3).flatMap((step) => encodeStepRecords(step, 0, 500));
    const earlier = { ...records[0], headers: { ...records[0].headers, v: '1' } };
    await log.append(topics.steps, [earlier, ...records]);
    expect(bytesOf(await published())).toEqual(bytesOf(steps.slice(0, 3)));
    const later = { ...records[0], headers: { ...records[0].headers, v: '9' } };
    await log.append(topics.steps, [later]);
    await expect(published()).rejects.toThrow('version 9');
  });

  it('that are damaged or of another version are refused', () => {
    const bytes = encodeProjectedStep(steps[3]);
    expect(() => decodeProjectedStep(bytes.subarray(0, bytes.length - 1))).toThrow('damaged');
    expect(() => decodeProjectedStep(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow('damaged');
    expect(() => decodeProjectedStep(Buffer.concat([Buffer.from([9]), bytes.subarray(1)]))).toThrow('version 9');
  });

  it('come in parts when they are large, and count once the last is there', async () => {
    const [first, second, third] = steps;
    const parts = encodeStepRecords(second, 0, 500);
    expect(parts.length).toBeGreaterThan(2);
    // The publisher was killed in the middle of the second step, and published it again.
    const records = [
      ...encodeStepRecords(first, 0),
      ...parts.slice(0, 2),
      ...parts,
      ...encodeStepRecords(third, 0, 700),
    ];
    for (const record of records) await log.append(topics.steps, [record]);
    expect(bytesOf(await published())).toEqual(bytesOf([first, second, third]));
    // One who begins to read inside a step sees the next one first.
    await log.trim(topics.steps, 2);
    expect(seqnos(await published())).toEqual(seqnos([second, third]));
  });
});

describe.skipIf(shelf === null)('the publisher', () => {
  it('goes on where the topic ends, whatever it is given again', async () => {
    await (await publisher()).publish(steps.slice(0, 30));
    const second = await publisher();
    await second.publish(steps.slice(10, 20));
    await second.publish(steps.slice(20, 50));
    expect(bytesOf(await published())).toEqual(bytesOf(steps.slice(0, 50)));
  });

  it('begins the topic anew behind a hole', async () => {
    const one = await publisher();
    await one.publish(steps.slice(0, 30));
    await one.publish(steps.slice(40, 50));
    await one.publish(steps.slice(50, 60));
    expect(seqnos(await published())).toEqual(seqnos(steps.slice(40, 60)));
  });

  it('begins a topic that was emptied with a step that follows none', async () => {
    await (await publisher()).publish(steps.slice(0, 30));
    await log.trim(topics.steps, await log.end(topics.steps));
    await (await publisher()).publish(steps.slice(28, 32));
    const found = await published();
    expect(found.map(({ previous }) => previous)).toEqual([0, ...seqnos(steps.slice(28, 31))]);
  });

  it('begins it anew when the same step is of another chain', async () => {
    const one = await publisher();
    await one.publish(steps.slice(0, 30));
    const other = steps.slice(29, 32).map((step) => ({ ...step, rootHash: Buffer.alloc(32, step.mcSeqno) }));
    await one.publish(other);
    expect((await published())[0]).toMatchObject({ rootHash: other[1].rootHash, previous: 0 });
  });

  it('keeps the newest bytes, in whole steps', async () => {
    const retained = 200_000;
    const one = await publisher(retained);
    for (const step of steps) await one.publish([step]);
    const kept = await published();
    const bytes = kept.reduce((sum, step) => sum + encodeProjectedStep(step).length, 0);
    expect(bytesOf(kept)).toEqual(bytesOf(steps.slice(-kept.length)));
    // Trimmed each time a sixteenth was added.
    expect(bytes).toBeGreaterThan(retained * 0.9);
    expect(bytes).toBeLessThan(retained * 1.2);
  });

  it('does not want steps that would be gone from the topic before the end of the log is reached', async () => {
    const boc = Buffer.alloc(1_000);
    for (let i = 0; i < 300; i++) await log.append(topics.blocks, [{ key: String(i), headers: {}, value: boc }]);
    const one = await publisher(MB / 8);
    const at = (nextOffset: number) => [{ mcSeqno: nextOffset, nextOffset, blocks: [{ boc }] }];
    expect(await one.wants(at(10))).toBe(false);
    expect(await one.wants(at(100))).toBe(false);
    expect(await one.wants(at(200))).toBe(true);
    // It stays with what it has begun.
    expect(await one.wants(at(100))).toBe(true);
    await one.publish(steps.slice(0, 20));
    expect(await one.wants(at(5))).toBe(false);
  });
});

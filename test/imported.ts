/** What an import of recorded blocks makes of a log: what following the same chain has to make of it too. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import type { EventLog } from '../streams/log.ts';
import { topicNames } from '../streams/topics.ts';
import { logContent, sequenceFile } from './recorded-sequence.ts';

const topics = topicNames();
const imports = new Map<string, Promise<string[]>>();

/** What a log holds besides where and when its blocks were got. */
export async function content(of: EventLog): Promise<string[]> {
  const records = await logContent(of, topics.blocks);
  return records.map((record) => record.replace(/,"src":"(file|lite)"/, '').replace(/,"zs":"[0-9a-f]{64}"/, ''));
}

/** The log that an import of the files makes, once a name. */
export function imported(name: string): Promise<string[]> {
  const known = imports.get(name) ?? importAnew(name);
  imports.set(name, known);
  return known;
}

async function importAnew(name: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-imported-'));
  const log = openEmbeddedLog({ folder });
  try {
    await importFiles(log, topics, [sequenceFile(name)]);
    return await content(log);
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}

/** What is asked of a step that is over, against what was answered when it was the newest. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { MIGRATED } from '../clickhouse/test-schema.ts';
import { silent } from '../clickhouse/test-server.ts';
import { rawAddress } from '../src/chain/address.ts';
import { readConfig } from '../src/config.ts';
import type { EventLog } from '../streams/log.ts';
import { project } from '../streams/project/projector.ts';
import { offsetOfStep } from '../streams/step-search.ts';
import { topicNames } from '../streams/topics.ts';
import { PATIENT_LIMITS, serveApi } from './api-server.ts';
import { random, rounds } from './chance.ts';
import { specSchemas } from './spec-schemas.ts';
import { tablesOf } from './windowed.ts';

export interface Past {
  log: EventLog;
  /** Of the ClickHouse server. */
  clickhouseUrl: string;
  /** Of the API over all steps. */
  url: string;
  steps: number;
}

interface Question {
  path: string;
  list: string;
  shape: string;
}

const topics = topicNames();
const { signal } = new AbortController();
const ROWS = 1_000;
const PAGE = 3;
const object = z.record(z.string(), z.any());
type Json = z.output<typeof object>;

/** The log as it was before a block was there. */
function logBefore(log: EventLog, offset: number): EventLog {
  return {
    ...log,
    end: async (topic) => (topic === topics.blocks ? offset : log.end(topic)),
    async *read(topic, from, options) {
      for await (const batch of log.read(topic, from, options)) {
        const some = topic === topics.blocks ? batch.filter((record) => record.offset < offset) : batch;
        if (some.length > 0) yield some;
      }
    },
  };
}

async function read(url: string, { path, shape }: Question): Promise<Json> {
  const response = await fetch(`${url}/api/v3${path}`);
  const body = object.parse(await response.json());
  expect(response.status, `${path}: ${JSON.stringify(body)}`).toBe(200);
  specSchemas('v3')(shape, body);
  return body;
}

const rowsOf = async (url: string, question: Question): Promise<Json[]> =>
  z.array(object).parse((await read(url, question))[question.list]);

/** All that wallets and items can be asked by, of those that there are. */
async function questions(url: string): Promise<Question[]> {
  const wallets = (path: string): Question => ({ path, list: 'jetton_wallets', shape: 'JettonWalletsResponse' });
  const items = (path: string): Question => ({ path, list: 'nft_items', shape: 'NFTItemsResponse' });
  const allWallets = await rowsOf(url, wallets(`/jetton/wallets?limit=${ROWS}`));
  const allItems = await rowsOf(url, items(`/nft/items?limit=${ROWS}`));
  const one = (rows: Json[], member: string): string => {
    const values = [...new Set(rows.flatMap((row) => row[member] ?? []))];
    return encodeURIComponent(values[random(values.length)]);
  };
  const [wallet, owner, other, jetton] = ['address', 'owner', 'owner', 'jetton'].map((name) => one(allWallets, name));
  const [item, holder, collection] = ['address', 'owner_address', 'collection_address'].map((name) =>
    one(allItems, name),
  );
  const seller = one(
    allItems.filter((row) => row.real_owner !== row.owner_address),
    'real_owner',
  );
  return [
    ...['', `jetton_address=${jetton}`, `jetton_address=${jetton}&sort=desc`, `jetton_address=${jetton}&sort=asc`]
      .concat([`owner_address=${owner}`, `owner_address=${owner}&owner_address=${other}&exclude_zero_balance=true`])
      .concat([`owner_address=${owner}&jetton_address=${jetton}`, 'exclude_zero_balance=true', `address=${wallet}`])
      .map((query) => wallets(`/jetton/wallets?${query}`)),
    ...['', `collection_address=${collection}`, `collection_address=${collection}&index=1&index=2`]
      .concat([`owner_address=${holder}`, `owner_address=${seller}&include_on_sale=true`, `owner_address=${seller}`])
      .concat(['sort_by_last_transaction_lt=true', `address=${item}`, `owner_address=${holder}&address=${item}`])
      .map((query) => items(`/nft/items?${query}`)),
  ];
}

export function describePast(given: () => Past): void {
  it('answers for earlier steps as was answered at them', async () => {
    const { log, clickhouseUrl, url, steps } = given();
    const clickhouse = createClickHouse({ url: clickhouseUrl, database: 'past', logger: silent });
    await migrate({ clickhouse, logger: silent });
    const config = { ...readConfig([], {}).config, batchSteps: 20 };
    const asked = await questions(url);
    const accounts = (
      await clickhouse.json(
        `SELECT DISTINCT lower(hex(account)) AS text FROM ${MIGRATED}.transactions LIMIT 60`,
        z.object({ text: z.string() }),
      )
    ).map(({ text }) => encodeURIComponent(rawAddress(Buffer.from(text, 'hex'))));
    const drawn = Array.from({ length: rounds(1, 12) }, () => 2 + random(steps - 3));
    for (const seqno of [...new Set(drawn)].sort((a, b) => a - b)) {
      const end = (await offsetOfStep(log, topics.blocks, seqno + 1)) ?? 0;
      await project({ log: logBefore(log, end), topics, clickhouse, config, logger: silent, stopAtEnd: true }, signal);
      const tables = await tablesOf(clickhouse);
      expect(tables.head.seqno).toBe(seqno);
      const then = await serveApi(tables, { limits: PATIENT_LIMITS });
      try {
        for (const question of asked) await compare(question, then.url, url, seqno);
        await comparePage(asked[random(asked.length)], url, seqno);
        await compareAccounts(accounts, then.url, url, seqno);
      } finally {
        await then.close();
      }
    }
    await clickhouse.close();
  }, 1_200_000);

  it('is asked for steps that are there', async () => {
    const { url, steps } = given();
    for (const path of ['/jetton/wallets?', '/nft/items?', `/accountStates?address=0:${'0'.repeat(64)}&`]) {
      const response = await fetch(`${url}/api/v3${path}at_mc_seqno=${steps + 1}`);
      expect([response.status, await response.json()], path).toEqual([
        404,
        { error: `masterchain block ${steps + 1} not found` },
      ]);
    }
  });
}

const withMore = (question: Question, more: string): Question => ({ ...question, path: `${question.path}&${more}` });

async function compare(question: Question, then: string, now: string, seqno: number): Promise<void> {
  const expected = await rowsOf(then, withMore(question, `limit=${ROWS}`));
  const found = await rowsOf(now, withMore(question, `limit=${ROWS}&at_mc_seqno=${seqno}`));
  expect(found, `${question.path} at ${seqno}`).toEqual(expected);
}

/** From page to page. */
async function comparePage(question: Question, now: string, seqno: number): Promise<void> {
  const at = `at_mc_seqno=${seqno}`;
  const whole = await rowsOf(now, withMore(question, `limit=${ROWS}&${at}`));
  const offset = random(whole.length + 1);
  const page = await rowsOf(now, withMore(question, `limit=${PAGE}&offset=${offset}&${at}`));
  expect(page, question.path).toEqual(whole.slice(offset, offset + PAGE));
}

/** Code and data are shown as far as they are still those of today: no liteserver is there to ask. */
async function compareAccounts(accounts: readonly string[], then: string, now: string, seqno: number): Promise<void> {
  const question = (more: string): Question => ({
    path: `/accountStates?${accounts.map((one) => `address=${one}`).join('&')}${more}`,
    list: 'accounts',
    shape: 'AccountStatesResponse',
  });
  const whole = await rowsOf(then, question(''));
  expect(whole.length).toBeGreaterThan(0);
  const bare = await rowsOf(now, question(`&include_boc=false&at_mc_seqno=${seqno}`));
  expect(asKnown(bare)).toEqual(asKnown(await rowsOf(then, question('&include_boc=false'))));

  /** Codes that the log showed later are known now. */
  function asKnown(rows: readonly Json[]): Json[] {
    return rows.map(({ contract_methods: methods, interfaces, ...row }, i) =>
      whole[i]?.contract_methods === null ? row : { ...row, methods, interfaces },
    );
  }
  const past = await rowsOf(now, question(`&at_mc_seqno=${seqno}`));
  for (const [i, { code_boc: code, data_boc: data }] of past.entries()) {
    if (whole[i].code_boc !== undefined) expect(code).toBe(whole[i].code_boc);
    if (whole[i].data_boc !== undefined && data !== undefined) expect(data).toBe(whole[i].data_boc);
  }
  expect(past.map(({ account_state_hash: hash }) => hash)).toEqual(bare.map(({ account_state_hash: hash }) => hash));
  const codeHash = encodeURIComponent(bare.find((row) => row.code_hash !== undefined)?.code_hash);
  const byCode = await rowsOf(now, question(`&code_hash=${codeHash}&include_boc=false&at_mc_seqno=${seqno}`));
  expect(byCode).toEqual(bare.filter((row) => row.code_hash === decodeURIComponent(codeHash)));
}

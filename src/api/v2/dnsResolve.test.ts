import { expect, test } from 'vitest';
import { Builder, type Cell } from '../../chain/builder.ts';
import { type Change, plain, updateDictionary } from '../../chain/dictionary.ts';
import { dnsResolveRoute } from './dnsResolve.ts';
import type { Asked } from './route.ts';

/** What is answered for a name of which the resolver leaves this. */
async function resolved(dictionary: Cell): Promise<{ entries: { entry: object }[] }> {
  const run = async () => ({
    exitCode: 0,
    gasUsed: 0,
    stack: [
      { type: 'int', value: 8n },
      { type: 'cell', cell: dictionary },
    ],
  });
  const asked: Partial<Asked> = { contracts: { open: async () => ({ run }) } as never };
  const sent = new Map([
    ['address', [`0:${'1'.repeat(64)}`]],
    ['name', ['.']],
  ]);
  return JSON.parse(String(await dnsResolveRoute().answer(sent, asked as never)));
}

const adnl = new Builder().u(0xad01, 16).bytes(Buffer.alloc(32, 1)).u(0, 8).cell();

function records(count: number, record: Cell): Cell {
  const changes = Array.from({ length: count }, (_, i): Change<null> => {
    const key = Buffer.alloc(32);
    key.writeUInt32BE(i);
    return { key, leaf: { extra: null, value: new Builder().ref(record).cell() } };
  });
  return updateDictionary(null, 256, plain, changes).root ?? adnl;
}

test('records of a name', async () => {
  const { entries } = await resolved(records(256, adnl));
  expect(entries).toHaveLength(256);
  expect(entries[0].entry).toMatchObject({ '@type': 'dns.entryDataAdnlAddress' });
});

test('records that multiply by sharing cells end in a refusal', async () => {
  // hml_short$0 with an empty label in each fork; the leaf has no bits left of its key.
  let node = new Builder().u(0, 2).ref(adnl).cell();
  for (let bits = 0; bits < 256; bits++) node = new Builder().u(0, 2).ref(node).ref(node).cell();
  await expect(resolved(node)).rejects.toMatchObject({
    status: 500,
    message: expect.stringContaining('more than 256 records'),
  });
});

test('what is no dictionary is no failure of the service', async () => {
  await expect(resolved(new Builder().u(1, 1).cell())).rejects.toMatchObject({ name: 'Refusal', status: 500 });
});

test('a large record that many names share ends at a limit', async () => {
  let large = new Builder().cell();
  for (let i = 0; i < 1_000; i++) large = new Builder().u(i, 32).bytes(Buffer.alloc(120)).ref(large).cell();
  const refusal = { status: 500, message: 'TVM stack size exceeds limit' };
  await expect(resolved(records(256, large))).rejects.toMatchObject(refusal);
});

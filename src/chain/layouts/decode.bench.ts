/**
 * Bodies a second on one core, each of the ten commonest of a chain with jetton traffic, from the bytes of its bag:
 * opened, told and read into fields; and opened and printed as JSON with all that is in it.
 * Run by `npm run bench:decode`.
 */

import { addressOf } from '../address.ts';
import { Builder, toBoc } from '../builder.ts';
import { CellView } from './cell-view.ts';
import type { Codec } from './codec.ts';
import { bounce, excess, textComment } from './common.ts';
import { decodeBody } from './decode.ts';
import { jettonBurn, jettonInternalTransfer, jettonNotify, jettonTransfer } from './jettons.ts';
import { nftOwnershipAssigned, nftTransfer } from './nfts.ts';
import { readBody } from './registry.ts';

const MILLISECONDS_EACH = 1500;
const WANTED_PER_SECOND = 200_000;

const line = (text: string): void => void process.stdout.write(`${text}\n`);

function bytesOf<T>(codec: Codec<T>, value: T): Buffer {
  const builder = new Builder();
  codec.write(builder, value);
  return toBoc(builder.cell());
}

const account = addressOf(0, Buffer.alloc(32, 0x5a));
const common = { query_id: '7253338335086549327', amount: '1500000000' };
const comment = CellView.parse(bytesOf(textComment, { text: 'Thank you!' }));
const payload = { inReference: true, cell: comment };

const bodies: [string, Buffer][] = [
  ['empty', toBoc(new Builder().cell())],
  ['comment', bytesOf(textComment, { text: 'Thank you!' })],
  ['excess', bytesOf(excess, { query_id: common.query_id })],
  [
    'jetton transfer',
    bytesOf(jettonTransfer, {
      ...common,
      destination: account,
      response_destination: account,
      custom_payload: null,
      forward_ton_amount: '1',
      forward_payload: payload,
    }),
  ],
  [
    'jetton internal transfer',
    bytesOf(jettonInternalTransfer, {
      ...common,
      from: account,
      response_address: account,
      forward_ton_amount: '1',
      forward_payload: payload,
    }),
  ],
  ['jetton notify', bytesOf(jettonNotify, { ...common, sender: account, forward_payload: payload })],
  ['jetton burn', bytesOf(jettonBurn, { ...common, response_destination: account, custom_payload: null })],
  [
    'NFT transfer',
    bytesOf(nftTransfer, {
      query_id: '1',
      new_owner: account,
      response_destination: account,
      custom_payload: null,
      forward_amount: '1',
      forward_payload: payload,
    }),
  ],
  ['NFT assigned', bytesOf(nftOwnershipAssigned, { query_id: '1', prev_owner: account, forward_payload: payload })],
  ['bounce', bytesOf(bounce, { payload: CellView.parse(bytesOf(excess, { query_id: '1' })) })],
];

/** Calls a second of CPU time. */
function rate(call: () => unknown): number {
  const run = (milliseconds: number): number => {
    const before = process.cpuUsage();
    for (let calls = 0; ; ) {
      for (let i = 0; i < 1000; i++) call();
      calls += 1000;
      const { user, system } = process.cpuUsage(before);
      if (user + system > milliseconds * 1000) return (calls * 1e6) / (user + system);
    }
  };
  run(300);
  return run(MILLISECONDS_EACH);
}

const figure = (perSecond: number): string => Math.round(perSecond).toLocaleString('en').padStart(11);

line('bodies a second and core      read      printed');
let readSum = 0;
let printedSum = 0;
for (const [name, bytes] of bodies) {
  const read = rate(() => readBody(CellView.parse(bytes)));
  const printed = rate(() => decodeBody(CellView.parse(bytes)));
  readSum += 1 / read;
  printedSum += 1 / printed;
  line(`${name.padEnd(24)}${figure(read)}  ${figure(printed)}`);
}
const [allRead, allPrinted] = [bodies.length / readSum, bodies.length / printedSum];
line(`${'all ten, equal shares'.padEnd(24)}${figure(allRead)}  ${figure(allPrinted)}`);
line(allRead >= WANTED_PER_SECOND ? 'read: as fast as wanted' : `read: below the ${WANTED_PER_SECOND} wanted`);

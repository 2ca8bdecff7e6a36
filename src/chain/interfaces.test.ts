import { readFileSync } from 'node:fs';
import { Cell, Dictionary } from '@ton/core';
import { describe, expect, it } from 'vitest';
import { shelf } from '../../test/shelf.ts';
import { INTERFACE_MARKS } from './interface-marks.ts';
import { interfacesOf, isBounceable, methodId, methodIds } from './interfaces.ts';

const code = (name: string) => readFileSync(`${shelf}/data/contracts/${name}.code.boc`);

describe('get-method ids', () => {
  it.each([
    ['seqno', 85143],
    ['get_wallet_data', 97026],
    ['getPoolStateAndConfiguration', 118400],
    ['governance_action_is_consumed', 79649],
    ['dnsresolve', 123660],
  ])('%s is %i', (name, id) => {
    expect(methodId(name)).toBe(id);
  });

  it('gives null for bytes that are no code with a dictionary', () => {
    expect(methodIds(Buffer.from('no bag of cells'))).toBeNull();
    expect(methodIds(new Cell().toBoc())).toBeNull();
  });

  it.skipIf(shelf === null)('finds the keys that @ton/core finds in every recorded contract', () => {
    const { contracts }: { contracts: { name: string }[] } = JSON.parse(
      readFileSync(`${shelf}/data/contracts/manifest.json`, 'utf8'),
    );
    let withMethods = 0;
    for (const { name } of contracts) {
      const boc = code(name);
      const slice = Cell.fromBoc(boc)[0].beginParse(true);
      const found = methodIds(boc);
      if (slice.remainingBits < 40 || slice.loadUint(16) !== 0xff00 || slice.loadUint(14) !== 0x3d29) {
        expect(found, name).toBeNull();
        continue;
      }
      const keys = Dictionary.Keys.Uint(slice.loadUint(10));
      const values = { serialize: () => {}, parse: () => 0 };
      const theirs = [...Dictionary.loadDirect(keys, values, slice.loadRef()).keys()].sort((a, b) => a - b);
      expect(found, name).toEqual(theirs);
      withMethods++;
    }
    expect(withMethods).toBeGreaterThan(40);
  });
});

describe('interface marks', () => {
  it('has the 106 marks', () => {
    expect(INTERFACE_MARKS).toHaveLength(106);
  });

  it('knows a contract by its code hash alone', () => {
    const walletV4 = Buffer.from('/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=', 'base64');
    expect(interfacesOf(walletV4, [methodId('get_wallet_data')])).toEqual(['wallet_v4r2']);
  });

  it('gives every mark whose methods are all there, sorted', () => {
    expect(interfacesOf(null, [methodId('get_sale_data')])).toEqual(['nft_auction_v1', 'nft_sale']);
    expect(interfacesOf(null, ['get_jetton_data', 'get_wallet_address'].map(methodId))).toEqual(['jetton_master']);
    expect(interfacesOf(null, [methodId('get_jetton_data')])).toEqual([]);
    expect(interfacesOf(null, null)).toEqual([]);
  });

  it('writes accounts without code and wallets as non-bounceable', () => {
    expect(isBounceable(null)).toBe(false);
    expect(isBounceable(Buffer.from('hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk=', 'base64'))).toBe(false);
    expect(isBounceable(Buffer.alloc(32, 1))).toBe(true);
  });
});

/** How actions are told in words: each recorded one among them. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FakeElement } from '../../test/fake-element.ts';
import { shelf } from '../../test/shelf.ts';
import { traceFixtures } from '../../test/trace-fixtures.ts';

// The pages' modules are plain JavaScript for browsers.
const { tell } = await import(new URL('./page/words.js', import.meta.url).href);
const { book } = await import(new URL('./page/ask.js', import.meta.url).href);
const { accountLink, actionWords } = await import(new URL('./page/links.js', import.meta.url).href);

describe.skipIf(shelf === null)('recorded actions', () => {
  it('can be told, with accounts and amounts as recorded', () => {
    for (const { name, expected } of traceFixtures()) {
      for (const action of expected) {
        const parts: (string | { kind: string; value: string })[] = tell(action);
        expect(parts.length, `${name} ${action.type}`).toBeGreaterThan(0);
        expect(parts, action.type).not.toContain('an unknown account');
        expect(parts, action.type).not.toContain('an unknown amount');
        for (const part of parts) {
          if (typeof part === 'string') expect(part).not.toMatch(/undefined|null|[{}[\]]/);
          else if (part.kind === 'tons' || part.kind === 'tokens') expect(part.value).toMatch(/^-?\d+$/);
        }
      }
    }
  });
});

describe('words', () => {
  const account = (value: string) => ({ kind: 'account', value });

  it('name who did what', () => {
    const details = { source: '0:A', destination: '0:B', value: '5000000000', comment: null };
    expect(tell({ type: 'ton_transfer', details })).toEqual([
      account('0:A'),
      ' sent ',
      { kind: 'tons', value: '5000000000' },
      ' to ',
      account('0:B'),
    ]);
    const commented = tell({ type: 'ton_transfer', details: { ...details, comment: 'rent [May] {2}' } });
    expect(commented.slice(5)).toEqual([': “', { kind: 'text', value: 'rent [May] {2}' }, '”']);
  });

  it('tell of a stake in a jetton in that jetton', () => {
    const details = { stake_holder: '0:A', pool: '0:B', amount: '7000000' };
    const staked = (source_asset: string | null) =>
      tell({ type: 'stake_deposit', details: { ...details, source_asset } })[2];
    expect(staked('0:C')).toEqual({ kind: 'tokens', value: '7000000', asset: '0:C' });
    expect(staked(null)).toEqual({ kind: 'tokens', value: '7000000', asset: null });
  });

  it('tell no amount of something unknown', () => {
    const details = { source: '0:A', master: '0:B', amount: '7000000' };
    const lent = [account('0:A'), ' lent'];
    const tokens = { kind: 'tokens', value: '7000000', asset: '0:C' };
    expect(tell({ type: 'evaa_supply', details: { ...details, asset: '0:C' } })).toEqual([
      ...lent,
      ' ',
      tokens,
      ' to ',
      account('0:B'),
    ]);
    const untold = tell({ type: 'evaa_supply', details: { ...details, asset: null } });
    expect(untold).toEqual([...lent, ' to ', account('0:B')]);
  });

  it('name the seller of an item, not the contract that sold it', () => {
    const details = { nft_item: '0:A', old_owner: '0:SALE', real_old_owner: '0:B', new_owner: '0:C', price: '5' };
    const bought = [
      account('0:C'),
      ' bought ',
      { kind: 'item', value: '0:A' },
      ' from ',
      account('0:B'),
      ' for ',
      { kind: 'tons', value: '5' },
    ];
    expect(tell({ type: 'nft_purchase', details })).toEqual(bought);
    // A sale whose payout was not found.
    expect(tell({ type: 'nft_transfer', details: { ...details, is_purchase: true } })).toEqual(bought);
    expect(tell({ type: 'nft_transfer', details: { ...details, is_purchase: false } })[1]).toBe(' gave ');
  });

  it('tell what an item was given with, and of one that nobody gave that it came', () => {
    const details = { nft_item: '0:A', old_owner: '0:B', new_owner: '0:C', comment: 'gift' };
    const item = { kind: 'item', value: '0:A' };
    const gift = [': “', { kind: 'text', value: 'gift' }, '”'];
    const told = (more: object) => tell({ type: 'nft_transfer', details: { ...details, ...more } });
    expect(told({})).toEqual([account('0:B'), ' gave ', item, ' to ', account('0:C'), ...gift]);
    expect(told({ old_owner: null })).toEqual([account('0:C'), ' got ', item, ...gift]);
    expect(told({ is_encrypted_comment: true }).slice(-1)).toEqual([', with an encrypted comment']);
  });

  it('tell how much of which extra currencies was sent', () => {
    const details = { source: '0:A', destination: '0:B', value: '5', comment: 'hi' };
    const amounts = { 100: '1500', 7: '1' };
    const told = [account('0:A'), ' sent', ' ', '1 of currency 7, 1,500 of currency 100', ' to ', account('0:B')];
    // As a call has them, and as a transfer has.
    for (const name of ['extra_currencies', 'value_extra_currencies']) {
      const words = tell({ type: 'extra_currency_transfer', details: { ...details, [name]: amounts } });
      expect(words).toEqual([...told, ': “', { kind: 'text', value: 'hi' }, '”']);
    }
  });

  it('list what liquidity was added of, one or both', () => {
    const added = (amounts: object) =>
      tell({ type: 'dex_deposit_liquidity', details: { source: '0:A', dex: 'tonco', ...amounts } })
        .slice(1)
        .map((part: string | { value: string }) => (typeof part === 'string' ? part : part.value))
        .join('');
    expect(added({ amount_1: '5', amount_2: '7' })).toBe(' added liquidity, 5, 7 at tonco');
    expect(added({ amount_1: null, amount_2: '7' })).toBe(' added liquidity, 7 at tonco');
  });

  it('tell what came back of a swap that failed in what it came back in', () => {
    const side = (asset: string | null, amount: string) => ({ asset, amount });
    const amounts = (asset_out: string | null, outgoing: object) =>
      tell({
        type: 'jetton_swap',
        details: {
          sender: '0:A',
          asset_in: '0:B',
          asset_out,
          dex_incoming_transfer: side('0:B', '7000000'),
          dex_outgoing_transfer: outgoing,
          dex: 'stonfi',
        },
      }).filter((part: string | { kind: string }) => typeof part !== 'string' && part.kind === 'tokens');
    const given = { kind: 'tokens', value: '7000000', asset: '0:B' };
    expect(amounts('0:C', side('0:B', '6000000'))).toEqual([given, { kind: 'tokens', value: '6000000', asset: '0:B' }]);
    expect(amounts(null, side(null, '5'))).toEqual([given, { kind: 'tokens', value: '5', asset: null }]);
  });

  it('do not show an encrypted comment as if it could be read', () => {
    const sent = { source: '0:A', destination: '0:B', value: '5', comment: 'c2VjcmV0' };
    const moved = { sender: '0:A', receiver: '0:B', amount: '5', asset: '0:C', comment: 'c2VjcmV0' };
    for (const action of [
      { type: 'ton_transfer', details: { ...sent, encrypted: true } },
      { type: 'jetton_transfer', details: { ...moved, is_encrypted_comment: true } },
    ]) {
      const parts = tell(action);
      expect(parts.slice(-2)).toEqual([account('0:B'), ', with an encrypted comment']);
    }
  });

  it('tell of what bounced as of no call', () => {
    const details = { source: '0:A', destination: '0:B', value: '5', opcode: '0xffffffff' };
    expect(tell({ type: 'call_contract', details })).toEqual([
      account('0:A'),
      ' bounced ',
      { kind: 'tons', value: '5' },
      ' to ',
      account('0:B'),
    ]);
  });

  it('tell types without a phrase by their name', () => {
    expect(tell({ type: 'cocoon_proxy_charge', details: { source: '0:A' } })).toEqual([
      'cocoon proxy charge',
      ' source ',
      account('0:A'),
    ]);
    expect(tell({ type: 'constructor', details: null })).toEqual(['constructor']);
  });
});

describe('names and comments that are very long', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('are cut in a line of what was done', () => {
    vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
    const long = 'x'.repeat(100_000);
    const metadata = { type: 'jetton_masters', name: long, symbol: long, extra: { decimals: '9' } };
    book.metadata.set('0:LONG', { is_indexed: true, token_info: [metadata] });
    for (const action of [
      { type: 'jetton_burn', details: { owner: '0:A', amount: '5', asset: '0:LONG' } },
      { type: 'nft_mint', details: { owner: '0:A', nft_item: '0:LONG' } },
      { type: 'ton_transfer', details: { source: '0:A', destination: '0:B', value: '5', comment: long } },
    ]) {
      const shown = new FakeElement('li');
      shown.append(...actionWords(action));
      const [named] = shown.all('bdi').map(({ children }) => String(children[0]));
      expect(named).toMatch(/^x+…x+$/);
      expect(named.length).toBeLessThan(400);
    }
  });

  it('are cut and have a direction of their own as names of accounts, too', () => {
    vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
    book.rows.set('0:NAMED', { domain: `${'x'.repeat(122)}.ton`, user_friendly: 'EQ' });
    const shown = new FakeElement('li');
    const details = { source: '0:NAMED', destination: '0:B', value: '5', comment: null };
    shown.append(...actionWords({ type: 'ton_transfer', details }));
    expect(shown.all('bdi').map(({ children }) => children[0])).toEqual([`${'x'.repeat(40)}…xxxx.ton`]);
    book.rows.delete('0:NAMED');
  });
});

it('links lead to an account of a workchain that no form for people has by its raw address', () => {
  vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
  const given = vi.spyOn(FakeElement.prototype, 'setAttribute');
  book.rows.set('1000:AB', { domain: null, user_friendly: null, interfaces: [] });
  try {
    expect(accountLink('1000:AB').children).toEqual(['1000:AB']);
    expect(given.mock.calls).toEqual(
      expect.arrayContaining([
        ['href', expect.stringMatching(/account\/1000:AB$/)],
        ['title', '1000:AB'],
      ]),
    );
  } finally {
    book.rows.delete('1000:AB');
    given.mockRestore();
    vi.unstubAllGlobals();
  }
});

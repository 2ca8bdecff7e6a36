/** What the search box takes, and where it leads. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FakeElement } from '../../test/fake-element.ts';

// The pages' modules are plain JavaScript for browsers.
const { find, mindSearch } = await import(new URL('./page/search.js', import.meta.url).href);

describe('the search', () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each([
    ['7', '7'],
    ['(-1,8000000000000000,3)', '-1,8000000000000000,3'],
    ['0:6000000000000000:20', '0,6000000000000000,20'],
    // As lists print it.
    ['0:8:20', '0,8000000000000000,20'],
    ['0:2C:20', '0,2C00000000000000,20'],
  ])('takes %s for a block', async (sought, block) => {
    expect(await find(sought)).toBe(`block/${block}`);
  });

  it('takes addresses and hashes however they were copied', async () => {
    const friendly = `EQ${'a'.repeat(20)}-_${'b'.repeat(24)}`;
    for (const written of [
      ` ${friendly}\n`,
      `${friendly.slice(0, 20)}\n  ${friendly.slice(20)}`,
      `\u200b${friendly}\u200e`,
      friendly.replace('-_', '+/'),
      // An address of a page, read as a form.
      friendly.replace('-_', ' /'),
    ]) {
      expect(await find(written)).toBe(`account/${friendly}`);
    }
    vi.stubGlobal('fetch', async () => Response.json({ transactions: [{}], traces: [] }));
    for (const hash of [Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0x11)]) {
      const [hex, base64] = [hash.toString('hex'), hash.toString('base64')];
      for (const written of [`0x${hex}`, hex.toUpperCase(), base64, hash.toString('base64url')]) {
        expect(await find(written)).toBe(`tx/${hex}`);
        expect(await find(`${written.slice(0, 30)}\r\n${written.slice(30)}`)).toBe(`tx/${hex}`);
      }
      expect(await find(base64.replaceAll('+', ' '))).toBe(`tx/${hex}`);
    }
    await expect(find('9'.repeat(30))).rejects.toThrow('This is no address, hash, block or name.');
  });

  it('finds a block by the hashes that its page shows', async () => {
    const [root, file] = ['ab', 'cd'].map((byte) => byte.repeat(32));
    vi.stubGlobal('fetch', async (url: string) => {
      const { searchParams: asked, pathname } = new URL(url, 'http://page');
      const isBlock = asked.get('root_hash') === root || asked.get('file_hash') === file;
      const blocks = isBlock ? [{ workchain: 0, shard: '8000000000000000', seqno: 7 }] : [];
      return Response.json({
        transactions: [],
        traces: [],
        accounts: [],
        ...(pathname.endsWith('blocks') && { blocks }),
      });
    });
    for (const sought of [root, Buffer.from(root, 'hex').toString('base64'), file.toUpperCase()]) {
      expect(await find(sought)).toBe('block/0,8000000000000000,7');
    }
    await expect(find('ef'.repeat(32))).rejects.toThrow('Nothing has this hash.');
  });

  it('says that it asks, and asks once however often that is wanted', async () => {
    const button = new FakeElement('button');
    const [form, said] = [new FakeElement('form'), new FakeElement('p')];
    form.append(button);
    const refusals: string[] = [];
    const box = {
      value: 'ab'.repeat(32),
      addEventListener: () => undefined,
      setCustomValidity: (words: string) => refusals.push(words),
      reportValidity: () => undefined,
    };
    let submit = async (_event: object): Promise<void> => undefined;
    Object.assign(form, { addEventListener: (_: string, listener: typeof submit) => (submit = listener) });
    const parts: Record<string, unknown> = { sought: box, search: form, say: said };
    vi.stubGlobal('document', { getElementById: (id: string) => parts[id] });
    const asked = vi.fn(async () => Response.json({ error: 'away' }, { status: 500 }));
    vi.stubGlobal('fetch', asked);
    vi.stubGlobal('location', { assign: () => undefined });
    mindSearch();
    const event = { preventDefault: () => undefined };
    const first = submit(event);
    expect([button.textContent, said.textContent]).toEqual(['Asking…', 'Asking…']);
    await submit(event);
    expect(asked).toHaveBeenCalledTimes(3);
    await first;
    expect([button.textContent, refusals]).toEqual(['Search', ['', 'away']]);
  });
});

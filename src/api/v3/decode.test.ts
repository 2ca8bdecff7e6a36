import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { recordedBodies } from '../../../test/recorded-bodies.ts';
import { requireShelf, shelf } from '../../../test/shelf.ts';

describe('/decode', () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await serveApi(createFakeSource({}).source);
  });
  afterAll(() => server.close());

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${server.url}/api/v3/decode${path}`, init);
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const post = (body: string) => ask('', { method: 'POST', body, headers: { 'content-type': 'application/json' } });

  it('decodes what the reference decoded, by GET and by POST, in base64 and in hex', async () => {
    const bodies = recordedBodies.map(({ body }) => body);
    const expected = recordedBodies.map(({ decoded }) => decoded);
    const query = new URLSearchParams(bodies.map((body): [string, string] => ['bodies', body]));
    expect(await ask(`?${query}`)).toEqual({ status: 200, body: { opcodes: [], bodies: expected } });
    expect(await post(JSON.stringify({ bodies }))).toEqual({ status: 200, body: { opcodes: [], bodies: expected } });
    const hex = bodies.map((body) => Buffer.from(body, 'base64').toString('hex'));
    expect(await post(JSON.stringify({ bodies: hex }))).toEqual({
      status: 200,
      body: { opcodes: [], bodies: expected },
    });
  });

  it('names opcodes, hex first, then decimal of either sign', async () => {
    const opcodes = ['0x0f8a7ea5', 'f8a7ea5', '260734629', '3555883739', '-1', '0', '12345678'];
    const names = [
      'jetton_transfer',
      'jetton_transfer',
      'jetton_transfer',
      'unknown',
      'bounce',
      'text_comment',
      'unknown',
    ];
    expect(await post(JSON.stringify({ opcodes }))).toEqual({ status: 200, body: { opcodes: names, bodies: [] } });
  });

  it('answers nothing with nothing', async () => {
    expect(await ask('')).toEqual({ status: 200, body: { opcodes: [], bodies: [] } });
  });

  it.each([
    ['?opcodes=zz', 'invalid opcode format at index 0: zz'],
    ['?opcodes=1&opcodes=0xfffffffffff', 'invalid opcode format at index 1: fffffffffff'],
    ['?opcodes=1,2', 'invalid opcode format at index 0: 1,2'],
    [`?${'opcodes=1&'.repeat(1001)}`, 'opcodes list exceeds maximum length of 1000'],
    [`?${'bodies=1&'.repeat(1001)}`, 'bodies list exceeds maximum length of 1000'],
  ])('refuses %.40s', async (path, error) => {
    expect(await ask(path)).toEqual({ status: 422, body: { error } });
  });

  it('refuses a body that is not JSON, and one that is not there', async () => {
    expect((await post('not json')).status).toBe(422);
    expect(await post('')).toEqual({ status: 422, body: { error: 'Unprocessable Entity' } });
    expect((await ask('', { method: 'POST' })).status).toBe(422);
  });

  it.each([
    ['opcodes', 12345678],
    ['opcodes', [12345678]],
    ['opcodes', '0x0f8a7ea5'],
    ['bodies', [null]],
  ])('refuses %s that are no list of texts: %j', async (name, value) => {
    const error = `failed to decode: schema: error converting value for "${name}"`;
    expect(await post(JSON.stringify({ [name]: value }))).toEqual({ status: 422, body: { error } });
  });

  it.each([
    ['no cells', 'te6cck', /^unknown: /],
    ['no hex', 'xyz', /^unknown: /],
    ['too little', 'b5ee9c7201010101000300000200', /^unknown: boc is too small, size 8|^unknown: /],
    ['an opcode that nobody knows', 'te6cckEBAQEABgAACBI0VngC9rrx', /^unknown: /],
  ])('says why %s is not decoded', async (_what, body, error) => {
    const answer = await post(JSON.stringify({ bodies: [body] }));
    expect(answer).toEqual({ status: 200, body: { opcodes: [], bodies: [{ error: expect.stringMatching(error) }] } });
  });

  it.skipIf(shelf === null)('answers in the shape of the contract', async () => {
    const ajv = new Ajv2020({ allowUnionTypes: true });
    ajv.addSchema(JSON.parse(readFileSync(`${requireShelf()}/spec/v3/schemas.json`, 'utf8')), 'v3');
    const validate = ajv.getSchema('v3#/$defs/DecodeResponse')!;
    const { body } = await post(JSON.stringify({ opcodes: ['0'], bodies: [recordedBodies[1].body, 'ff'] }));
    expect(validate(body), ajv.errorsText(validate.errors)).toBe(true);
  });
});

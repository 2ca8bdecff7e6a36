import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../test/api-server.ts';
import { DEFAULT_LIMITS } from '../../test/default-limits.ts';
import { createFakeSource } from '../../test/fake-source.ts';
import { v3Routes } from './v3/routes.ts';

let server: ApiServer;
afterEach(() => server.close());

async function start(): Promise<void> {
  server = await serveApi(createFakeSource().source);
}
const get = (path: string, init: RequestInit = {}) => fetch(server.url + path, init);
const Document = z.object({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.object({
      get: z
        .object({
          parameters: z.array(z.object({ name: z.string(), in: z.string(), schema: z.unknown() })),
          responses: z.record(
            z.string(),
            z.object({ content: z.record(z.string(), z.object({ schema: z.unknown() })) }),
          ),
        })
        .optional(),
      post: z.looseObject({ responses: z.record(z.string(), z.unknown()) }).optional(),
    }),
  ),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});

describe('documentation', () => {
  it('serves a page that needs nothing from elsewhere', async () => {
    await start();
    const response = await get('/api/v3/index.html');
    const page = await response.text();
    const policy = response.headers.get('content-security-policy')?.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
    );
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name);
    expect(assets).toHaveLength(4);
    for (const name of assets) expect((await get(`/api/v3/${name}`)).status, name).toBe(200);
  });

  it.each(['/api/v3', '/api/v3/index.html', '/api/v3/doc.json', '/api/v2/openapi.json', '/api/v3/swagger-ui.css'])(
    'refuses other methods at %s',
    async (path) => {
      await start();
      const response = await get(path, { method: 'POST', body: '{}' });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    },
  );

  it.each([
    ['/api/v3', '/runGetMethod', ['401', '404', '413', '422', '429', '500', '501', '503', '504', '533']],
    ['/api/v2', '/runGetMethod', ['404', '413', '414', '422', '429', '500', '503', '504', '533', '542']],
    ['/api/emulate/v1', '/emulateTrace', ['400', '413', '429', '500', '501', '503']],
  ])('of %s names what %s may fail with', async (base, path, failures) => {
    await start();
    const { paths } = Document.parse(await (await get(`${base}/openapi.json`)).json());
    expect(Object.keys(paths[path].post?.responses ?? {})).toEqual(['200', ...failures]);
  });

  it.each([
    ['/api/v3', '/balanceChanges', 400],
    ['/api/v3', '/addressInformation', 401],
    ['/api/v3', '/account', 401],
    ['/api/v3', '/walletInformation', 401],
    ['/api/v3', '/wallet', 401],
    ['/api/v3', '/message', 401],
    ['/api/v3', '/runGetMethod', 401],
  ])('of %s names what %s alone is refused with: %i', async (base, path, status) => {
    await start();
    const { paths } = Document.parse(await (await get(`${base}/openapi.json`)).json());
    const { get: asked, post } = paths[path];
    const response = await get(base + path, asked ? {} : { method: 'POST', body: '{}' });
    expect(response.status).toBe(status);
    expect(Object.keys((asked ?? post)?.responses ?? {})).toContain(String(status));
  });

  it.each([
    ['/api/v3', '/walletInformation', ['409']],
    ['/api/v3', '/wallet', ['409']],
    ['/api/v3', '/runGetMethod', ['501', '533']],
    ['/api/v2', '/getTokenData', ['409']],
    ['/api/v2', '/sendBocReturnHashNoError', ['400']],
    ['/api/v2', '/runGetMethod', ['533']],
    ['/api/v2', '/runGetMethodStd', ['533']],
    ['/api/v2', '/jsonRPC', ['400', '409', '533']],
  ])('of %s names what a contract or a node may have %s refused with', async (base, path, statuses) => {
    await start();
    const { paths } = Document.parse(await (await get(`${base}/openapi.json`)).json());
    const { get: asked, post } = paths[path];
    for (const method of [asked, post].filter((one) => one !== undefined)) {
      expect(Object.keys(method.responses)).toEqual(expect.arrayContaining(statuses));
    }
  });

  it('describes every route', async () => {
    await start();
    const document = Document.parse(await (await get('/api/v3/openapi.json')).json());
    expect(document.openapi).toBe('3.1.0');
    const paths = v3Routes(DEFAULT_LIMITS).map(({ path }) => path);
    expect(Object.keys(document.paths)).toEqual([...new Set(paths)]);
    expect(document.paths['/message']).toMatchObject({ post: { operationId: 'message' } });
    const { get: described } = document.paths['/transactions'];
    if (described === undefined) throw new Error('transactions are asked by GET');
    const { parameters, responses } = described;
    expect(parameters.find(({ name }) => name === 'limit')?.schema).toMatchObject({
      type: 'integer',
      maximum: 1000,
      default: 100,
    });
    const names = parameters.filter((parameter) => parameter.in === 'query');
    expect(names).toHaveLength(16);
    const { schema } = responses['200'].content['application/json'];
    expect(schema).toEqual({ $ref: '#/components/schemas/Transactions' });
    expect(document.components.schemas.Transactions).toMatchObject({
      properties: { transactions: { items: { $ref: '#/components/schemas/Transaction' } } },
    });
    expect(JSON.stringify(document)).not.toContain('$defs');
  });
});

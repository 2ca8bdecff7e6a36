import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LiteClient, LiteSingleEngine } from 'ton-lite-client';
import { z } from 'zod';
import { until } from './stack.ts';

const GLOBAL_CONFIG = z.object({
  liteservers: z.array(z.object({ port: z.number(), id: z.object({ key: z.string() }) })),
});

/** The published client on the liteserver of the devnet in a data folder. */
export function liteClient(dataDir: string): Promise<{ client: LiteClient; close(): void }> {
  const text = readFileSync(join(dataDir, 'devnet', 'global.config.json'), 'utf8');
  const [{ port, id }] = GLOBAL_CONFIG.parse(JSON.parse(text)).liteservers;
  return liteClientAt({ port, publicKey: Buffer.from(id.key, 'base64') });
}

/** The published client on a liteserver of this machine. */
export async function liteClientAt(server: { port: number; publicKey: Buffer }) {
  const { port, publicKey } = server;
  const engine = new LiteSingleEngine({ host: `tcp://127.0.0.1:${port}`, publicKey });
  engine.on('error', () => undefined);
  await until('the liteserver answers', async () => (engine.isReady() ? true : null));
  return { client: new LiteClient({ engine }), close: () => engine.close() };
}

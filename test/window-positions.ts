/** The same chain answered from windows that hold more or less of it, over the tables and steps of one stack. */
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { isLong } from './chance.ts';
import { type Kept, projectedBy, windowFrom } from './windowed.ts';

const TESTNET = -3;

/** Where a window begins, as a share of the steps: 0 holds everything, 1 is no window at all. */
export const POSITIONS: readonly number[] = isLong ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5];

/** Those besides the one that a stack of its own has, whose window holds everything. */
export const OTHER_POSITIONS = POSITIONS.filter((share) => share > 0);

export function positionName(share: number): string {
  if (share === 0) return 'a window that holds everything';
  return share === 1 ? 'no window' : `a window that begins at ${share}`;
}

/** The API over a stack's log and tables as they are now, with a window of its own. The stack must go on running. */
export async function serveFrom(stack: Kept, share: number): Promise<ApiServer> {
  const projected = await projectedBy(stack);
  const { steps, tables } = projected;
  const first = Math.floor(steps.length * share);
  const windowed = share === 1 ? null : await windowFrom(projected, first);
  const testnet = () => tables.head.globalId === TESTNET;
  const server = await serveApi(windowed?.source ?? tables, { testnet, limits: PATIENT_LIMITS });
  return {
    ...server,
    async close() {
      await server.close();
      await windowed?.remove();
      await projected.close();
    },
  };
}

/** Runs the check against each of these positions. */
export async function atEach(
  shares: readonly number[],
  stack: Kept,
  check: (server: ApiServer) => Promise<void>,
): Promise<void> {
  for (const share of shares) {
    const server = await serveFrom(stack, share);
    try {
      await check(server);
    } finally {
      await server.close();
    }
  }
}

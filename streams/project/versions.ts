/** Which version of each projection made its tables (table `projection_versions`). */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { type Position, PositionError, rebuildAdvice } from './position.ts';
import type { Projection } from './projection.ts';

const versionRow = z.object({ name: z.string(), version: z.number() });

type Versioned = Pick<Projection, 'name' | 'version'>;

/** Notes who begins empty tables, before the first row of theirs is written. */
async function noteVersions(clickhouse: ClickHouse, projections: readonly Versioned[], signal: AbortSignal) {
  const writer = new RowWriter();
  for (const { name, version } of projections) {
    writer.string(name);
    writer.u32(version);
    writer.endRow();
  }
  await clickhouse.command('TRUNCATE TABLE projection_versions', { label: 'noting versions of projections', signal });
  if (projections.length > 0)
    await clickhouse.insert('projection_versions', ['name', 'version'], writer.take(), { signal });
}

/**
 * @param remade projections whose tables are about to be made anew, whatever made them
 * @throws {PositionError} when others have made the tables than these, which go on with them
 */
export async function holdVersions(
  clickhouse: ClickHouse,
  projections: readonly Versioned[],
  { done, intent }: Position,
  signal: AbortSignal,
  remade: ReadonlySet<string> = new Set(),
): Promise<void> {
  if (done === null && intent === null) return noteVersions(clickhouse, projections, signal);
  const noted = await clickhouse.json('SELECT name, version FROM projection_versions FINAL', versionRow, {
    label: 'reading versions of projections',
    signal,
  });
  const versions = new Map(noted.map(({ name, version }) => [name, version]));
  const others = projections.filter(({ name, version }) => !remade.has(name) && versions.get(name) !== version);
  if (others.length === 0) return;
  const told = others.map(({ name, version }) => {
    const made = versions.get(name);
    return made === undefined
      ? `${name} has not made its tables`
      : `${name} is of version ${version}, its tables of ${made}`;
  });
  const isOlder = others.some(({ name, version }) => (versions.get(name) ?? 0) > version);
  const advice = `${isOlder ? 'start the newer one that has made them, or ' : ''}${rebuildAdvice(...others.map(({ name }) => name))}`;
  throw new PositionError(`${told.join('; ')}: ${advice}`);
}

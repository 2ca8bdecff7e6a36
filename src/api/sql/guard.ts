/** Whether a statement may run: three rings, of which this is the middle one (lexer.ts, then the server's own parser). */
import { z } from 'zod';
import type { ClickHouse } from '../../../clickhouse/client.ts';
import type { Asked, Reader } from '../../../clickhouse/reader.ts';
import { VIEWS } from '../../../clickhouse/views/all.ts';
import { isBeyond, readStatement } from './lexer.ts';
import { SqlRefusal } from './refusal.ts';
import { judge, type Vocabulary } from './syntax.ts';

export interface Guard {
  /**
   * Gives the statement as it may run.
   * @throws {SqlRefusal} 400 it is no statement, 403 it is not allowed; what the server throws when it cannot parse it
   */
  check(text: string, asked: Pick<Asked, 'parameters' | 'key' | 'head' | 'timeoutMs' | 'signal'>): Promise<string>;
}

const functionRow = z.object({ name: z.string() });

/** @param clickhouse as its owner: the reader sees no list of functions */
export async function createGuard(clickhouse: ClickHouse, reader: Reader, database: string): Promise<Guard> {
  const rows = await clickhouse.json('SELECT lower(name) AS name FROM system.functions', functionRow, {
    label: 'reading the functions of the server',
  });
  const functions = new Set(rows.map(({ name }) => name));
  const vocabulary: Vocabulary = {
    database,
    views: new Set(VIEWS.map(({ name }) => name)),
    columns: new Set(VIEWS.flatMap(({ columns }) => Object.keys(columns))),
    isFunction: (name) => functions.has(name),
  };
  return {
    async check(text, asked) {
      const { sql, parameters, isLimited } = readStatement(text);
      for (const [name, type] of parameters) {
        const value = asked.parameters.get(name);
        if (value === undefined) throw new SqlRefusal(400, `the parameter ${name} is not given`);
        if (isBeyond(type, value)) throw new SqlRefusal(422, `params.${name}: beyond ${type}`);
      }
      const told = await reader.ask({ ...asked, sql: `EXPLAIN AST ${sql}`, format: null, limit: null });
      const { isCombined } = judge(told.bytes.toString().split('\n').filter(Boolean).map(plainLine), vocabulary);
      // The limit of an answer would be that of each part of a UNION, INTERSECT or EXCEPT: EXCEPT would miss rows, UNION
      // have too many. Of it and the statement's own the server takes the lesser: no rows where LIMIT is below 0, which
      // means the last ones, and as many as there are `WITH TIES`.
      return isCombined || isLimited ? `SELECT * FROM (${sql})` : sql;
    },
  };
}

/** A value as it is written tab separated. */
function plainLine(line: string): string {
  return line.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

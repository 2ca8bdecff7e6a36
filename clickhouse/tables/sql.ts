/** The names of declarations in SQL, and the SELECT that fills an index. */
import type { Index, Table } from './table.ts';

/** A property's name as the column's: `mcSeqno` is `mc_seqno`. */
export function columnName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function columnNames(properties: readonly string[]): string[] {
  return properties.map(columnName);
}

/** The columns of a table in the order of its rows. */
export function tableColumns({ columns }: Pick<Table, 'columns'>): string[] {
  return columnNames(Object.keys(columns));
}

/** The columns of an index. */
export function indexColumns({ key, also }: Index): string[] {
  return columnNames([...key, ...also]);
}

/** Columns of an index that name a step. */
export function indexSteps({ steps }: Table, { key, also }: Index): string[] {
  return columnNames(steps.filter((step) => key.includes(step) || also.includes(step)));
}

/**
 * What is selected for some of an index's columns, and the condition on rows that have an entry at all, if there is
 * one.
 */
export function indexSelect(
  table: Table,
  { each, where, key, also }: Index,
  names: readonly string[] = [...key, ...also],
) {
  const entry = each && entryOf(table, each.of);
  const columns = names.map((name) =>
    entry && name === each.as && entry.expression !== columnName(name)
      ? `${entry.expression} AS ${columnName(name)}`
      : columnName(name),
  );
  const conditions = [entry?.where, where].filter((one) => typeof one === 'string');
  return { columns: columns.join(', '), where: conditions.length === 0 ? null : conditions.join(' AND ') };
}

/** One entry for each of the columns that holds a value. Of several the first always does. */
function entryOf({ columns }: Table, of: readonly string[]): { expression: string; where: string | null } {
  const names = columnNames(of);
  const [none] = of.map((name) => columns[name].none);
  if (of.length === 1) return { expression: names[0], where: none ? `${names[0]} != ${none}` : null };
  const last = of.length - 1;
  const optional = columns[of[last]].none;
  const all = `[${names.join(', ')}]`;
  if (optional === undefined) return { expression: `arrayJoin(${all})`, where: null };
  const others = `[${names.slice(0, last).join(', ')}]`;
  return { expression: `arrayJoin(if(${names[last]} = ${optional}, ${others}, ${all}))`, where: null };
}

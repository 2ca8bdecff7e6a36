/** Names of opcodes as the decoder has them. */
import { opcodeName, opcodes } from '../../src/chain/layouts/registry.ts';
import { textLiteral } from '../literal.ts';
import type { View } from './view.ts';

const named = opcodes()
  .sort((a, b) => a - b)
  .flatMap((opcode) => {
    const name = opcodeName(opcode);
    return name === null ? [] : [{ opcode, name }];
  });

const numbers = `[${named.map(({ opcode }) => opcode).join(', ')}]`;
const names = `[${named.map(({ name }) => textLiteral(name)).join(', ')}]`;

/** The name of a nullable opcode; NULL for an unknown one. */
export const opcodeNames = (column: string): string => `nullIf(transform(${column}, ${numbers}, ${names}, ''), '')`;

export const opcodesView: View = {
  name: 'opcodes',
  about: 'An opcode that has a name',
  columns: { opcode: 'Signed 32 bits', name: '' },
  as: 'at step',
  select: () => `
    SELECT reinterpretAsInt32(t.1) AS opcode, t.2 AS name FROM (SELECT arrayJoin(arrayZip(${numbers}, ${names})) AS t)`,
};

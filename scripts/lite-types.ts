/** `npm run build:lite-types`: writes the TypeScript types of the lite protocol's schema lines. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envelopeFunctions, frameFunctions, frameTypes, liteFunctions, liteTypes } from '../src/node/lite-schema.ts';
import { type Combinator, parseLine } from '../src/node/tl.ts';

export const typesPath: string = fileURLToPath(new URL('../src/node/lite-types.ts', import.meta.url));

const PLAIN: Record<string, string> = {
  '#': 'number',
  int: 'number',
  long: 'bigint',
  int256: 'Buffer',
  bytes: 'Buffer',
  string: 'string',
  Bool: 'boolean',
  true: 'boolean',
};

const HEAD = `/**
 * Types of the schema lines in lite-schema.ts: written by \`npm run build:lite-types\`, not by hand. \`int\` and \`#\` are
 * numbers, \`long\` is a bigint, \`int256\` and \`bytes\` are Buffers; a field behind a flag is optional; a boxed type with
 * several constructors carries \`kind\`.
 */
`;

/** Text of the module. */
export function liteTypesText(): string {
  return [
    HEAD,
    valuesText('FrameValues', frameTypes),
    callsText('FrameCalls', frameFunctions, 'FrameValues', frameTypes),
    callsText('EnvelopeCalls', envelopeFunctions, null, []),
    valuesText('LiteValues', liteTypes),
    callsText('LiteCalls', liteFunctions, 'LiteValues', liteTypes),
  ].join('\n');
}

function valuesText(name: string, lines: readonly string[]): string {
  const types = lines.map(parseLine);
  const entries = types.map((type) => `  '${type.name}': ${fieldsText(type, name, types)};`);
  return `export interface ${name} {\n${entries.join('\n')}\n}\n`;
}

function callsText(
  name: string,
  functions: readonly string[],
  values: string | null,
  lines: readonly string[],
): string {
  const types = lines.map(parseLine);
  const entries = functions.map(parseLine).map((call) => {
    const fields = fieldsText(call, values ?? '', types);
    const answer = values === null ? 'never' : boxedText(call.result, values, types);
    return `  '${call.name}': {\n    fields: ${fields};\n    answer: ${answer};\n  };`;
  });
  return `export interface ${name} {\n${entries.join('\n')}\n}\n`;
}

function fieldsText({ fields }: Combinator, values: string, types: readonly Combinator[]): string {
  if (fields.length === 0) return 'Record<never, never>';
  const lines = fields.map(({ name, type, vector, flags }) => {
    const value = valueText(type, values, types);
    const whole = vector ? (value.includes('|') ? `(${value})[]` : `${value}[]`) : value;
    return flags === null ? `${name}: ${whole}` : `${name}?: ${whole} | undefined`;
  });
  return `{ ${lines.join('; ')} }`;
}

function valueText(type: string, values: string, types: readonly Combinator[]): string {
  const plain = PLAIN[type];
  if (plain !== undefined) return plain;
  return types.some(({ name }) => name === type) ? `${values}['${type}']` : boxedText(type, values, types);
}

function boxedText(type: string, values: string, types: readonly Combinator[]): string {
  const options = types.filter(({ result }) => result === type);
  if (options.length === 0) throw new Error(`type ${type} is not in the schema`);
  if (options.length === 1) return `${values}['${options[0].name}']`;
  return options.map(({ name }) => `({ kind: '${name}' } & ${values}['${name}'])`).join(' | ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(typesPath, liteTypesText());

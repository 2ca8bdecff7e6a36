import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { requireShelf } from './shelf.ts';

/** Holds values to the definitions of a version of the contract, by name. */
export function specSchemas(version: 'v2' | 'v3'): (name: string, value: unknown) => void {
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(JSON.parse(readFileSync(join(requireShelf(), 'spec', version, 'schemas.json'), 'utf8')), 'spec');
  return (name, value) => {
    const validate = ajv.getSchema(`spec#/$defs/${name}`);
    if (validate === undefined) throw new Error(`the contract has no ${name}`);
    validate(JSON.parse(JSON.stringify(value)));
    expect(validate.errors ?? [], name).toEqual([]);
  };
}

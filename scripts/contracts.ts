/** Compiles the devnet's contracts (`npm run build:contracts`) into src/devnet/contracts/codes.ts. */
import { writeFile } from 'node:fs/promises';
import { CODES_FILE, codesModule, compileContracts } from '../src/devnet/contracts/compile.ts';

await writeFile(CODES_FILE, codesModule(await compileContracts()));

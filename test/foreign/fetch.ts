/** Fetches and builds the clients by others before the tests ask for them, and says which there are. */
import { FOREIGN } from './programs.ts';

for (const [name, prepare] of Object.entries(FOREIGN)) {
  const program = await prepare();
  process.stdout.write(`${name}: ${program === null ? 'left out' : 'ready'}\n`);
}

/** `node test/run.js FILE ARGUMENT…`: runs a program of the tests, compiled as the service is. */
import { pathToFileURL } from 'node:url';
import { run } from '../bin/compiled.js';

process.argv.splice(1, 1);
await run(pathToFileURL(process.argv[1]));

/** Where HTTP worker processes start. */
import { runPart } from './compiled.js';

await runPart(new URL('../src/workers/worker.ts', import.meta.url));

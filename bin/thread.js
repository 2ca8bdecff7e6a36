/** Where worker threads start. */
import { workerData } from 'node:worker_threads';
import { runPart } from './compiled.js';

await runPart(workerData.module);

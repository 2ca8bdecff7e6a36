#!/usr/bin/env node
import { run } from './compiled.js';

try {
  await run(new URL('../src/main.ts', import.meta.url));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
}

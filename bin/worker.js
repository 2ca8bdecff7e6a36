/** Where HTTP worker processes start: a child does not inherit the TypeScript loader of its parent. */
import { register } from 'tsx/esm/api';

register();
await import('../src/workers/worker.ts');

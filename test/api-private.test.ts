import { describe } from 'vitest';
import { describeRecorded, recordedSequence } from './api/recorded.ts';
import { shelf } from './shelf.ts';

const network = recordedSequence('local-ton4j-2024_a', [414, 911]);

describe.skipIf(shelf === null)(`API over ${network.name}`, () => describeRecorded(network));

import { describe } from 'vitest';
import { readSingleFacts, singlePaths } from './api/network.ts';
import { describeRecorded, type Recorded, recordedSequence } from './api/recorded.ts';
import { shelf } from './shelf.ts';

const OTHERS: Recorded[] = [
  recordedSequence('everscale-1459995', [155, 39]),
  {
    name: 'single mainnet blocks',
    files: () => singlePaths('mainnet'),
    facts: () => readSingleFacts('mainnet'),
    loose: true,
    size: [25, 1780],
    positions: [],
    front: false,
  },
];

describe.skipIf(shelf === null).each(OTHERS)('API over $name', (recorded) => describeRecorded(recorded));

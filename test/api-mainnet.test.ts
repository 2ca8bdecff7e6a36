import { describe } from 'vitest';
import { describeRecorded, recordedSequence } from './api/recorded.ts';
import { shelf } from './shelf.ts';

const genesis = recordedSequence('mainnet-genesis_a', [460, 1450], { positions: [1], front: true });

describe.skipIf(shelf === null)(`API over ${genesis.name}`, () => describeRecorded(genesis));

import { expect, it } from 'vitest';
import { beginsBehind, endsBefore } from './log.ts';
import { topicNames } from './topics.ts';

const { blocks, steps } = topicNames();

it('of a topic that is shorter than it was, tells to make tables anew where they were made of it', () => {
  expect(endsBefore(blocks, 3, 7).message).toBe(
    'topic ton.blocks.v1 ends at offset 3, and was read up to 7 before: give back the log that was read, or make anew ' +
      'what was made of it ("tonstream rebuild" for the tables)',
  );
  expect(endsBefore(steps, 3, 7).message).toBe(
    'topic ton.steps.v1 ends at offset 3, and was read up to 7 before: it was made anew, and is read from its beginning',
  );
});

it('of a topic that has lost its oldest records, says what the log of record needs', () => {
  expect(beginsBehind(blocks, 3, 0).message).toBe(
    'topic ton.blocks.v1 starts at offset 3, 0 is gone: bring back a copy of the log that has it, for nothing can be ' +
      'projected, verified or made anew without it',
  );
  expect(beginsBehind(steps, 3, 0).message).toBe('topic ton.steps.v1 starts at offset 3, 0 is gone');
});

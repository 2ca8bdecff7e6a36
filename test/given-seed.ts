/** Before each test file when `TEST_SEED` was given: properties take it, too. */
import fc from 'fast-check';
import { seed } from './chance.ts';

fc.configureGlobal({ seed });

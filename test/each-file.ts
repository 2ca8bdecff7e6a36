/** Before each test file: what it draws follows from the seed of the run alone, not from the files before it. */
import { drawAnew } from './chance.ts';

drawAnew();

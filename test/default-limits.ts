/** What a service that is told nothing allows. */
import { apiLimits } from '../src/api/limits.ts';
import { readConfig } from '../src/config.ts';

export const DEFAULT_LIMITS = apiLimits(readConfig([], {}).config);

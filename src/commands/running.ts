import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Shutdown } from '../shutdown.ts';

/** What every command that keeps things open is given. */
export interface Running {
  config: Config;
  logger: Logger;
  shutdown: Shutdown;
  /** One line for the person at the terminal. */
  print: (line: string) => void;
}

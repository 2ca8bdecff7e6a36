import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

/** Log lines go to stderr as JSON, so that stdout is left to what a command prints. */
export function createLogger(level: Config['logLevel']): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ fd: 2, sync: true }));
}

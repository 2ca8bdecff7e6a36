import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

/** Log lines go to stderr as JSON, so that stdout is left to what a command prints. */
export function createLogger(level: Config['logLevel']): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: readable } };
  return pino(options, pino.destination({ fd: 2, sync: true }));
}

/** An error as it is written: what ended by a signal would have all 25 codes of its kind beside it. */
export function readable(error: Error): unknown {
  if (!(error instanceof DOMException)) return pino.stdSerializers.err(error);
  const { name: type, message, stack } = error;
  return { type, message, stack };
}

/** The form that an API gives to its answers and refusals. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';

/** A request on its way to its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When the request came, by `performance.now()`. */
  readonly began: number;
  readonly form: Form;
  /** The JSON of the body of a call by name; undefined for all other requests. */
  call?: unknown;
}

/** What a refusal is made of. */
export interface Failure {
  status: number;
  text: string;
  /** Seconds for `Retry-After`. */
  retryAfter?: number;
  /** True when the service is to blame, and not the caller or the load: such a failure is reported. */
  internal: boolean;
}

export interface Form {
  /** What goes out for the JSON that an operation answered; the JSON itself where this is left out. */
  answer?(json: Buffer, exchange: Exchange): Buffer;
  /** Shape of that for the shape of an answer. */
  answerType?(type: z.ZodType): z.ZodType;
  /** The body of a refusal. */
  refusal(failure: Failure, exchange: Exchange): string;
  refusalType: z.ZodType;
  /** What a thrown value means where this API sees it in its own way; null leaves it to `failureOf`. */
  failure?(error: unknown, exchange: Exchange): Failure | null;
}

/** Answers as they are, and `{"error": "<text>"}`. */
export const PLAIN_FORM: Form = {
  refusal: ({ text }) => JSON.stringify({ error: text }),
  refusalType: z.strictObject({ error: z.string() }).meta({ id: 'Error' }),
};

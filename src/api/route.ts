/** What an API is: operations, each declared once and served and documented from the declaration, and their form. */
import type { z } from 'zod';
import type { ApiError } from './errors.ts';
import type { Form } from './form.ts';
import { type Parameters, readParameters, type Sent } from './parameters.ts';
import type { Caller, Switches } from './request.ts';

/** GET brings HEAD with it. */
export type Method = 'GET' | 'POST' | 'DELETE';

/** Reasons by status. */
export type Failures = Readonly<Record<number, string>>;

/** One operation. `Asked`: what it may use to answer. */
export interface Route<Asked> {
  /** Below the base of its API. Two routes may share one when their methods differ. */
  path: string;
  /** POST has the parameters as members of a JSON body, the others in their query. */
  methods: readonly Method[];
  tag: string;
  summary: string;
  parameters: Parameters;
  response: z.ZodType;
  /** Why it is refused, by status, beside what all of its API may be. For its document. */
  failures?: Failures;
  /** A POST without a body is refused as one that cannot be read; else it is as one without members. */
  needsBody?: true;
  /** Largest body in bytes where the limit of all requests is too much. */
  maxBodyBytes?: number;
  /**
   * Whether the answer carries a tag by which a client asks whether it is still the same: always, or when one of these
   * parameters is given. For what clients ask again and again and changes seldom.
   */
  tagged?: 'always' | readonly string[];
  /** The answer may change while the head stays: each request is answered for itself. */
  live?: true;
  /** Answering does something, as sending a message: each request is answered for itself, never by another's answer. */
  acts?: true;
  /** JSON of the answer. Throws ApiError. */
  answer(sent: Sent, asked: Asked): Promise<string | Buffer>;
}

/** A route as it is written: without methods it is GET alone. */
export interface Declaration<T extends Parameters, Asked>
  extends Omit<Route<Asked>, 'methods' | 'parameters' | 'answer'> {
  methods?: readonly Method[];
  parameters: T;
  answer(parameters: z.output<T>, asked: Asked, sent: Sent): Promise<string | Buffer>;
}

/**
 * Ties the declared parameters to the types that `answer` receives.
 * @param refuse the API's way to say what is wrong with them
 */
export function declare<T extends Parameters, Asked>(
  declaration: Declaration<T, Asked>,
  refuse: (issues: readonly z.core.$ZodIssue[]) => ApiError,
): Route<Asked> {
  const { parameters, answer } = declaration;
  return {
    methods: ['GET'],
    ...declaration,
    answer: async (sent, asked) => answer(readParameters(parameters, sent, refuse), asked, sent),
  };
}

/** Who asks, and with which switches. */
export interface Asker {
  context: Caller;
  switches: Switches;
  /** By which a gateway in front tells whose request it is; empty without one. */
  key: string;
}

/** Operations under one base path. */
export interface Api {
  /** In lower case, e.g. `/api/v3`. */
  base: string;
  /** `X-API-Version` of its answers, and of its document. */
  version: string;
  document: {
    title: string;
    description: string;
    /** Switches that every operation knows, as headers. */
    headers: readonly { name: string; type: string; description: string }[];
    /** Why requests are refused, by status. */
    failures: Failures;
  };
  form: Form;
  /** What a request of it may have at most, where that is less than all requests may. */
  most?: { bodyBytes: number; urlBytes: number };
  routes: readonly Route<Asker>[];
  calls?: CallsByName;
}

/** A path under which every operation with a POST form is called by its name, in the manner of JSON-RPC. */
export interface CallsByName {
  path: string;
  tag: string;
  summary: string;
  /** What is called, of the JSON of a body. Throws ApiError. */
  read(body: unknown): { name: string; parameters: object };
  unknown(name: string): ApiError;
}

/** Gives a route what it answers from, made for each request. */
export function bind<Asked>(route: Route<Asked>, asked: (asker: Asker) => Asked): Route<Asker> {
  return { ...route, answer: (sent, asker) => route.answer(sent, asked(asker)) };
}

/** What was read is not what TON's formats allow. `path` names the place, outermost first: `block/info/prev_ref`. */
export class DecodeError extends Error {
  readonly reason: string;
  #path: string;

  constructor(reason: string, path = '') {
    // Bodies are tried as one thing after another: walking the stack cost more than reading them. The path says where.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(path === '' ? reason : `${path}: ${reason}`);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'DecodeError';
    this.reason = reason;
    this.#path = path;
  }

  get path(): string {
    return this.#path;
  }

  /** Puts an outer place before the path. */
  nest(place: string): this {
    this.#path = this.#path === '' ? place : `${place}/${this.#path}`;
    this.message = `${this.#path}: ${this.reason}`;
    return this;
  }
}

/**
 * For `catch` clauses at the border of a section: names the section in a DecodeError and returns it; anything
 * else comes back untouched. The path costs nothing while decoding succeeds.
 */
export function inside(place: string, error: unknown): unknown {
  return error instanceof DecodeError ? error.nest(place) : error;
}

/** Runs a section under its name. For places off the hot path; those use {@link inside} directly. */
export function section<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw inside(place, error);
  }
}

/** A proof that is well-formed and does not prove what it was given for. The message says what is wrong with it. */
export class ProofError extends Error {
  override name = 'ProofError';
}

/** What is told of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

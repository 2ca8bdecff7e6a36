/**
 * Calls over messages, from one thread or process to another: numbered, answered or refused, given up by their signal.
 * The messages travel as structured clones: an error arrives as what `pack` made of it.
 */

export type CallMessage<Question> = { type: 'call'; id: number; question: Question } | { type: 'cancel'; id: number };

export type ReplyMessage<Answer, Packed> =
  | { type: 'answer'; id: number; answer: Answer }
  | { type: 'refusal'; id: number; error: Packed };

export interface CallingOptions<Question, Packed> {
  send(message: CallMessage<Question>): void;
  unpack(error: Packed): Error;
  /** Milliseconds after which the other side is not waited for any more. */
  timeoutMs: number;
  /** Calls under way at a time; more are refused with what this makes. */
  maxOpen: number;
  tooMany(open: number): Error;
}

/** The side that asks. */
export interface Calling<Question, Answer, Packed> {
  /** Rejects with the signal's reason when that aborts; the other side is told then. */
  call(question: Question, signal?: AbortSignal): Promise<Answer>;
  receive(message: ReplyMessage<Answer, Packed>): void;
  /** The other side is gone: all that wait get the error, and all that come. */
  end(error: Error): void;
}

export function createCalling<Question, Answer, Packed>(
  options: CallingOptions<Question, Packed>,
): Calling<Question, Answer, Packed> {
  const { send, unpack, timeoutMs, maxOpen, tooMany } = options;
  const open = new Map<number, { resolve(answer: Answer): void; reject(error: unknown): void }>();
  let lastId = 0;
  let ended: Error | null = null;

  return {
    async call(question, signal) {
      signal?.throwIfAborted();
      if (ended !== null) throw ended;
      if (open.size >= maxOpen) throw tooMany(open.size);
      const id = ++lastId;
      const giveUp = (reason: unknown): void => {
        open.get(id)?.reject(reason);
        send({ type: 'cancel', id });
      };
      const onAbort = (): void => giveUp(signal?.reason);
      const timer = setTimeout(() => giveUp(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        return await new Promise<Answer>((resolve, reject) => {
          open.set(id, { resolve, reject });
          send({ type: 'call', id, question });
        });
      } finally {
        open.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      }
    },
    receive(message) {
      const waiting = open.get(message.id);
      if (message.type === 'answer') waiting?.resolve(message.answer);
      else waiting?.reject(unpack(message.error));
    },
    end(error) {
      ended = error;
      for (const { reject } of open.values()) reject(error);
    },
  };
}

/** The side that is asked, by one that asks. */
export interface Called<Question> {
  receive(message: CallMessage<Question>): void;
  /** Gives up everything that is under way: who asked is gone. */
  end(): void;
}

export function createCalled<Question, Answer, Packed>(options: {
  answer(question: Question, signal: AbortSignal): Promise<Answer>;
  send(message: ReplyMessage<Answer, Packed>): void;
  pack(error: unknown): Packed;
}): Called<Question> {
  const { answer, send, pack } = options;
  const open = new Map<number, AbortController>();

  async function reply(id: number, question: Question): Promise<void> {
    const controller = new AbortController();
    open.set(id, controller);
    let message: ReplyMessage<Answer, Packed>;
    try {
      message = { type: 'answer', id, answer: await answer(question, controller.signal) };
    } catch (error) {
      message = { type: 'refusal', id, error: pack(error) };
    }
    open.delete(id);
    if (!controller.signal.aborted) send(message);
  }

  return {
    receive(message) {
      if (message.type === 'call') void reply(message.id, message.question);
      else open.get(message.id)?.abort();
    },
    end() {
      for (const controller of open.values()) controller.abort();
    },
  };
}

/**
 * The port in the main process, and who gets its connections. The cluster module's own way leaves a connection open for
 * ever whose worker is killed before it takes it; here it stays with the main process until then, and goes to another.
 */
import type { Worker } from 'node:cluster';
import { createServer, type Server, type Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import type { ToWorker } from './messages.ts';

/** What a connection can be handed to. */
export type Taker = Pick<Worker, 'send' | 'isConnected'>;

export interface Dispatcher {
  /** To be listened on by the caller. */
  readonly server: Server;
  /** The worker takes connections from now on. */
  add(worker: Taker): void;
  /** It died: what it has not taken goes to others. */
  remove(worker: Taker): void;
  /** A worker has the connection. */
  taken(id: number): void;
  /** Takes no more connections, and ends those that nobody has. */
  close(): void;
}

interface Waiting {
  socket: Socket;
  /** Who was given it; null while it waits for one. */
  worker: Taker | null;
  patience: NodeJS.Timeout;
}

export interface DispatcherOptions {
  /** How long a connection waits to be taken; differs from the default in tests only. */
  waitingMs?: number;
}

/** Connections that no worker has taken yet; more are refused. */
const MAX_WAITING = 1_024;
/**
 * Connections on their way to one worker. Node hands them over one by one, each when the worker has come to take the one
 * before, and whatever else is said to a worker waits behind them: of a flood it would hear no answer for minutes.
 */
const AT_ONCE = 4;
/**
 * Longest that a connection waits: behind a flood of others its client has given up by then, and a worker that has no
 * room for it (of open files, say) never says that it has it.
 */
const WAITING_MS = 30_000;

/** The other end of the line is closed already, though nothing was heard of it yet. */
const isEnded = (error: Error): boolean => 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET');

export function createDispatcher(registry: Registry, { waitingMs = WAITING_MS }: DispatcherOptions = {}): Dispatcher {
  const refused = new Counter({
    name: 'tonstream_connections_refused_total',
    help: 'Connections that were closed because no worker took them in time, or those before them',
    registers: [registry],
  });
  const given = new Map<Taker, number>();
  const waiting = new Map<number, Waiting>();
  /** Of those the ones that nobody was given yet. */
  let held = new Set<number>();
  let lastId = 0;

  /** The one with the fewest connections on their way; of several the one whose turn it is. None when all have enough. */
  function next(): Taker | null {
    let best: Taker | null = null;
    let fewest = AT_ONCE;
    for (const [worker, count] of given) {
      if (count >= fewest) continue;
      best = worker;
      fewest = count;
    }
    if (best !== null) {
      given.delete(best);
      given.set(best, fewest + 1);
    }
    return best;
  }

  /** As many as are taken now, those that have waited longest first. */
  function give(): void {
    for (const id of held) {
      const worker = next();
      if (worker === null) return;
      held.delete(id);
      const connection = waiting.get(id);
      if (connection !== undefined) hand(id, connection, worker);
    }
  }

  function hand(id: number, connection: Waiting, worker: Taker): void {
    connection.worker = worker;
    const message: ToWorker = { type: 'connection', id };
    worker.send(message, connection.socket, { keepOpen: true }, (error) => {
      // Of one that has died, or is about to, the connection goes to another: `remove` follows.
      if (error !== null && worker.isConnected() && !isEnded(error)) forget(id);
    });
  }

  /** What a dead worker has not taken has waited longer than all others. */
  function takeBack(worker: Taker): void {
    const back = [...waiting].filter(([, connection]) => connection.worker === worker);
    for (const [, connection] of back) connection.worker = null;
    held = new Set([...back.map(([id]) => id), ...held]);
  }

  /** This process lets go of it; what a worker has of it stays open. */
  function forget(id: number): void {
    const connection = waiting.get(id);
    if (connection === undefined) return;
    waiting.delete(id);
    held.delete(id);
    const { worker, socket, patience } = connection;
    clearTimeout(patience);
    const count = worker && given.get(worker);
    if (worker && count) given.set(worker, count - 1);
    socket.destroy();
    give();
  }

  // Not read here: the first byte is the worker's.
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    if (waiting.size >= MAX_WAITING) {
      refused.inc();
      socket.destroy();
      return;
    }
    const id = ++lastId;
    const late = (): void => {
      refused.inc();
      forget(id);
    };
    waiting.set(id, { socket, worker: null, patience: setTimeout(late, waitingMs).unref() });
    held.add(id);
    // The client has gone.
    socket.on('error', () => forget(id));
    give();
  });

  return {
    server,
    add(worker) {
      given.set(worker, 0);
      give();
    },
    remove(worker) {
      given.delete(worker);
      takeBack(worker);
      give();
    },
    taken: forget,
    close() {
      server.close();
      given.clear();
      for (const id of [...waiting.keys()]) forget(id);
    },
  };
}

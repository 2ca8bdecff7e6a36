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
  /** Who was given it; null while there is no worker. */
  worker: Taker | null;
}

/** Connections that no worker has taken yet; more are refused. */
const MAX_WAITING = 1_024;

export function createDispatcher(registry: Registry): Dispatcher {
  const refused = new Counter({
    name: 'tonstream_connections_refused_total',
    help: 'Connections that were closed because no worker took those before them',
    registers: [registry],
  });
  const given = new Map<Taker, number>();
  const waiting = new Map<number, Waiting>();
  let lastId = 0;

  /** The one with the fewest connections on their way; of several the one whose turn it is. */
  function next(): Taker | null {
    let best: Taker | null = null;
    for (const [worker, count] of given) if (best === null || count < (given.get(best) ?? 0)) best = worker;
    if (best !== null) {
      const count = given.get(best) ?? 0;
      given.delete(best);
      given.set(best, count + 1);
    }
    return best;
  }

  function give(id: number, connection: Waiting): void {
    const worker = next();
    connection.worker = worker;
    if (worker === null) return;
    const message: ToWorker = { type: 'connection', id };
    worker.send(message, connection.socket, { keepOpen: true }, (error) => {
      // Of one that has died, or is about to, the connection goes to another: `remove` follows.
      if (error !== null && worker.isConnected()) forget(id);
    });
  }

  /** This process lets go of it; what a worker has of it stays open. */
  function forget(id: number): void {
    const connection = waiting.get(id);
    if (connection === undefined) return;
    waiting.delete(id);
    const { worker, socket } = connection;
    const count = worker && given.get(worker);
    if (worker && count) given.set(worker, count - 1);
    socket.destroy();
  }

  // Not read here: the first byte is the worker's.
  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    if (waiting.size >= MAX_WAITING) {
      refused.inc();
      socket.destroy();
      return;
    }
    const id = ++lastId;
    const connection: Waiting = { socket, worker: null };
    waiting.set(id, connection);
    // The client has gone.
    socket.on('error', () => forget(id));
    give(id, connection);
  });

  return {
    server,
    add(worker) {
      given.set(worker, 0);
      for (const [id, connection] of waiting) if (connection.worker === null) give(id, connection);
    },
    remove(worker) {
      given.delete(worker);
      for (const [id, connection] of waiting) if (connection.worker === worker) give(id, connection);
    },
    taken: forget,
    close() {
      server.close();
      for (const id of [...waiting.keys()]) forget(id);
    },
  };
}

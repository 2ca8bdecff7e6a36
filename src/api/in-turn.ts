/**
 * Requests that are sent before those before them on their connection are answered (RFC 9112, 9.3.2). Node reads on, and
 * keeps all of them until they are answered.
 */
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** No more is read from a connection of a server until it goes on, or is let go of. */
export interface Held {
  goOn(): void;
  /** For who takes it over. */
  letGo(): void;
}

export function holdBack(socket: Duplex): Held {
  // Whoever reads the body of a request resumes it, and so does the server when it begins. The server reads from the
  // handle by itself, and stops at the event, which does not come of one that is paused already.
  const pause = (): void => void (socket.isPaused() ? socket.emit('pause') : socket.pause());
  const letGo = (): void => void socket.off('resume', pause);
  socket.on('resume', pause);
  pause();
  return {
    letGo,
    goOn() {
      letGo();
      socket.resume();
    },
  };
}

export interface InTurn {
  /** Whether something that was asked on the connection is still to be answered. */
  isOpen(socket: Duplex): boolean;
  /** For who has taken the connection from the server: resolves when all is answered, or it is closed. */
  answered(socket: Duplex): Promise<void>;
}

/**
 * From a connection of the server no more is read while a request of it waits behind another, but for what has come with
 * it: 64 KB at most.
 */
export function readInTurn(server: Server): InTurn {
  const lines = new WeakMap<Duplex, ServerResponse[]>();
  const held = new WeakMap<Duplex, Held>();

  /** What is to be answered on it, in order. */
  function openOf(socket: Duplex): ServerResponse[] {
    const open = lines.get(socket) ?? [];
    while (open.length > 0 && open[0].closed) open.shift();
    return open;
  }

  function hold(socket: Duplex): void {
    if (held.has(socket)) return;
    const one = holdBack(socket);
    held.set(socket, one);
    const look = (): void => {
      if (held.get(socket) !== one) return;
      const open = openOf(socket);
      if (open.length > 1) open[0].once('close', look);
      else {
        held.delete(socket);
        one.goOn();
      }
    };
    look();
  }

  function letGo(socket: Duplex): void {
    held.get(socket)?.letGo();
    held.delete(socket);
  }

  server.on('request', ({ socket }, response) => {
    const open = openOf(socket);
    open.push(response);
    if (open.length === 1) lines.set(socket, open);
    else hold(socket);
  });

  return {
    isOpen: (socket) => openOf(socket).length > 0,
    async answered(socket) {
      letGo(socket);
      // As the server does, which has let go of the connection.
      const drain = (): void => {
        const [first] = openOf(socket);
        if (first?.writableNeedDrain) first.emit('drain');
      };
      const gone = new AbortController();
      const leave = (): void => gone.abort();
      // What breaks it closes it.
      const ignore = (): void => undefined;
      socket.on('drain', drain).on('error', ignore).once('close', leave);
      try {
        for (let open = openOf(socket); open.length > 0 && !socket.destroyed; open = openOf(socket)) {
          await once(open[0], 'close', { signal: gone.signal }).catch(ignore);
        }
      } finally {
        socket.off('drain', drain).off('error', ignore).off('close', leave);
      }
    },
  };
}

/** The worker's side of the shared port: connections come from the main process, each with its socket. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { holdBack } from '../api/in-turn.ts';
import type { HttpService } from '../service.ts';

/** Time for requests under way when it closes. */
const CLOSE_MS = 2_000;

export interface Doorway {
  /** Answers with this server from now on. */
  open(server: Server): Promise<HttpService>;
  /** A connection that was handed over. Its first byte is read once the function is called. */
  enter(socket: Socket): () => void;
}

/** @param url under which clients know the port */
export function createDoorway(url: string): Doorway {
  const inside = new Set<Socket>();
  let server: Server | null = null;

  async function close(): Promise<void> {
    const closing = server;
    server = null;
    closing?.closeIdleConnections();
    const ended = Array.from(inside, (socket) => once(socket, 'close'));
    const cut = setTimeout(() => {
      for (const socket of inside) socket.destroy();
    }, CLOSE_MS);
    await Promise.all(ended);
    clearTimeout(cut);
    closing?.close();
  }

  return {
    async open(opened) {
      server = opened;
      // It never listens itself, and begins to watch over the time of its connections only when it does.
      opened.emit('listening');
      return { url, close };
    },
    enter(socket) {
      if (server === null) {
        socket.destroy();
        return () => undefined;
      }
      inside.add(socket);
      socket.once('close', () => inside.delete(socket));
      server.emit('connection', socket);
      return holdBack(socket).goOn;
    },
  };
}

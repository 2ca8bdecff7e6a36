/** Where webhooks lead in tests: a server that verifies what comes, and answers as it is told. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';

const notification = z.looseObject({ type: z.string(), event_id: z.string(), cursor: z.string() });
export type Received = z.output<typeof notification>;

export interface WebhookTarget {
  url: string;
  /** Notifications of the requests that were answered 200, in their order. */
  received: Received[];
  /** Requests, those that were not taken included. */
  requests: number;
  /** Of bodies that could not be verified. */
  forged: unknown[];
  /** For the webhooks that lead here, given when they are made: a body may come before the answer to that. */
  readonly secret: string;
  /** Status of the answer to these notifications; 0 cuts the connection. */
  answer: (notifications: Received[]) => number;
  close(): void;
}

export async function openTarget(): Promise<WebhookTarget> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    target.requests++;
    let read: unknown;
    try {
      const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
      const headers = Object.fromEntries(names.map((name) => [name, String(request.headers[name])]));
      read = new Webhook(target.secret).verify(body, headers);
    } catch (error) {
      target.forged.push(error);
      response.writeHead(401).end();
      return;
    }
    const notifications = z.union([z.array(notification), notification.transform((one) => [one])]).parse(read);
    const status = target.answer(notifications);
    if (status === 0) {
      request.socket.destroy();
      return;
    }
    if (status === 200) target.received.push(...notifications);
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const target: WebhookTarget = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`,
    received: [],
    requests: 0,
    forged: [],
    secret: `whsec_${randomBytes(32).toString('base64')}`,
    answer: () => 200,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return target;
}

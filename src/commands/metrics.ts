import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { httpUrl, listen } from '../listen.ts';
import type { Running } from './running.ts';

const PATH = '/metrics';
/** Who asks for metrics is few; more connections are closed. */
const MOST_CONNECTIONS = 16;
const LIMITS = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 65_000, maxHeaderSize: 16 * 1024 };

/**
 * Answers GET and HEAD of `/metrics` until the shutdown, where the settings name a port: what a role that runs alone
 * counts, in the text format of Prometheus.
 * @throws Error that names the setting when the port cannot be had
 */
export async function answerMetrics({ config, logger, shutdown, print }: Running, registry: Registry): Promise<void> {
  const { metricsHost: host, metricsPort: port } = config;
  if (port === undefined) return;
  const server = createServer(LIMITS, (request, response) => {
    if (request.url?.split('?', 1)[0] !== PATH) {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error: unknown) => {
        logger.error({ err: error }, 'the metrics cannot be told');
        response.writeHead(500).end();
      },
    );
  });
  server.maxConnections = MOST_CONNECTIONS;
  const url = httpUrl(host, await listen(server, host, port, 'metrics-'));
  shutdown.onClose('metrics', async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  print(`metrics at ${url}${PATH}`);
}

import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** Words of a server that it is still at it (1xx): none that means well has so many before an answer. */
const MOST_INFORMATION = 32;

/** How a stranger's server begins its answer. Rejects when there is none. */
export function answerOf(url: URL, options: RequestOptions, body?: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve);
    sent.on('error', reject);
    // One that wants to speak another protocol (101) is closed without an answer or an error.
    sent.on('close', () => reject(new Error('hung up without an answer')));
    let informed = 0;
    sent.on('information', () => {
      if (++informed > MOST_INFORMATION)
        sent.destroy(new Error(`says more than ${MOST_INFORMATION} times that it is at it`));
    });
    sent.end(body);
  });
}

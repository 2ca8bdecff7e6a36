/** Questions to the public API of this service: what a page shows, anybody can ask for. */

const TIMEOUT_MS = 20_000;
/** Refusals that may be over soon. */
const NOT_NOW = new Set([429, 503]);
const MOST_RETRIES = 3;
/** Longest wait for that: what is refused for longer is told. */
const LONGEST_WAIT_S = 30;

/** Path of the service's root: these files lie one folder below. */
export const ROOT = new URL('../', import.meta.url).pathname;

/** Rows that the service gives at once at the most, as it says in the page. */
const MOST_ROWS = Number(
  globalThis.document?.querySelector('meta[name="most-rows"]').content ?? Number.POSITIVE_INFINITY,
);

/** The limit of a list: `wanted`, or what the service gives at the most. */
export function atMost(wanted) {
  return Math.min(wanted, MOST_ROWS);
}

/** What the service answered instead of rows; `status` is 0 where it did not answer. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Names, domains and metadata of what the answers so far mention, by raw address in upper case. */
export const book = { rows: new Map(), metadata: new Map() };
/** Addresses that are remembered, those mentioned last: a page may stand open for weeks. */
const MOST_KNOWN = 20_000;

function remember(known, told) {
  for (const [address, row] of Object.entries(told ?? {})) {
    known.delete(address);
    known.set(address, row);
  }
  for (const address of known.keys()) {
    if (known.size <= MOST_KNOWN) break;
    known.delete(address);
  }
}

/** The address of a question, for links, too. A list is repeated; what is undefined or null is left out. */
export function apiUrl(endpoint, parameters = {}, api = 'api/v3/') {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null) continue;
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item));
  }
  const text = query.toString();
  return `${ROOT}${api}${endpoint}${text === '' ? '' : `?${text}`}`;
}

/** The answer of an endpoint of v3. Throws {@link ApiError} with the service's own words. */
export async function ask(endpoint, parameters, body) {
  const answer = await askAt(apiUrl(endpoint, parameters), body);
  remember(book.rows, endpoint === 'addressBook' ? answer : answer.address_book);
  remember(book.metadata, answer.metadata);
  return answer;
}

/**
 * The JSON of an address, by POST with a body. What is refused for now is asked again when the answer says, a few times.
 * Throws {@link ApiError}.
 */
export async function askAt(url, body) {
  for (let retries = 0; ; retries++) {
    const { response, text } = await answerOf(url, body);
    const answer = jsonOf(text);
    if (response.ok && answer !== null) return answer;
    const waitS = Number(response.headers.get('retry-after') ?? 1);
    if (!NOT_NOW.has(response.status) || retries === MOST_RETRIES || !(waitS <= LONGEST_WAIT_S)) {
      const none = response.ok ? 'The answer is cut off, or not of this service.' : `status ${response.status}`;
      throw new ApiError(answer?.error ?? none, response.status);
    }
    // Spread over time, so that not all pages come back at once.
    const waitMs = waitS * 1_000 * (1 + Math.random() / 4);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** All of an answer, whatever it says. Throws {@link ApiError} where none comes, or not in time. */
export async function answerOf(url, body) {
  const init = { signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) {
    Object.assign(init, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }
  try {
    const response = await fetch(url, init);
    return { response, text: await response.text() };
  } catch (error) {
    throw new ApiError(error.name === 'TimeoutError' ? 'The service did not answer in time.' : 'No connection.', 0);
  }
}

/** What is known of a token by its metadata: the first valid entry, else null. */
export function tokenOf(address) {
  const told = book.metadata.get(address)?.token_info ?? [];
  return told.find(({ valid }) => valid !== false) ?? null;
}

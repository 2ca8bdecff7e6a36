/** A network of liteservers on the loopback that serves recorded masterchain blocks, well or badly. */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openBoc } from '../src/chain/boc.ts';
import { parseBoc, toBoc } from '../src/chain/builder.ts';
import { decodeHeader } from '../src/chain/header.ts';
import type { BlockIdExt } from '../src/chain/model.ts';
import { merkleProof } from '../src/chain/proof.ts';
import { type AdnlConnection, listenAdnl } from '../src/node/adnl.ts';
import { frames } from '../src/node/adnl-channel.ts';
import { publicKeyOf } from '../src/node/adnl-keys.ts';
import type { GlobalConfig, LiteServerAddress } from '../src/node/global-config.ts';
import { blockIdExtToTl, encodeAnswer } from '../src/node/lite-api.ts';
import { type LiteHandlers, type LiteMethod, LiteServerError, serveLite } from '../src/node/lite-server.ts';
import { requireShelf } from './shelf.ts';

export interface ServedBlock {
  id: BlockIdExt;
  bytes: Buffer;
}

/** Recorded mainnet masterchain blocks 2660 to 2690. */
export function recordedMasterchain(): ServedBlock[] {
  const file = join(requireShelf(), 'data', 'blocks', 'seq_mainnet-mc-2660.ndjson.gz');
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n');
  return lines.map((line) => {
    const block: { shard: string; seqno: number; root_hash: string; file_hash: string; boc: string } = JSON.parse(line);
    const rootHash = Buffer.from(block.root_hash, 'hex');
    const fileHash = Buffer.from(block.file_hash, 'hex');
    const id = { workchain: -1, shard: block.shard, seqno: block.seqno, rootHash, fileHash };
    return { id, bytes: Buffer.from(block.boc, 'base64') };
  });
}

/** Shows the header: block, BlockInfo and what that refers to, the state update. */
export function headerProof(bytes: Buffer): Buffer {
  const root = parseBoc(bytes);
  const [info, , update] = root.refs;
  const shown = new Set([root, info, ...info.refs, update]);
  return toBoc(merkleProof(root, (cell) => shown.has(cell)));
}

export const behaviours = [
  'good',
  /** Blocks with a flipped bit. */
  'liar',
  /** A masterchain of another zero state. */
  'foreigner',
  /** A head far ahead that it cannot show. */
  'boaster',
  /** A head far behind. */
  'stale',
  /** Takes calls for blocks and never answers. */
  'staller',
  /** Closes the connection on every call for a block. */
  'resetter',
  /** Answers with random bytes. */
  'babbler',
  /** Accepts connections and says nothing. */
  'mute',
  /** Sends garbage in place of the handshake. */
  'noise',
  /** Has no block. */
  'empty',
  /** Says it has too much to do. */
  'busy',
] as const;
export type Behaviour = (typeof behaviours)[number];

export interface FakeServer {
  behaviour: Behaviour;
  address: LiteServerAddress;
  /** Calls received, by method. */
  calls: Partial<Record<LiteMethod, number>>;
  close(): Promise<void>;
  /** Listens on the same port with the same key again. */
  restart(): Promise<void>;
}

export interface LiteNetwork {
  blocks: Map<number, ServedBlock>;
  head: number;
  advance(seqno: number): void;
  serve(behaviour: Behaviour, changed?: LiteHandlers): Promise<FakeServer>;
  config(servers: readonly FakeServer[]): GlobalConfig;
  close(): Promise<void>;
}

const zeroState: BlockIdExt = {
  workchain: -1,
  shard: '8000000000000000',
  seqno: 0,
  rootHash: createHash('sha256').update('root').digest(),
  fileHash: createHash('sha256').update('file').digest(),
};

export function createLiteNetwork(recorded: readonly ServedBlock[]): LiteNetwork {
  const blocks = new Map(recorded.map((block) => [block.id.seqno, block]));
  const servers: FakeServer[] = [];
  const waiting = new Set<() => void>();
  const network: LiteNetwork = {
    blocks,
    head: recorded[0].id.seqno,
    advance(seqno) {
      network.head = seqno;
      for (const wake of [...waiting]) wake();
    },
    async serve(behaviour, changed = {}) {
      const server = await start(behaviour, network, changed, waiting);
      servers.push(server);
      return server;
    },
    config: (chosen) => ({ liteservers: chosen.map((server) => server.address), zeroState, initBlock: null }),
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
  return network;
}

function waitFor(
  network: LiteNetwork,
  waiting: Set<() => void>,
  signal: AbortSignal,
  seqno: number,
  timeoutMs: number,
) {
  return new Promise<boolean>((resolve) => {
    const gone = (): void => end(false);
    const end = (came: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', gone);
      waiting.delete(check);
      resolve(came);
    };
    const check = (): void => {
      if (network.head >= seqno) end(true);
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    signal.addEventListener('abort', gone, { once: true });
    waiting.add(check);
    check();
  });
}

async function start(
  behaviour: Behaviour,
  network: LiteNetwork,
  changed: LiteHandlers,
  waiting: Set<() => void>,
): Promise<FakeServer> {
  const seed = randomBytes(32);
  const calls: FakeServer['calls'] = {};
  const listen = (port: number): Promise<Listening> => {
    if (behaviour === 'mute' || behaviour === 'noise') return listenPlain(behaviour, port);
    if (behaviour === 'babbler' || behaviour === 'resetter') {
      const address = { host: '127.0.0.1', port, privateKey: seed };
      return listenAdnl(address, (channel) => misanswer(channel, behaviour, network));
    }
    const handlers = { ...handlersOf(behaviour, network), ...changed };
    return serveLite({ host: '127.0.0.1', port, seed }, counted(handlers, calls), {
      waitMasterchainSeqno: (seqno, timeoutMs, signal) => waitFor(network, waiting, signal, seqno, timeoutMs),
    });
  };
  let listening = await listen(0);
  const { port } = listening;
  return {
    behaviour,
    address: { host: '127.0.0.1', port, publicKey: publicKeyOf(seed) },
    calls,
    close: () => listening.close(),
    async restart() {
      listening = await listen(port);
    },
  };
}

interface Listening {
  port: number;
  close(): Promise<void>;
}

/** The same handlers, with a count of their calls. */
function counted(handlers: LiteHandlers, calls: FakeServer['calls']): LiteHandlers {
  return new Proxy(handlers, {
    get(target, method: LiteMethod) {
      calls[method] = (calls[method] ?? 0) + 1;
      return target[method];
    },
  });
}

async function listenPlain(behaviour: Behaviour, wanted: number): Promise<Listening> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    if (behaviour === 'noise') socket.write(randomBytes(1000));
  });
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return { port, close };
}

/** Answers the question for the head and after that with random bytes, or with the end of the connection. */
function misanswer(channel: AdnlConnection, behaviour: Behaviour, network: LiteNetwork): void {
  let answered = 0;
  channel.onFrame((payload) => {
    const message = frames.decode(payload);
    if (message.kind !== 'adnl.message.query') return;
    if (answered++ > 0 && behaviour === 'resetter') return channel.close();
    const answer = answered > 1 ? randomBytes(100) : headAnswer(network);
    channel.send(frames.encode('adnl.message.answer', { queryId: message.queryId, answer }));
  });
}

function blockAt(network: LiteNetwork, seqno: number): ServedBlock {
  const block = seqno <= network.head ? network.blocks.get(seqno) : undefined;
  if (block === undefined) throw new LiteServerError(651, `block (-1,8000000000000000,${seqno}) is not in db`);
  return block;
}

/** As a node looks for a time: the first block at or after it; 0 when there is none. */
function firstSince(network: LiteNetwork, utime: number): number {
  const found = [...network.blocks.values()].find(
    ({ id, bytes }) => id.seqno <= network.head && decodeHeader(openBoc(bytes)).genUtime >= utime,
  );
  return found?.id.seqno ?? 0;
}

function masterchainInfo(id: BlockIdExt, init = zeroState) {
  return {
    last: blockIdExtToTl(id),
    stateRootHash: Buffer.alloc(32),
    init: { workchain: -1, rootHash: init.rootHash, fileHash: init.fileHash },
  };
}

function headAnswer(network: LiteNetwork): Buffer {
  return encodeAnswer('getMasterchainInfo', masterchainInfo(blockAt(network, network.head).id));
}

function goodHandlers(network: LiteNetwork): LiteHandlers {
  return {
    getMasterchainInfo: () => masterchainInfo(blockAt(network, network.head).id),
    getTime: () => ({ now: 1_573_859_200 }),
    getBlock: ({ id }) => ({ id, data: blockAt(network, id.seqno).bytes }),
    getBlockHeader: ({ id, mode }) => ({ id, mode, headerProof: headerProof(blockAt(network, id.seqno).bytes) }),
    lookupBlock: ({ mode, id: { seqno }, utime }) => {
      const { id, bytes } = blockAt(network, mode === 4 ? firstSince(network, utime ?? 0) : seqno);
      return { id: blockIdExtToTl(id), mode, headerProof: headerProof(bytes) };
    },
    sendMessage: () => ({ status: 1 }),
  };
}

const never = (): Promise<never> => new Promise(() => undefined);

function refuse(code: number, message: string): () => never {
  return () => {
    throw new LiteServerError(code, message);
  };
}

function handlersOf(behaviour: Behaviour, network: LiteNetwork): LiteHandlers {
  const good = goodHandlers(network);
  const oldest = Math.min(...network.blocks.keys());
  switch (behaviour) {
    case 'liar':
      return { ...good, getBlock: ({ id }) => ({ id, data: flipped(blockAt(network, id.seqno).bytes) }) };
    case 'foreigner': {
      const init = { ...zeroState, rootHash: Buffer.alloc(32, 1) };
      return { ...good, getMasterchainInfo: () => masterchainInfo(blockAt(network, network.head).id, init) };
    }
    case 'boaster': {
      const id = { ...zeroState, seqno: 0x7fff_ff00, rootHash: randomBytes(32), fileHash: randomBytes(32) };
      return { ...good, getMasterchainInfo: () => masterchainInfo(id) };
    }
    case 'stale':
      return { ...good, getMasterchainInfo: () => masterchainInfo(blockAt(network, oldest).id) };
    case 'staller':
      return { ...good, getBlock: never, lookupBlock: never, sendMessage: never };
    case 'empty':
      return { ...good, getBlock: refuse(651, 'not in db'), lookupBlock: refuse(0, 'block not found in db') };
    case 'busy':
      return { ...good, getBlock: refuse(228, 'too many requests'), lookupBlock: refuse(228, 'too many requests') };
    default:
      return good;
  }
}

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length >> 1] ^= 1;
  return copy;
}

import * as crypto from 'node:crypto';

/** The curve's field: 2^255 - 19. */
const P = (1n << 255n) - 19n;

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const PKCS8_X25519 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');
const SPKI_X25519 = Buffer.from('302a300506032b656e032100', 'hex');
/** TL constructor `pub.ed25519` as its bytes stand on the wire. */
const PUB_ED25519 = Buffer.from('c6b41348', 'hex');

/** Ed25519 public key (32 bytes) of a seed (32 bytes). */
export function publicKeyOf(seed: Buffer): Buffer {
  const key = crypto.createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' });
  return crypto.createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI_ED25519.length);
}

/** Short id of a key: SHA-256 of its TL form. */
export function keyId(publicKey: Buffer): Buffer {
  return crypto.createHash('sha256').update(PUB_ED25519).update(publicKey).digest();
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

/** Montgomery form of an Edwards point: u = (1 + y) / (1 - y). */
function montgomery(publicKey: Buffer): Buffer {
  const y = littleEndian(publicKey) & ((1n << 255n) - 1n);
  const below = (P + 1n - (y % P)) % P;
  if (below === 0n) throw new Error('public key is the neutral point');
  const u = (((1n + y) % P) * power(below, P - 2n)) % P;
  return Buffer.from(u.toString(16).padStart(64, '0'), 'hex').reverse();
}

/**
 * Secret two Ed25519 keys share: X25519 over the clamped SHA-512 of the seed (RFC 8032, 5.1.5) and the Montgomery
 * form of the peer's key. Throws for keys that are no point of full order.
 */
export function sharedSecret(seed: Buffer, peer: Buffer): Buffer {
  const scalar = crypto.createHash('sha512').update(seed).digest().subarray(0, 32);
  const privateKey = crypto.createPrivateKey({
    key: Buffer.concat([PKCS8_X25519, scalar]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = crypto.createPublicKey({
    key: Buffer.concat([SPKI_X25519, montgomery(peer)]),
    format: 'der',
    type: 'spki',
  });
  return crypto.diffieHellman({ privateKey, publicKey });
}

/** Bytes of a handshake: key id, ephemeral key, hash of the parameters, the parameters encrypted. */
export const HANDSHAKE_BYTES = 256;
const PARAMETER_BYTES = 160;

function parameterCipher(secret: Buffer, hash: Buffer): crypto.Cipher {
  const key = Buffer.concat([secret.subarray(0, 16), hash.subarray(16, 32)]);
  const iv = Buffer.concat([hash.subarray(0, 4), secret.subarray(20, 32)]);
  return crypto.createCipheriv('aes-256-ctr', key, iv);
}

/** The two continuous key streams of a connection, seen from one side. AES in counter mode: both run forwards. */
export interface StreamCiphers {
  inbound: crypto.Cipher;
  outbound: crypto.Cipher;
}

function streams(parameters: Buffer, side: 'client' | 'server'): StreamCiphers {
  const toClient = crypto.createCipheriv('aes-256-ctr', parameters.subarray(0, 32), parameters.subarray(64, 80));
  const toServer = crypto.createCipheriv('aes-256-ctr', parameters.subarray(32, 64), parameters.subarray(80, 96));
  return side === 'client' ? { inbound: toClient, outbound: toServer } : { inbound: toServer, outbound: toClient };
}

/** The 256 bytes a client begins with, and the streams it will use. Throws for a server key that is no key. */
export function clientHandshake(serverKey: Buffer): { bytes: Buffer; ciphers: StreamCiphers } {
  const seed = crypto.randomBytes(32);
  const parameters = crypto.randomBytes(PARAMETER_BYTES);
  const hash = crypto.createHash('sha256').update(parameters).digest();
  const encrypted = parameterCipher(sharedSecret(seed, serverKey), hash).update(parameters);
  return {
    bytes: Buffer.concat([keyId(serverKey), publicKeyOf(seed), hash, encrypted]),
    ciphers: streams(parameters, 'client'),
  };
}

/** The streams after 256 received bytes; null when these are for another key, damaged, or made with no proper key. */
export function serverHandshake(bytes: Buffer, seed: Buffer, id: Buffer): StreamCiphers | null {
  if (!bytes.subarray(0, 32).equals(id)) return null;
  const hash = bytes.subarray(64, 96);
  const secret = secretOrNull(seed, bytes.subarray(32, 64));
  if (secret === null) return null;
  const parameters = parameterCipher(secret, hash).update(bytes.subarray(96));
  const found = crypto.createHash('sha256').update(parameters).digest();
  return found.equals(hash) ? streams(parameters, 'server') : null;
}

/** OpenSSL refuses points of small order by throwing; a peer that sends one is no client. */
function secretOrNull(seed: Buffer, peer: Buffer): Buffer | null {
  try {
    return sharedSecret(seed, peer);
  } catch {
    return null;
  }
}

import { createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto';

/** An Ed25519 key pair. */
export interface Keys {
  /** 32 bytes. */
  publicKey: Buffer;
  /** The 32 bytes from which the pair is made, as `keyPairFromSeed` of @ton/crypto takes them. */
  secretSeed: Buffer;
  /** Signature of 64 bytes. */
  sign(message: Buffer): Buffer;
}

/** DER of a PKCS #8 Ed25519 private key up to its 32 bytes (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Keys of an actor of the devnet: the same for the same seed and name. Never for coins of worth. */
export function deriveKeys(seed: string, name: string): Keys {
  const secretSeed = createHmac('sha256', `tonstream devnet ${seed}`).update(name).digest();
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, secretSeed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  return { publicKey, secretSeed, sign: (message) => sign(null, message, key) };
}

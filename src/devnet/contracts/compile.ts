/** Compiles the Tolk sources of this folder; used by the build step and by the test that repeats it, never at run time. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runTolkCompiler } from '@ton/tolk-js';

/** The sources that are contracts; the other sources are imported by them. */
const SOURCES = {
  jettonMaster: 'jetton-master.tolk',
  jettonWallet: 'jetton-wallet.tolk',
  governedMaster: 'governed-master.tolk',
  governedWallet: 'governed-wallet.tolk',
  mintlessMaster: 'mintless-master.tolk',
  mintlessWallet: 'mintless-wallet.tolk',
  nftCollection: 'nft-collection.tolk',
  nftItem: 'nft-item.tolk',
  faults: 'faults.tolk',
  marketplace: 'marketplace.tolk',
  nftSale: 'nft-sale.tolk',
  nftAuction: 'nft-auction.tolk',
  multisig: 'multisig.tolk',
  multisigOrder: 'multisig-order.tolk',
  vesting: 'vesting.tolk',
  subscription: 'subscription.tolk',
  dnsRoot: 'dns-root.tolk',
  domainCollection: 'domain-collection.tolk',
  domainItem: 'domain-item.tolk',
  stakingPool: 'staking-pool.tolk',
  stakingMaster: 'staking-master.tolk',
  exchangeRouter: 'exchange-router.tolk',
  exchangePool: 'exchange-pool.tolk',
};

const folder = new URL('./', import.meta.url);
export const CODES_FILE: string = fileURLToPath(new URL('codes.ts', folder));

/** Code of every contract as a base64 bag of cells. @throws {Error} with the compiler's message */
export async function compileContracts(): Promise<Record<string, string>> {
  const codes: Record<string, string> = {};
  for (const [name, file] of Object.entries(SOURCES)) {
    const result = await runTolkCompiler({
      entrypointFileName: file,
      fsReadCallback: (path) => readFileSync(new URL(path, folder), 'utf8'),
    });
    if (result.status === 'error') throw new Error(`${file}: ${result.message}`);
    codes[name] = result.codeBoc64;
  }
  return codes;
}

/** Hexadecimal SHA-256 of all sources, by name: other sources, other codes. */
export function sourcesDigest(): string {
  const digest = createHash('sha256');
  for (const name of readdirSync(folder).sort()) {
    if (name.endsWith('.tolk')) digest.update(`${name}\n`).update(readFileSync(new URL(name, folder)));
  }
  return digest.digest('hex');
}

/** Text of the TypeScript module that carries the codes. */
export function codesModule(codes: Record<string, string>): string {
  const lines = Object.entries(codes).map(([name, boc]) => `  ${name}:\n    '${boc}',`);
  return [
    '/** Made by `npm run build:contracts` from the Tolk sources beside it: code of each contract as base64 BoC. */',
    'export const CODES = {',
    ...lines,
    '} as const;',
    '',
    '/** SHA-256 of the sources that these codes were compiled from. */',
    `export const SOURCES_DIGEST = '${sourcesDigest()}';`,
    '',
  ].join('\n');
}

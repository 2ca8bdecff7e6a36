/** What a contract says of itself as a token, held against the contract that it says it belongs to. */
import { z } from 'zod';
import { addressOf, friendlyAddress, rawAddress, workchainOf } from '../../chain/address.ts';
import { Builder, type Cell, Slice, toBoc } from '../../chain/builder.ts';
import { type Content, readContent, readText } from '../../chain/contracts/content.ts';
import { DecodeError } from '../../chain/errors.ts';
import { CellView } from '../../chain/layouts/cell-view.ts';
import type { Address } from '../../chain/model.ts';
import { methodId } from '../../tvm/contract.ts';
import type { StackValue } from '../../tvm/stack.ts';
import type { OpenContract } from '../contracts.ts';
import { ApiError, Refusal } from '../errors.ts';
import { RESULT_LIMITS, running } from '../running.ts';
import { readRecords, recordsContent } from './dns-records.ts';
import { address, check, type GivenAddress, int32, required } from './parameters.ts';
import { addressText } from './render/values.ts';
import { type Route, route } from './route.ts';

export function getTokenDataRoute(): Route {
  return route({
    path: '/getTokenData',
    tag: 'accounts',
    summary: 'What a jetton master, jetton wallet, NFT collection or NFT item says of itself',
    parameters: z.object({
      address: address(),
      seqno: int32('Masterchain block as of which it is asked; the newest when absent.'),
    }),
    response: z.looseObject({ '@type': z.string(), address: z.string(), contract_type: z.string() }),
    failures: { 409: 'The account is no jetton and no NFT.' },
    async answer(parameters, asked) {
      const given = required(parameters.address, 'address');
      const { seqno } = parameters;
      check(seqno === undefined || seqno > 0, 'seqno should be positive');
      const contract = await asked.contracts.open(given.address, seqno, asked.context);
      const token: Token = {
        contract,
        own: given.address,
        open: (other) => asked.contracts.open(other, seqno, asked.context),
      };
      for (const [type, read] of KINDS) {
        const found = await passing(() => read(token));
        if (found === null) continue;
        const [name, kind] = type;
        return JSON.stringify({ '@type': name, address: shown(given), contract_type: kind, ...found });
      }
      throw new ApiError(409, `Smart contract ${shown(given)} is not Jetton or NFT`);
    },
  });
}

interface Token {
  contract: OpenContract;
  own: Address;
  /** Another contract as of the same step. */
  open(other: Address): Promise<OpenContract>;
}

type Reader = (token: Token) => Promise<object | null>;

/** The first that passes counts. */
const KINDS: readonly (readonly [readonly [string, string], Reader])[] = [
  [['ext.tokens.jettonMasterData', 'jetton_master'], readMaster],
  [['ext.tokens.jettonWalletData', 'jetton_wallet'], readWallet],
  [['ext.tokens.nftCollectionData', 'nft_collection'], readCollection],
  [['ext.tokens.nftItemData', 'nft_item'], readItem],
];

/** A result of another shape than the standard's. */
class ShapeError extends Error {}

/** Null for a contract that answers in another way than its kind does. */
async function passing(read: () => Promise<object | null>): Promise<object | null> {
  try {
    return await read();
  } catch (error) {
    // What is nested too deep to be read is no answer of a token, either.
    const reason = error instanceof Refusal ? error.cause : error;
    if (reason instanceof ShapeError || reason instanceof DecodeError) return null;
    throw error;
  }
}

/** What a method leaves, null unless its exit code is 0: here the other one of success counts as none. */
async function call(contract: OpenContract, method: string, stack: StackValue[] = []): Promise<StackValue[] | null> {
  const ran = await running(() => contract.run(methodId(method), stack, { limits: RESULT_LIMITS }));
  return ran.exitCode === 0 ? ran.stack : null;
}

async function readMaster({ contract }: Token): Promise<object | null> {
  const stack = await call(contract, 'get_jetton_data');
  if (stack === null || stack.length < 5) return null;
  const [supply, mintable, admin, content, code] = stack;
  const owner = addressIn(admin);
  return {
    total_supply: integer(supply).toString(),
    mintable: integer(mintable) !== 0n,
    ...(owner && { admin_address: addressText(owner) }),
    jetton_content: tokenContent(cellIn(content)),
    jetton_wallet_code: base64(cellIn(code)),
  };
}

async function readWallet({ contract, own, open }: Token): Promise<object | null> {
  const stack = await call(contract, 'get_wallet_data');
  if (stack === null || stack.length < 4) return null;
  const [amount, ownerSlice, masterSlice, code] = stack;
  const [balance, owner, master] = [integer(amount), addressIn(ownerSlice), addressIn(masterSlice)];
  if (owner === null || master === null) return null;
  const wallet = await call(await open(master), 'get_wallet_address', [addressSlice(owner)]);
  if (wallet === null || wallet.length === 0 || !addressIn(wallet[0])?.equals(own)) return null;
  const claimed = await call(contract, 'is_claimed');
  const isClaimed = claimed?.length === 1 && claimed[0].type === 'int' ? claimed[0].value !== 0n : null;
  return {
    balance: balance.toString(),
    owner: addressText(owner),
    jetton: addressText(master),
    ...(isClaimed !== null && { mintless_is_claimed: isClaimed }),
    jetton_wallet_code: base64(cellIn(code)),
  };
}

async function readCollection({ contract }: Token): Promise<object | null> {
  const stack = await call(contract, 'get_collection_data');
  if (stack === null || stack.length < 3) return null;
  const [next, content, ownerSlice] = stack;
  const owner = addressIn(ownerSlice);
  return {
    next_item_index: integer(next).toString(),
    ...(owner && { owner_address: addressText(owner) }),
    collection_content: tokenContent(cellIn(content)),
  };
}

async function readItem(token: Token): Promise<object | null> {
  const { contract, own } = token;
  const stack = await call(contract, 'get_nft_data');
  if (stack === null || stack.length < 5) return null;
  const [init, number, collectionSlice, ownerSlice, individual] = stack;
  const [index, collection, owner] = [integer(number), addressIn(collectionSlice), addressIn(ownerSlice)];
  const members = {
    init: integer(init) !== 0n,
    index: index.toString(),
    ...(collection && { collection_address: addressText(collection) }),
    ...(owner && { owner_address: addressText(owner) }),
  };
  if (collection === null) return { ...members, content: tokenContent(cellIn(individual)) };
  const parent = await token.open(collection);
  const item = await call(parent, 'get_nft_address_by_index', [{ type: 'int', value: index }]);
  if (item === null || item.length === 0 || !addressIn(item[0])?.equals(own)) return null;
  const domain = await domainContent(contract);
  if (domain !== null) return { ...members, content: domain };
  const content = await call(parent, 'get_nft_content', [{ type: 'int', value: index }, individual]);
  if (content === null || content.length === 0) return null;
  return { ...members, content: tokenContent(cellIn(content[0])) };
}

/** Of an item of TON DNS (TEP-81): its own records. Null for any other item. */
async function domainContent(contract: OpenContract): Promise<object | null> {
  const self: StackValue = { type: 'slice', cell: new Builder().u(0, 8).cell() };
  const stack = await call(contract, 'dnsresolve', [self, { type: 'int', value: 0n }]);
  if (stack?.length !== 2 || stack[1].type !== 'cell') return null;
  const named = await call(contract, 'get_domain');
  const domain = named?.[0]?.type === 'slice' ? readText(CellView.from(named[0].cell)) : null;
  return { domain: domain === null ? '' : `${domain}.ton`, data: recordsContent(readRecords(stack[1].cell)) };
}

function integer(value: StackValue): bigint {
  if (value.type !== 'int') throw new ShapeError('a number');
  return value.value;
}

function cellIn(value: StackValue): Cell {
  if (value.type !== 'cell') throw new ShapeError('a cell');
  return value.cell;
}

/** Null for none; a cell may hold it, too. External, variable-length and anycast addresses are no token's. */
function addressIn(value: StackValue): Address | null {
  if (value.type !== 'slice' && value.type !== 'cell') throw new ShapeError('an address');
  const slice = new Slice(value.cell);
  if (slice.clone().u(2) === 0) return null;
  slice.tag(3, 4, 'addr_std without anycast');
  return addressOf(slice.i(8), slice.bytes(32));
}

function addressSlice(address: Address): StackValue {
  const cell = new Builder().u(4, 3).i(workchainOf(address), 8).bytes(address.subarray(4)).cell();
  return { type: 'slice', cell };
}

function tokenContent(cell: Cell): { type: 'onchain'; data: Content } | { type: 'offchain'; data: string } {
  const content = readContent(CellView.from(cell));
  if (content === null) throw new ShapeError('content of a token');
  return new Slice(cell).u(8) === 0 ? { type: 'onchain', data: content } : { type: 'offchain', data: content.uri };
}

/** As it was given, in the url-safe alphabet. */
function shown({ address: given, friendly }: GivenAddress): string {
  return friendly === null ? rawAddress(given) : friendlyAddress(given, friendly);
}

function base64(cell: Cell): string {
  return toBoc(cell).toString('base64');
}

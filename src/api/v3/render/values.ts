/** JSON text of the small values that every record is made of. */
import { shardText } from '../../../chain/address.ts';
import type { BlockId, ExtraCurrencies, Hash } from '../../../chain/model.ts';

/** A hash in quotes: padded standard base64. */
export function hashJson(hash: Hash): string {
  return `"${hash.toString('base64')}"`;
}

export function hashOrNull(hash: Hash | null): string {
  return hash === null ? 'null' : hashJson(hash);
}

/** A decimal or other text that needs no escaping, in quotes. */
export function textOrNull(text: string | null): string {
  return text === null ? 'null' : `"${text}"`;
}

export function extraJson(extra: ExtraCurrencies): string {
  let text = '';
  for (const id in extra) text += `${text === '' ? '' : ','}"${id}":"${extra[id]}"`;
  return `{${text}}`;
}

/** The member of that name behind others, from a comma on; left out where there are none. */
export function extraMember(name: string, extra: ExtraCurrencies): string {
  const text = extraJson(extra);
  return text === '{}' ? '' : `,"${name}":${text}`;
}

export function blockIdJson(block: BlockId): string {
  return `{"workchain":${block.workchain},"shard":"${shardText(block.shard)}","seqno":${block.seqno}}`;
}

/** A message of a transaction that came with its form: who sent it to whom is read of that, the rest is decoded. */
import { type FormedMessage as Formed, formedAddress } from '../api/v3/render/forms.ts';
import type { Address, Hash, Message } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { LazyMessage } from '../chain/stored.ts';

export function formedMessage(record: TransactionRecord, formed: Formed): Message {
  return new FormedMessage(record, formed);
}

class FormedMessage extends LazyMessage {
  readonly #record: TransactionRecord;
  readonly #formed: Formed;
  #hash: Hash | null = null;
  #source: Address | null = null;
  #destination: Address | null = null;

  constructor(record: TransactionRecord, formed: Formed) {
    super();
    this.#record = record;
    this.#formed = formed;
  }

  protected get whole(): Message {
    const { index } = this.#formed;
    const { inMsg, outMsgs } = this.#record.transaction;
    const message = index === 0 ? inMsg : (outMsgs[index - 1] ?? null);
    if (message === null) throw new Error(`a transaction has no message ${index}, of which its form tells`);
    return message;
  }

  get hash(): Hash {
    this.#hash ??= Buffer.from(this.#formed.hash, 'base64');
    return this.#hash;
  }
  get source(): Address | null {
    this.#source ??= formedAddress(this.#formed.source);
    return this.#source;
  }
  get destination(): Address | null {
    this.#destination ??= formedAddress(this.#formed.destination);
    return this.#destination;
  }
}

/**
 * Forms of transactions in groups: of those that follow one another in a chunk of a step, for packed together they share
 * most of their text. Of 7,797 forms of 5,952 bytes, 19 a step, each takes on the disk, and to read one: alone 2,337 bytes
 * and 2.8 us, four together 1,528 and 6, eight 1,251 and 10, sixteen 1,155 and 14.
 */
import { chunkOf, ID_BYTES, rowAt } from './chunk.ts';

const TOGETHER = 8;
const PLACE_AT = ID_BYTES - 1;

/** Where the group of a transaction is kept: by the id of the first one that may be in it. */
export function groupKey(id: Buffer): Buffer {
  const key = Buffer.from(id);
  key[PLACE_AT] -= key[PLACE_AT] % TOGETHER;
  return key;
}

export const isFirstOfGroup = (id: Buffer): boolean => id[PLACE_AT] % TOGETHER === 0;

/** The form of a transaction in its group; a view into it. */
export const formIn = (group: Buffer, id: Buffer): Buffer => rowAt(group, id[PLACE_AT] % TOGETHER);

/** Forms on their way into groups, by rising ids: each transaction has one. */
export class FormGroups {
  readonly #write: (key: Buffer, group: Buffer) => void;
  #key: Buffer | null = null;
  #forms: Buffer[] = [];

  constructor(write: (key: Buffer, group: Buffer) => void) {
    this.#write = write;
  }

  add(id: Buffer, form: Buffer): void {
    if (isFirstOfGroup(id)) {
      this.flush();
      this.#key = id;
    }
    this.#forms.push(form);
  }

  flush(): void {
    if (this.#key !== null) this.#write(this.#key, chunkOf(this.#forms));
    this.#key = null;
    this.#forms = [];
  }
}

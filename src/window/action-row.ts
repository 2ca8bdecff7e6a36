/** An action as a row of the window, and back. */
import type { ActionRow } from '../../clickhouse/tables/actions.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { ActionRecord } from '../chain/records.ts';
import type { TransactionForm } from './form.ts';
import { columnOf, encodeListing, restOf } from './kind.ts';
import { actionKind, typeKey } from './kinds.ts';

const LENGTH_BYTES = 4;
/** Types are words. */
const BETWEEN = ',';

/**
 * A row: behind the columns and the accounts, each with its length, the type and the ancestors, the hashes of the
 * transactions, the content; then the form.
 */
export function actionEntry(row: ActionRow, accounts: readonly Address[], form: TransactionForm | null): Buffer {
  const values = {
    traceEndLt: row.traceEndLt,
    traceId: row.traceId,
    number: row.number,
    traceEndUtime: row.traceEndUtime,
    type: typeKey(row.type),
    ancestors: row.ancestors.length,
    actionId: row.actionId,
    startLt: row.startLt,
    endLt: row.endLt,
    startUtime: row.startUtime,
    endUtime: row.endUtime,
    success: Number(row.success),
    externalHash: row.externalHash,
    externalHashNorm: row.externalHashNorm,
    endMcSeqno: row.endMcSeqno,
  };
  return encodeListing(actionKind, values, accounts, [
    ...[Buffer.from([row.type, ...row.ancestors].join(BETWEEN)), row.transactions, Buffer.from(row.content)].flatMap(
      (part) => [lengthOf(part), part],
    ),
    ...(form ? [form.ofAction({ ...row, mcSeqno: row.endMcSeqno })] : []),
  ]);
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32BE(part.length);
  return length;
}

/** An action of the window: of its columns those are decoded that are asked for. */
export class HeldAction implements ActionRecord {
  readonly form?: Buffer;
  readonly type: string;
  readonly ancestors: readonly string[];
  readonly transactions: Buffer;
  readonly #row: Buffer;
  readonly #content: Buffer;

  constructor(row: Buffer) {
    this.#row = row;
    const rest = restOf(actionKind, row);
    let at = 0;
    const [types, transactions, content] = [0, 1, 2].map(() => {
      const from = at + LENGTH_BYTES;
      at = from + rest.readUInt32BE(at);
      return rest.subarray(from, at);
    });
    const [type, ...ancestors] = types.toString().split(BETWEEN);
    this.type = type;
    this.ancestors = ancestors;
    this.transactions = transactions;
    this.#content = content;
    if (at < rest.length) this.form = rest.subarray(at);
  }

  get mcSeqno() {
    return columnOf(actionKind, this.#row, 'endMcSeqno');
  }
  get content(): string {
    return this.#content.toString();
  }
  get traceId(): Hash {
    return columnOf(actionKind, this.#row, 'traceId');
  }
  get traceEndLt() {
    return columnOf(actionKind, this.#row, 'traceEndLt');
  }
  get traceEndUtime() {
    return columnOf(actionKind, this.#row, 'traceEndUtime');
  }
  get number() {
    return columnOf(actionKind, this.#row, 'number');
  }
  get actionId(): Hash {
    return columnOf(actionKind, this.#row, 'actionId');
  }
  get startLt() {
    return columnOf(actionKind, this.#row, 'startLt');
  }
  get endLt() {
    return columnOf(actionKind, this.#row, 'endLt');
  }
  get startUtime() {
    return columnOf(actionKind, this.#row, 'startUtime');
  }
  get endUtime() {
    return columnOf(actionKind, this.#row, 'endUtime');
  }
  get success() {
    return columnOf(actionKind, this.#row, 'success') === 1;
  }
  get externalHash() {
    return columnOf(actionKind, this.#row, 'externalHash');
  }
  get externalHashNorm() {
    return columnOf(actionKind, this.#row, 'externalHashNorm');
  }
}

import type { Decimal } from '../model.ts';
import type { RawAddress } from './trace.ts';

/** A number with more digits than a double holds. Where it is not printed with all of them it is printed rounded. */
export class LongNumber {
  readonly digits: Decimal;

  constructor(digits: Decimal) {
    this.digits = digits;
  }

  toJSON(): number {
    return Number(this.digits);
  }
}

/** A value of `details` as the API prints it; a key whose value is undefined is left out. */
export type Detail =
  | string
  | number
  | boolean
  | LongNumber
  | null
  | undefined
  | readonly Detail[]
  | { readonly [key: string]: Detail };
export type Details = { readonly [key: string]: Detail };

/** Accounts an action is found by besides those of its transactions. */
export interface Columns {
  source?: RawAddress | null;
  source2?: RawAddress | null;
  destination?: RawAddress | null;
  destination2?: RawAddress | null;
  /** The item of a sale, the signers of an order. */
  more?: readonly RawAddress[];
}

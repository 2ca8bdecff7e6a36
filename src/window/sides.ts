import type { BoundedSource, ClickHouseSource } from '../../clickhouse/queries/source.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import type { View, WindowView } from './view.ts';

/** What a question is answered from. */
export interface Sides {
  view: View;
  /** The tables below the window's first step. */
  below: BoundedSource;
  /** The tables up to the window's head: for what the window has no key for. */
  whole: BoundedSource;
  /** Up to where `whole` tells newest states: those that later steps have left are in the view. */
  wholeTo: number;
  context: QueryContext;
  /** Where there are steps above the view: whether one of them has told the actions of a trace again. */
  isToldAbove?: (traceId: Hash) => boolean;
}

/** Where what the window does not hold is looked for. */
export interface Beneath {
  /** To be opened before the view, so that it is not ahead of it, and ended with `done`. */
  open(): Opened;
}

export type Under = Pick<Sides, 'below' | 'whole' | 'wholeTo'>;

export interface Opened {
  under(view: WindowView): Under;
  done(): void;
}

/** The tables alone. */
export function beneathIn({ below }: Pick<ClickHouseSource, 'below'>): Beneath {
  const opened: Opened = {
    under: ({ first, head }) => ({ below: below(first), whole: below(head + 1), wholeTo: head }),
    done: () => undefined,
  };
  return { open: () => opened };
}

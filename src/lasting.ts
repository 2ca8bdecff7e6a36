/**
 * Objects that a source keeps and gives again. What is made of one can be kept with it; of any other it is made anew,
 * for a weak map takes a microsecond to remember a new object, and so long to forget it.
 */
const lasting = new WeakSet<object>();

/** Whoever keeps an object says so. */
export function makeLast<T extends object>(one: T): T {
  lasting.add(one);
  return one;
}

export const isLasting = (one: object): boolean => lasting.has(one);

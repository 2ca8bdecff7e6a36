import { isLasting } from '../../../lasting.ts';

/** What `make` says of an object, made once for each of those that last, and each time for any other. */
export function once<T extends object, R extends {}>(make: (one: T) => R): (one: T) => R {
  const made = onceEach(make);
  return (one) => (isLasting(one) ? made(one) : make(one));
}

/** Made once for each, where there are few. */
export function onceEach<T extends object, R extends {}>(make: (one: T) => R): (one: T) => R {
  const made = new WeakMap<T, R>();
  return (one) => {
    const known = made.get(one);
    if (known !== undefined) return known;
    const fresh = make(one);
    made.set(one, fresh);
    return fresh;
  };
}

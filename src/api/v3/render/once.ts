/** What `make` says of an object, made once for each: a source mostly gives the same again while nothing of it changes. */
export function once<T extends object, R extends {}>(make: (one: T) => R): (one: T) => R {
  const made = new WeakMap<T, R>();
  return (one) => {
    const known = made.get(one);
    if (known !== undefined) return known;
    const fresh = make(one);
    made.set(one, fresh);
    return fresh;
  };
}

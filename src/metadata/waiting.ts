/** What waits for its turn, by host: one that answers slowly, or not at all, holds up its own and nobody else's. */

export interface Waiting<T> {
  readonly length: number;
  add(host: string, one: T): void;
  /** Of a host that may be asked more: of each in turn, its first. It is under way then, until `done`. */
  take(): { host: string; one: T } | undefined;
  done(host: string): void;
}

/** @param mostOfAHost that are under way at the same time */
export function createWaiting<T>(mostOfAHost: number): Waiting<T> {
  /** The one whose turn is next first. */
  const hosts = new Map<string, T[]>();
  const underWay = new Map<string, number>();
  let length = 0;

  return {
    get length() {
      return length;
    },
    add(host, one) {
      length++;
      const list = hosts.get(host);
      if (list === undefined) hosts.set(host, [one]);
      else list.push(one);
    },
    take() {
      for (const [host, list] of hosts) {
        const count = underWay.get(host) ?? 0;
        if (count >= mostOfAHost) continue;
        const [one] = list.splice(0, 1);
        length--;
        underWay.set(host, count + 1);
        hosts.delete(host);
        if (list.length > 0) hosts.set(host, list);
        return { host, one };
      }
      return undefined;
    },
    done(host) {
      const left = (underWay.get(host) ?? 0) - 1;
      if (left > 0) underWay.set(host, left);
      else underWay.delete(host);
    },
  };
}

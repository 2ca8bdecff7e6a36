/**
 * Domain names as answers put them: the shortest first, by code points, then in the order of these, which is that of the
 * bytes of UTF-8 and of the tables (`lengthUTF8(domain), domain`).
 */
export function compareDomains(a: string, b: string): number {
  return [...a].length - [...b].length || Buffer.from(a).compare(Buffer.from(b));
}

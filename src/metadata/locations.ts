/** Where the document of a token is: TEP-64 names it by http(s) or ipfs. */

const IPFS_ID = /^[A-Za-z0-9]{32,128}$/;
const MOST_CHARACTERS = 2_048;

/**
 * URLs to try, one after the other; none for a URI that leads nowhere we can go.
 * @param gateways of ipfs, each to be followed by id and path, as `https://ipfs.example/ipfs/`
 */
export function locationsOf(uri: string, gateways: readonly string[]): string[] {
  const text = uri.trim();
  if (text.length > MOST_CHARACTERS) return [];
  const ipfs = /^ipfs:\/\/(?:ipfs\/)?([^/?#]+)(\/[^?#]*)?/i.exec(text);
  if (ipfs !== null) {
    const [, id, path = ''] = ipfs;
    if (!IPFS_ID.test(id)) return [];
    // A path with dots in it leads to nothing else of the gateway's.
    const urls = gateways.map((gateway) => [new URL(id, gateway).href, new URL(`${id}${path}`, gateway).href]);
    return urls.flatMap(([root, url]) => (url === root || url.startsWith(`${root}/`) ? [url] : []));
  }
  if (!URL.canParse(text)) return [];
  const url = new URL(text);
  return url.protocol === 'http:' || url.protocol === 'https:' ? [url.href] : [];
}

/** Spellings of addresses and hashes: `detectAddress`, `detectHash`, `packAddress`, `unpackAddress`. */
import { z } from 'zod';
import { friendlyAddress, rawAddress } from '../../chain/address.ts';
import { address, given, hash, required } from './parameters.ts';
import { FRIENDLY } from './render/values.ts';
import { type Route, route } from './route.ts';
import { detectedAddress, detectedHash } from './schemas.ts';

const TAG = 'utils';

export function detectAddressRoute(): Route {
  return route({
    path: '/detectAddress',
    tag: TAG,
    summary: 'All forms of an address',
    parameters: z.object({ address: address() }),
    response: detectedAddress,
    async answer(parameters) {
      const { address: found, friendly } = required(parameters.address, 'address');
      const testOnly = friendly?.testOnly ?? false;
      const variant = (bounceable: boolean) => {
        const b64url = friendlyAddress(found, { bounceable, testOnly });
        const b64 = b64url.replaceAll('-', '+').replaceAll('_', '/');
        return { '@type': 'ext.utils.detectedAddressVariant', b64, b64url };
      };
      const given = friendly?.bounceable ? 'friendly_bounceable' : 'friendly_non_bounceable';
      return JSON.stringify({
        '@type': 'ext.utils.detectedAddress',
        raw_form: rawAddress(found).toLowerCase(),
        bounceable: variant(true),
        non_bounceable: variant(false),
        given_type: friendly === null ? 'raw_form' : given,
        test_only: testOnly,
      });
    },
  });
}

export function detectHashRoute(): Route {
  return route({
    path: '/detectHash',
    tag: TAG,
    summary: 'All forms of a hash',
    parameters: z.object({ hash: hash('32 bytes: base64, url-safe base64 or hex.') }),
    response: detectedHash,
    async answer(parameters) {
      const bytes = required(given(parameters.hash), 'hash');
      const b64url = bytes.toString('base64url');
      const forms = { b64: bytes.toString('base64'), b64url: `${b64url}=`, hex: bytes.toString('hex') };
      return JSON.stringify({ '@type': 'ext.utils.detectedHash', ...forms });
    },
  });
}

export function packAddressRoute(): Route {
  return route({
    path: '/packAddress',
    tag: TAG,
    summary: 'The user-friendly form of an address',
    parameters: z.object({ address: address() }),
    response: z.string(),
    async answer(parameters) {
      const { address: found, friendly } = required(parameters.address, 'address');
      return JSON.stringify(friendlyAddress(found, friendly ?? FRIENDLY));
    },
  });
}

export function unpackAddressRoute(): Route {
  return route({
    path: '/unpackAddress',
    tag: TAG,
    summary: 'The raw form of an address',
    parameters: z.object({ address: address() }),
    response: z.string(),
    async answer(parameters) {
      return JSON.stringify(rawAddress(required(parameters.address, 'address').address));
    },
  });
}

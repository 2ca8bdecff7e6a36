/** Which actions of a trace a subscription hears. */
import { opcodeOf, worthOf } from '../chain/actions/content.ts';
import { printedType } from '../chain/actions/print.ts';
import { supportedTypes } from '../chain/actions/supported.ts';
import { rawAddress, workchainOf } from '../chain/address.ts';
import { isBetween } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { ActionsEvent, ToldAction, TraceEvent } from './events.ts';
import type { Filter, Subscription } from './subscription.ts';

export interface ActionHearing {
  /**
   * The places of the actions that are told: of `actions` those of the addresses, of `trace` all that the types let
   * pass.
   */
  chosen(event: ActionsEvent | TraceEvent): number[];
}

/** Details that say who gave and who got. */
const OUT = ['source', 'sender', 'old_owner', 'prev_owner'];
const IN = ['destination', 'receiver', 'new_owner'];
/** What a client knows that does not say. */
const DEFAULT_TYPES = ['latest'];

/** @param accounts keys of the addresses */
export function actionHearing(
  { actionTypes, supportedActionTypes, filter }: Subscription,
  accounts: ReadonlySet<string>,
): ActionHearing {
  const supported = supportedTypes(supportedActionTypes.length > 0 ? supportedActionTypes : DEFAULT_TYPES);
  const types = new Set(actionTypes);
  const isShown = ({ record: { type, ancestors }, details }: ToldAction): boolean =>
    (types.size === 0 || types.has(type) || types.has(printedType({ type, details }))) &&
    supported.has(type) &&
    !ancestors.some((one) => supported.has(one));
  const isHeard = (action: ToldAction): boolean => {
    const own = filter.everything
      ? action.accounts
      : action.accounts.filter((account) => accounts.has(hashKey(account)));
    return own.length > 0 && passes(action, own.map(rawAddress), filter);
  };
  return {
    chosen({ type, actions }) {
      return actions.flatMap((action, i) => (isShown(action) && (type === 'trace' || isHeard(action)) ? [i] : []));
    },
  };
}

/** @param own the accounts that were asked for, of those the action is found by */
function passes(action: ToldAction, own: readonly string[], filter: Filter): boolean {
  const { workchain, opcodes, codeHashes, minValue, maxValue, direction, jettonMasters, nftCollections } = filter;
  const { details, accounts, mentions } = action;
  // An action has no code.
  if (codeHashes !== null) return false;
  if (workchain !== null && !accounts.some((account) => workchainOf(account) === workchain)) return false;
  if (opcodes !== null && !opcodes.has(opcodeOf(details) ?? Number.NaN)) return false;
  if ((minValue !== null || maxValue !== null) && !isBetween(worthOf(details), minValue, maxValue)) return false;
  if (jettonMasters !== null || nftCollections !== null) {
    const isWanted = (key: string): boolean => jettonMasters?.has(key) === true || nftCollections?.has(key) === true;
    if (![...mentions.keys()].some(isWanted)) return false;
  }
  if (direction === null) return true;
  return (direction === 'in' ? IN : OUT).some((name) => own.some((address) => details[name] === address));
}

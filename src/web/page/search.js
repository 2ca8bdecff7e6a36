/** From what somebody pastes to the page that is about it. */
import { ApiError, ask, ROOT } from './ask.js';
import { byId, say, setText } from './elements.js';
import { hexOf } from './links.js';

const RAW = /^-?\d+:[0-9a-f]{64}$/i;
const FRIENDLY = /^[\w+/-]{48}$/;
const HEX = /^(?:0x)?([0-9a-f]{64})$/i;
const BASE64 = /^[\w+/-]{43}=?$/;
const SEQNO = /^\d{1,10}$/;
/** With commas as nodes print it, or with colons as the pages do, mostly without the zeros at the end of the shard. */
const BLOCK = /^\(?\s*-?\d+\s*([,:])\s*[0-9a-f]{1,16}\s*\1\s*\d+\s*\)?$/i;

/**
 * An address or a hash as it is written, without what mail and terminals put in between, signs that are not seen among
 * it; where a plus sign was read as a space, with that. Null for none.
 */
function wholeOf(text) {
  const forms = [text.replace(/[\s\p{Cf}]/gu, ''), text.replaceAll(' ', '+')];
  return forms.find((form) => [RAW, FRIENDLY, HEX, BASE64].some((one) => one.test(form))) ?? null;
}

/** The path below the service's root. Throws {@link ApiError} when nothing is found. */
export async function find(text) {
  const whole = wholeOf(text);
  if (whole !== null && (RAW.test(whole) || FRIENDLY.test(whole))) {
    return `account/${whole.replaceAll('+', '-').replaceAll('/', '_')}`;
  }
  if (whole !== null) return byHash(HEX.exec(whole)?.[1].toLowerCase() ?? hexOf(whole));
  const sought = text.trim();
  if (SEQNO.test(sought)) return `block/${sought}`;
  if (BLOCK.test(sought)) {
    const [workchain, shard, seqno] = sought.replace(/[()\s]/g, '').split(/[,:]/);
    return `block/${workchain},${shard.padEnd(16, '0')},${seqno}`;
  }
  if (/^[^\s/]+\.[^\s/]+$/.test(sought)) return byName(sought.toLowerCase());
  throw new ApiError('This is no address, hash, block or name.', 400);
}

async function byHash(hash) {
  const [transactions, messages, traces] = await Promise.all([
    ask('transactions', { hash, limit: 1 }),
    ask('transactionsByMessage', { msg_hash: hash, limit: 1 }),
    ask('traces', { trace_id: hash, limit: 1 }),
  ]);
  if (transactions.transactions.length > 0 || traces.traces.length > 0) return `tx/${hash}`;
  const [transaction] = messages.transactions;
  if (transaction !== undefined) return `tx/${hexOf(transaction.hash)}`;
  const [byRoot, byFile, { accounts }] = await Promise.all([
    ask('blocks', { root_hash: hash, limit: 1 }),
    ask('blocks', { file_hash: hash, limit: 1 }),
    ask('accountStates', { address: `0:${hash}`, include_boc: false }),
  ]);
  const [block] = [...byRoot.blocks, ...byFile.blocks];
  if (block !== undefined) return `block/${block.workchain},${block.shard},${block.seqno}`;
  if (accounts.length > 0) return `account/0:${hash}`;
  throw new ApiError('Nothing has this hash.', 404);
}

async function byName(domain) {
  const { records } = await ask('dns/records', { domain });
  const [record] = records;
  const target = record?.dns_wallet ?? record?.nft_item_address ?? null;
  if (target === null) throw new ApiError(`The name ${domain} is not known.`, 404);
  return `account/${target}`;
}

/** Ties the search box to it; what is wrong is said beside the box. */
export function mindSearch() {
  const box = byId('sought');
  const form = byId('search');
  // Else the browser keeps what was refused once from being asked again until it is another text.
  form.noValidate = true;
  const button = form.querySelector('button');
  let isAsking = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isAsking) return;
    isAsking = true;
    setText(button, 'Asking…');
    say('Asking…');
    box.setCustomValidity('');
    try {
      location.assign(`${ROOT}${await find(box.value)}`);
    } catch (error) {
      box.setCustomValidity(error.message);
      box.reportValidity();
    } finally {
      isAsking = false;
      setText(button, 'Search');
    }
  });
  box.addEventListener('input', () => box.setCustomValidity(''));
}

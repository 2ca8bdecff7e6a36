/** What a message is by itself (TON transfers, calls, deployments), before anything is matched. */
import type { Decimal, ExtraCurrencies } from '../model.ts';
import { Block } from './block.ts';
import { bodyComment, type Comment, ENCRYPTED_COMMENT, TEXT_COMMENT } from './comment.ts';
import type { Columns } from './details.ts';
import { declare, given, opcodeText } from './kind.ts';
import type { TraceMessage, TraceNode } from './trace.ts';

export interface TonTransfer {
  message: TraceMessage;
  value: Decimal | null;
  comment(): Comment;
}

export const tonTransfer = declare<TonTransfer>({
  block: 'ton_transfer',
  groups: ['v1'],
  leaf: true,
  details({ message, comment }) {
    const { text, encrypted } = comment();
    return {
      source: message.source,
      destination: message.destination,
      value: message.value,
      value_extra_currencies: message.extraCurrencies,
      comment: text,
      encrypted,
    };
  },
  accounts: ({ message }) => ends(message),
});

export const callContract = declare<TraceMessage>({
  block: 'call_contract',
  groups: ['v1'],
  leaf: true,
  details: (message) => ({ ...call(message), extra_currencies: message.extraCurrencies }),
  accounts: ends,
});

/** Made beside the action of the message that deployed. */
export const contractDeploy = declare<TraceMessage>({
  block: 'contract_deploy',
  groups: ['v1'],
  leaf: true,
  details: call,
  accounts: ends,
});

export const tickTock = declare<null>({
  block: 'tick_tock',
  groups: ['v1'],
  leaf: true,
  details: () => ({}),
  accounts: (_, { node }) => ({ source: node.transaction.account }),
});

/** An external message that came to nothing anyone can name. */
export const unknown = declare<null>({
  block: 'unknown',
  groups: ['v2'],
  leaf: true,
  details: () => ({ error: "unsupported action type: 'unknown'" }),
  accounts: () => ({}),
});

export const kinds = [tonTransfer, callContract, contractDeploy, tickTock, unknown];

function call({ opcode, source, destination, value }: TraceMessage) {
  return {
    opcode: opcode === null ? undefined : opcodeText(opcode),
    source: given(source),
    destination: given(destination),
    value: given(value),
  };
}

function ends({ source, destination }: TraceMessage): Columns {
  return { source, destination };
}

function carriesExtra(extra: ExtraCurrencies): boolean {
  for (const _ in extra) return true;
  return false;
}

/** The block of a single node. */
export function singleBlock(node: TraceNode): Block {
  const { message, transaction } = node;
  const initiator = node.sender;
  const nodes = [node];
  if (message === null) {
    return new Block({ kind: tickTock, data: null, failed: transaction.aborted, nodes, initiator });
  }
  if (isTransfer(message)) {
    const data: TonTransfer = { message, value: message.value, comment: commentReader(message) };
    return new Block({ kind: tonTransfer, data, failed: transferFailed(node, message), nodes, initiator });
  }
  const failed = callFailed(node, message);
  return new Block({ kind: callContract, data: message, failed, nodes, initiator, opcode: message.opcode });
}

/** The deployment a node brought about, null without one. Thawing an account is none; neither is a log of it. */
export function deployBlock(node: TraceNode): Block | null {
  const { message, transaction } = node;
  if (message === null || node.kind !== 'received') return null;
  const { origStatus, endStatus, aborted } = transaction;
  if (endStatus !== 'active' || origStatus === 'active' || origStatus === 'frozen') return null;
  return new Block({ kind: contractDeploy, data: message, failed: aborted, nodes: [node], initiator: node.sender });
}

/** The weaker rule by which other actions say that a message put a contract into its place. */
export function deploys({ kind, transaction }: TraceNode): boolean {
  return kind === 'received' && transaction.origStatus !== 'active' && transaction.endStatus === 'active';
}

function isTransfer({ opcode, source, destination }: TraceMessage): boolean {
  if (source === null || destination === null) return false;
  return opcode === null || opcode === TEXT_COMMENT || opcode === ENCRYPTED_COMMENT;
}

function commentReader(message: TraceMessage): () => Comment {
  let comment: Comment | null = null;
  return () => {
    comment ??= bodyComment(message.opcode, () => message.body());
    return comment;
  };
}

function isZero(value: Decimal | null): boolean {
  return value === null || value === '0';
}

function aborted(node: TraceNode): boolean {
  return node.kind === 'ghost' || node.transaction.aborted;
}

function callFailed(node: TraceNode, { value, opcode, extraCurrencies }: TraceMessage): boolean {
  if (!aborted(node)) return false;
  return !(isZero(value) && opcode !== null && opcode !== 0 && !carriesExtra(extraCurrencies));
}

function transferFailed(node: TraceNode, { bounce }: TraceMessage): boolean {
  const { endStatus, skipReason } = node.transaction;
  if (!aborted(node)) return false;
  return bounce === true || (endStatus !== 'uninit' && skipReason !== 'no_gas');
}

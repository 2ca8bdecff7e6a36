import { accountCodes, accountData, accounts, balances, codes } from './accounts.ts';
import { blocks, shardTops } from './blocks.ts';
import { gaps } from './gaps.ts';
import { messages } from './messages.ts';
import type { Table } from './table.ts';
import { transactions } from './transactions.ts';

/** Every table of rows; how the projection stands is in tables of its own (streams/project/position.ts). */
export const TABLES: readonly Table[] = [
  blocks,
  shardTops,
  transactions,
  messages,
  accounts,
  accountData,
  accountCodes,
  codes,
  balances,
  gaps,
];

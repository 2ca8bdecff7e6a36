/** What SQL and v3 say of the same transactions, messages and blocks, column by column. */
import { z } from 'zod';

const text = z.string().nullish();
const flag = z.boolean().nullish();
const number = z.number().nullish();

const message = z.object({
  hash: z.string(),
  source: text,
  destination: text,
  value: text,
  fwd_fee: text,
  ihr_fee: text,
  import_fee: text,
  created_lt: text,
  created_at: text,
  opcode: text,
  ihr_disabled: flag,
  bounce: flag,
  bounced: flag,
  init_state: z.object({ hash: z.string() }).nullish(),
  message_content: z.object({ hash: z.string(), decoded: z.looseObject({ '@type': z.string().optional() }).nullish() }),
});
type Message = z.output<typeof message>;

const transaction = z.object({
  account: z.string(),
  hash: z.string(),
  lt: z.string(),
  now: z.number(),
  mc_block_seqno: z.number(),
  trace_id: z.string(),
  prev_trans_lt: z.string(),
  orig_status: z.string(),
  end_status: z.string(),
  total_fees: z.string(),
  block_ref: z.object({ workchain: z.number(), shard: z.string(), seqno: z.number() }),
  description: z.object({
    type: z.string(),
    aborted: flag,
    destroyed: flag,
    storage_ph: z.object({ storage_fees_collected: z.string() }).nullish(),
    credit_ph: z.object({ credit: z.string() }).nullish(),
    compute_ph: z
      .object({
        skipped: z.boolean(),
        reason: text,
        success: flag,
        exit_code: number,
        gas_used: text,
        gas_limit: text,
        gas_fees: text,
        vm_steps: number,
      })
      .nullish(),
    action: z
      .object({
        success: z.boolean(),
        result_code: z.number(),
        total_fwd_fees: text,
        total_action_fees: text,
        tot_actions: z.number(),
        msgs_created: z.number(),
      })
      .nullish(),
    bounce: z.object({ type: z.string() }).nullish(),
  }),
  in_msg: message.nullable(),
  out_msgs: z.array(message),
});
type Transaction = z.output<typeof transaction>;

const block = z.object({
  workchain: z.number(),
  shard: z.string(),
  seqno: z.number(),
  root_hash: z.string(),
  file_hash: z.string(),
  global_id: z.number(),
  version: z.number(),
  flags: z.number(),
  after_merge: z.boolean(),
  before_split: z.boolean(),
  after_split: z.boolean(),
  want_merge: z.boolean(),
  want_split: z.boolean(),
  key_block: z.boolean(),
  vert_seqno_incr: z.boolean(),
  vert_seqno: z.number(),
  gen_utime: z.string(),
  start_lt: z.string(),
  end_lt: z.string(),
  validator_list_hash_short: z.number(),
  gen_catchain_seqno: z.number(),
  min_ref_mc_seqno: z.number(),
  prev_key_block_seqno: z.number(),
  master_ref_seqno: number,
  tx_count: z.number(),
});
type Block = z.output<typeof block>;

type Row = Record<string, unknown>;

const signed = (hex: string | null | undefined): number | null => (hex == null ? null : Number(hex) | 0);
const shardNumber = (hex: string): string => BigInt.asIntN(64, BigInt(`0x${hex}`)).toString();

function transactionRow(told: Transaction): Row {
  const { description: d, in_msg: inMsg, block_ref: at } = told;
  const { compute_ph: compute, action } = d;
  return {
    account: told.account,
    lt: told.lt,
    hash: told.hash,
    now: told.now,
    block_workchain: at.workchain,
    block_shard: shardNumber(at.shard),
    block_seqno: at.seqno,
    mc_block_seqno: told.mc_block_seqno,
    trace_id: told.trace_id,
    opcode: signed(inMsg?.opcode),
    aborted: d.aborted ?? false,
    total_fees: told.total_fees,
    prev_trans_lt: told.prev_trans_lt,
    orig_status: told.orig_status,
    end_status: told.end_status,
    descr: d.type,
    destroyed: d.destroyed ?? false,
    storage_fees_collected: d.storage_ph?.storage_fees_collected ?? null,
    credit: d.credit_ph?.credit ?? null,
    compute_skipped: compute?.skipped ?? null,
    skipped_reason: compute?.reason ?? null,
    compute_success: compute?.success ?? null,
    compute_exit_code: compute?.exit_code ?? null,
    compute_gas_used: compute?.gas_used ?? null,
    compute_gas_limit: compute?.gas_limit ?? null,
    compute_gas_fees: compute?.gas_fees ?? null,
    compute_vm_steps: compute?.vm_steps ?? null,
    action_success: action?.success ?? null,
    action_result_code: action?.result_code ?? null,
    action_total_fwd_fees: action?.total_fwd_fees ?? null,
    action_total_action_fees: action?.total_action_fees ?? null,
    action_tot_actions: action?.tot_actions ?? null,
    action_msgs_created: action?.msgs_created ?? null,
    bounce: d.bounce?.type ?? null,
    in_value: inMsg?.value ?? null,
  };
}

function messageRow(direction: 'in' | 'out', told: Message, of: Transaction): Row {
  const { decoded } = told.message_content;
  return {
    direction,
    tx_hash: of.hash,
    tx_lt: of.lt,
    tx_now: of.now,
    trace_id: of.trace_id,
    mc_block_seqno: of.mc_block_seqno,
    msg_hash: told.hash,
    source: told.source ?? null,
    destination: told.destination ?? null,
    value: told.value ?? null,
    fwd_fee: told.fwd_fee ?? null,
    ihr_fee: told.ihr_fee ?? null,
    import_fee: told.import_fee ?? null,
    created_lt: told.created_lt ?? null,
    created_at: told.created_at == null ? null : Number(told.created_at),
    opcode: signed(told.opcode),
    ihr_disabled: told.ihr_disabled ?? null,
    bounce: told.bounce ?? null,
    bounced: told.bounced ?? null,
    body_hash: told.message_content.hash,
    init_state_hash: told.init_state?.hash ?? null,
    comment: decoded?.type === 'text_comment' ? decoded.comment : null,
  };
}

function blockRow({ shard, gen_utime: utime, master_ref_seqno: master, ...told }: Block): Row {
  return {
    ...told,
    shard: shardNumber(shard),
    gen_utime: Number(utime),
    master_ref_seqno: told.workchain === -1 ? null : (master ?? null),
  };
}

const answer = z.object({ columns: z.array(z.object({ name: z.string() })), rows: z.array(z.array(z.unknown())) });

async function answered(url: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    throw new NotAnswered(url, { cause });
  }
}

/** One of the requests failed. */
export class NotAnswered extends Error {
  override name = 'NotAnswered';
}

export interface Compared {
  transactions: number;
  messages: number;
  blocks: number;
  /** What differs, a line each. */
  differences: string[];
}

export interface Agreeing {
  /** Of the service. */
  url: string;
  /** Of a request of SQL, so that no quota is shared. */
  key: string;
  /** Steps, both ends included, or an account of which the newest transactions are compared. */
  of: { from: number; to: number } | { account: string };
  /** The step that both are asked about, for an account. */
  head: number;
}

/** @throws {NotAnswered} */
export async function compareWithSql({ url, key, of, head }: Agreeing): Promise<Compared> {
  const differences: string[] = [];
  const compared: Compared = { transactions: 0, messages: 0, blocks: 0, differences };

  async function v3<T>(path: string, name: string, shape: z.ZodType<T>): Promise<T[]> {
    const response = await answered(`${url}/api/v3/${path}`);
    const body = await response.text();
    if (!response.ok) throw new NotAnswered(`${path}: ${response.status} ${body}`);
    return z.array(shape).parse(JSON.parse(body)[name]);
  }

  async function sql(columns: readonly string[], from: string, params: object): Promise<Row[]> {
    const response = await answered(`${url}/api/sql`, {
      method: 'POST',
      body: JSON.stringify({ sql: `SELECT ${columns.join(', ')} FROM ${from}`, params, as_of: head }),
      headers: { 'x-limiting-key': key },
    });
    const body = await response.text();
    if (!response.ok) throw new NotAnswered(`${from}: ${response.status} ${body}`);
    const { rows, columns: named } = answer.parse(JSON.parse(body));
    return rows.map((row) => Object.fromEntries(named.map(({ name }, at) => [name, row[at]])));
  }

  /** Whatever v3 tells has its row; `isWhole`: and there is no other. */
  function compare(what: string, told: Row[], found: Row[], keys: readonly string[], isWhole: boolean): void {
    const nameOf = (row: Row): string => keys.map((name) => row[name]).join(' ');
    const byName = new Map(found.map((row) => [nameOf(row), row]));
    if (isWhole && found.length !== told.length) differences.push(`${what}: ${found.length} rows for ${told.length}`);
    for (const one of told) {
      const row = byName.get(nameOf(one));
      for (const [name, value] of Object.entries(one)) {
        if (row?.[name] === value) continue;
        differences.push(
          `${what} ${nameOf(one)}: ${name} is ${JSON.stringify(row?.[name])} for ${JSON.stringify(value)}`,
        );
      }
    }
  }

  const isRange = 'from' in of;
  const found: Transaction[] = [];
  if (isRange) {
    for (let seqno = of.from; seqno <= of.to; seqno++) {
      for (let offset = 0, got = PAGE; got === PAGE; offset += PAGE) {
        const path = `transactions?mc_seqno=${seqno}&sort=asc&limit=${PAGE}&offset=${offset}`;
        const page = await v3(path, 'transactions', transaction);
        found.push(...page);
        got = page.length;
      }
    }
    const steps = { from: of.from, to: of.to };
    const within = 'mc_block_seqno BETWEEN {from:UInt32} AND {to:UInt32}';
    const blocks: Row[] = [];
    for (let seqno = of.from; seqno <= of.to; seqno++) {
      blocks.push(...(await v3(`blocks?mc_seqno=${seqno}&limit=${PAGE}`, 'blocks', block)).map(blockRow));
    }
    const columns = Object.keys(blocks[0] ?? { seqno: 0 });
    const rows = await sql(columns, `ton.blocks WHERE ${within}`, steps);
    compare('block', blocks, rows, ['workchain', 'shard', 'seqno'], true);
    compared.blocks = blocks.length;
    compareTransactions(found, await rowsOf(found, within, steps), true);
  } else {
    const path = `transactions?account=${encodeURIComponent(of.account)}&limit=${FEW}&sort=desc`;
    const newest = await v3(path, 'transactions', transaction);
    found.push(...newest.filter(({ mc_block_seqno: seqno }) => seqno <= head));
    const params = { account: of.account, first: found.at(-1)?.lt ?? '0' };
    const rows = await rowsOf(found, 'account = {account:String} AND lt >= {first:UInt64}', params);
    compareTransactions(found, rows, true);
  }
  await compareMessages();
  return compared;

  async function rowsOf(told: readonly Transaction[], where: string, params: object): Promise<Row[]> {
    if (told.length === 0) return [];
    const columns = Object.keys(transactionRow(told[0]));
    const from = isRange ? 'ton.transactions' : 'ton.account_transactions';
    return await sql(
      isRange ? columns : columns.filter((name) => name !== 'block_workchain'),
      `${from} WHERE ${where}`,
      params,
    );
  }

  function compareTransactions(told: readonly Transaction[], rows: Row[], isWhole: boolean): void {
    const expected = told.map(transactionRow).map((row) => {
      if (isRange) return row;
      const { block_workchain: _, ...rest } = row;
      return rest;
    });
    compare('transaction', expected, rows, ['hash'], isWhole);
    compared.transactions += told.length;
  }

  async function compareMessages(): Promise<void> {
    const sides = found.flatMap((one) => [
      ...(one.in_msg === null ? [] : [messageRow('in', one.in_msg, one)]),
      ...one.out_msgs.map((each) => messageRow('out', each, one)),
    ]);
    if (sides.length === 0) return;
    const where = 'tx_hash IN {hashes:Array(String)}';
    const rows = await sql(Object.keys(sides[0]), `ton.messages WHERE ${where}`, {
      hashes: found.map(({ hash }) => hash),
    });
    compare('message', sides, rows, ['direction', 'msg_hash'], true);
    compared.messages = sides.length;
  }
}

const PAGE = 500;
/** Of an account. */
const FEW = 50;

import { beforeAll, describe, expect, test } from 'vitest';
import { type Fact, type RecordedBlock, recordedBlocks } from '../../test/recorded-blocks.ts';
import { shelf } from '../../test/shelf.ts';
import { accountBlocks } from './accounts.ts';
import { type Block, decodeBlock } from './block.ts';
import { openBoc } from './boc.ts';
import type { Address, CurrencyCollection, Decimal, ExtraCurrencies, Message, Transaction } from './model.ts';

type Facts = { [key: string]: Fact };

function currencies(grams: Decimal, extra: ExtraCurrencies): Facts {
  return Object.keys(extra).length > 0 ? { grams, extra: { ...extra } } : { grams };
}

const collection = (value: CurrencyCollection): Facts => currencies(value.grams, value.extra);

function headerFacts(block: Block): Facts {
  const { header } = block;
  const hex = (ref: { rootHash: Buffer; fileHash: Buffer; endLt: Decimal; seqno: number }): Facts => ({
    end_lt: ref.endLt,
    seqno: ref.seqno,
    root_hash: ref.rootHash.toString('hex'),
    file_hash: ref.fileHash.toString('hex'),
  });
  return {
    global_id: header.globalId,
    workchain: header.workchain,
    shard: header.shard,
    seqno: header.seqno,
    root_hash: header.rootHash.toString('hex'),
    file_hash: header.fileHash.toString('hex'),
    version: header.version,
    flags: header.flags,
    not_master: header.notMaster,
    after_merge: header.afterMerge,
    before_split: header.beforeSplit,
    after_split: header.afterSplit,
    want_split: header.wantSplit,
    want_merge: header.wantMerge,
    key_block: header.keyBlock,
    vert_seqno_incr: header.vertSeqnoIncr,
    vert_seqno: header.vertSeqno,
    gen_utime: header.genUtime,
    start_lt: header.startLt,
    end_lt: header.endLt,
    gen_validator_list_hash_short: header.validatorListHashShort,
    gen_catchain_seqno: header.catchainSeqno,
    min_ref_mc_seqno: header.minRefMcSeqno,
    prev_key_block_seqno: header.prevKeyBlockSeqno,
    gen_software: header.genSoftware,
    master_ref: header.masterRef && hex(header.masterRef),
    prev: header.prev.map(hex),
  };
}

function blockFacts(block: Block): Facts {
  const flow = block.valueFlow();
  const facts: Facts = {
    ...headerFacts(block),
    rand_seed: block.randSeed.toString('hex'),
    created_by: block.createdBy.toString('hex'),
    in_msg_descr_count: block.inMsgCount(),
    out_msg_descr_count: block.outMsgCount(),
    value_flow: {
      from_prev_blk: collection(flow.fromPrevBlk),
      to_next_blk: collection(flow.toNextBlk),
      imported: collection(flow.imported),
      exported: collection(flow.exported),
      fees_collected: collection(flow.feesCollected),
      ...(flow.burned === null || flow.burned.grams === '0' ? {} : { burned: collection(flow.burned) }),
      fees_imported: collection(flow.feesImported),
      recovered: collection(flow.recovered),
      created: collection(flow.created),
      minted: collection(flow.minted),
    },
  };
  if (!block.header.notMaster) facts.shard_hashes = shardFacts(block);
  return facts;
}

function shardFacts(block: Block): Facts {
  const facts: { [workchain: string]: Facts[] } = {};
  for (const shard of block.shardHashes()) {
    facts[shard.workchain] ??= [];
    facts[shard.workchain].push({
      seqno: shard.seqno,
      reg_mc_seqno: shard.regMcSeqno,
      start_lt: shard.startLt,
      end_lt: shard.endLt,
      root_hash: shard.rootHash.toString('hex'),
      file_hash: shard.fileHash.toString('hex'),
      gen_utime: shard.genUtime,
      next_shard: shard.nextValidatorShard,
    });
  }
  return facts;
}

function addressText(address: Address | null): string | null {
  return address === null ? null : `${address.readUInt32BE(0) ^ 0x80000000}:${address.toString('hex', 4)}`;
}

function messageFacts(message: Message): Facts {
  const external = message.externalBits === null ? null : `ext:${message.externalBits}`;
  const common = {
    hash: message.hash.toString('hex'),
    body_hash: message.bodyHash.toString('hex'),
    has_init: message.init !== null,
    src: message.kind === 'external_in' ? external : addressText(message.source),
    dst: message.kind === 'external_out' ? external : addressText(message.destination),
  };
  if (message.kind === 'external_in') {
    return {
      ...common,
      type: 'ext_in',
      import_fee: message.importFee,
      hash_norm: message.hashNorm()?.toString('hex') ?? null,
    };
  }
  const created = { created_lt: message.createdLt, created_at: message.createdAt };
  if (message.kind === 'external_out') return { ...common, ...created, type: 'ext_out' };
  return {
    ...common,
    ...created,
    type: 'int',
    bounce: message.bounce,
    bounced: message.bounced,
    ihr_disabled: message.ihrDisabled,
    ihr_fee: message.ihrFeeOrFlags,
    fwd_fee: message.fwdFee,
    value: currencies(message.value ?? '', message.extraCurrencies ?? {}),
  };
}

function computeFacts(transaction: Transaction): Fact {
  const { compute } = transaction.description;
  if (compute === null || compute.skipped) return compute === null ? null : { ...compute };
  return {
    skipped: false,
    success: compute.success,
    msg_state_used: compute.msgStateUsed,
    account_activated: compute.accountActivated,
    gas_fees: compute.gasFees,
    gas_used: compute.gasUsed,
    gas_limit: compute.gasLimit,
    gas_credit: compute.gasCredit,
    mode: compute.mode,
    exit_code: compute.exitCode,
    exit_arg: compute.exitArg,
    vm_steps: compute.vmSteps,
    vm_init_state_hash: compute.vmInitStateHash.toString('hex'),
    vm_final_state_hash: compute.vmFinalStateHash.toString('hex'),
  };
}

function actionFacts(transaction: Transaction): Fact {
  const { action } = transaction.description;
  return (
    action && {
      success: action.success,
      valid: action.valid,
      no_funds: action.noFunds,
      status_change: action.statusChange,
      total_fwd_fees: action.totalFwdFees,
      total_action_fees: action.totalActionFees,
      result_code: action.resultCode,
      result_arg: action.resultArg,
      tot_actions: action.totActions,
      spec_actions: action.specActions,
      skipped_actions: action.skippedActions,
      msgs_created: action.msgsCreated,
      action_list_hash: action.actionListHash.toString('hex'),
      tot_msg_cells: action.totMsgCells,
      tot_msg_bits: action.totMsgBits,
    }
  );
}

function bounceFacts(transaction: Transaction): Fact {
  const { bounce } = transaction.description;
  if (bounce === null || bounce.type === 'negfunds') return bounce && { ...bounce };
  const size = { type: bounce.type, cells: bounce.cells, bits: bounce.bits };
  if (bounce.type === 'nofunds') return { ...size, req_fwd_fees: bounce.reqFwdFees };
  return { ...size, msg_fees: bounce.msgFees, fwd_fees: bounce.fwdFees };
}

function descriptionFacts(transaction: Transaction): Facts {
  const { description } = transaction;
  const { storage, credit } = description;
  const facts: Facts = {
    type: description.type,
    aborted: description.aborted,
    destroyed: description.destroyed,
    storage_ph: storage && { collected: storage.collected, due: storage.due, status_change: storage.statusChange },
    compute_ph: computeFacts(transaction),
    action: actionFacts(transaction),
  };
  if (description.type === 'tick_tock') return { ...facts, is_tock: description.isTock };
  return {
    ...facts,
    credit_first: description.creditFirst,
    credit_ph: credit && { due_fees_collected: credit.dueFeesCollected, credit: collection(credit.credit) },
    bounce: bounceFacts(transaction),
  };
}

function transactionFacts(transaction: Transaction): Facts {
  const status = (value: string): string => (value === 'nonexist' ? 'non_exist' : value);
  return {
    account: transaction.account.toString('hex', 4),
    lt: transaction.lt,
    hash: transaction.hash.toString('hex'),
    prev_trans_hash: transaction.prevHash.toString('hex'),
    prev_trans_lt: transaction.prevLt,
    now: transaction.now,
    orig_status: status(transaction.origStatus),
    end_status: status(transaction.endStatus),
    outmsg_cnt: transaction.outMsgs.length,
    total_fees: currencies(transaction.totalFees, transaction.totalFeesExtra),
    old_hash: transaction.stateBefore.toString('hex'),
    new_hash: transaction.stateAfter.toString('hex'),
    in_msg: transaction.inMsg && messageFacts(transaction.inMsg),
    out_msgs: transaction.outMsgs.map(messageFacts),
    descr: descriptionFacts(transaction),
  };
}

/** Tick-tock facts carry a null bounce now and then; nothing is lost by leaving nulls of either side out. */
function withoutNulls(value: Fact): Fact {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== null)
      .map(([key, child]) => [key, withoutNulls(child)]),
  );
}

describe.skipIf(shelf === null)('recorded blocks', () => {
  const blocks: RecordedBlock[] = [];
  beforeAll(async () => {
    for await (const block of recordedBlocks()) blocks.push(block);
  });

  test('every field of 1,198 blocks and 5,610 transactions is what two other decoders read', () => {
    let transactions = 0;
    for (const recorded of blocks) {
      const block = decodeBlock(openBoc(recorded.bytes));
      expect(blockFacts(block), recorded.name).toEqual(recorded.facts.block);
      const decoded = accountBlocks(block).flatMap((account) => account.transactions());
      expect(decoded.length, recorded.name).toBe(recorded.facts.transactions.length);
      for (let i = 0; i < decoded.length; i++) {
        const fact = withoutNulls(recorded.facts.transactions[i]);
        expect(withoutNulls(transactionFacts(decoded[i])), `${recorded.name} ${decoded[i].lt}`).toEqual(fact);
      }
      transactions += decoded.length;
    }
    expect([blocks.length, transactions]).toEqual([1198, 5610]);
  });
});

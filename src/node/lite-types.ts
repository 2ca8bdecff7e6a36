/**
 * Types of the schema lines in lite-schema.ts: written by `npm run build:lite-types`, not by hand. `int` and `#` are
 * numbers, `long` is a bigint, `int256` and `bytes` are Buffers; a field behind a flag is optional; a boxed type with
 * several constructors carries `kind`.
 */

export interface FrameValues {
  'pub.ed25519': { key: Buffer };
  'adnl.message.query': { queryId: Buffer; query: Buffer };
  'adnl.message.answer': { queryId: Buffer; answer: Buffer };
  'tcp.pong': { randomId: bigint };
  'tcp.authentificate': { nonce: Buffer };
  'tcp.authentificationNonce': { nonce: Buffer };
  'tcp.authentificationComplete': { key: FrameValues['pub.ed25519']; signature: Buffer };
}

export interface FrameCalls {
  'tcp.ping': {
    fields: { randomId: bigint };
    answer: FrameValues['tcp.pong'];
  };
}

export interface EnvelopeCalls {
  'liteServer.queryPrefix': {
    fields: Record<never, never>;
    answer: never;
  };
  'liteServer.query': {
    fields: { data: Buffer };
    answer: never;
  };
  'liteServer.waitMasterchainSeqno': {
    fields: { seqno: number; timeoutMs: number };
    answer: never;
  };
}

export interface LiteValues {
  'tonNode.blockId': { workchain: number; shard: bigint; seqno: number };
  'tonNode.blockIdExt': { workchain: number; shard: bigint; seqno: number; rootHash: Buffer; fileHash: Buffer };
  'tonNode.zeroStateIdExt': { workchain: number; rootHash: Buffer; fileHash: Buffer };
  'liteServer.error': { code: number; message: string };
  'liteServer.accountId': { workchain: number; id: Buffer };
  'liteServer.libraryEntry': { hash: Buffer; data: Buffer };
  'liteServer.masterchainInfo': {
    last: LiteValues['tonNode.blockIdExt'];
    stateRootHash: Buffer;
    init: LiteValues['tonNode.zeroStateIdExt'];
  };
  'liteServer.masterchainInfoExt': {
    mode: number;
    version: number;
    capabilities: bigint;
    last: LiteValues['tonNode.blockIdExt'];
    lastUtime: number;
    now: number;
    stateRootHash: Buffer;
    init: LiteValues['tonNode.zeroStateIdExt'];
  };
  'liteServer.currentTime': { now: number };
  'liteServer.version': { mode: number; version: number; capabilities: bigint; now: number };
  'liteServer.blockData': { id: LiteValues['tonNode.blockIdExt']; data: Buffer };
  'liteServer.blockState': { id: LiteValues['tonNode.blockIdExt']; rootHash: Buffer; fileHash: Buffer; data: Buffer };
  'liteServer.blockHeader': { id: LiteValues['tonNode.blockIdExt']; mode: number; headerProof: Buffer };
  'liteServer.sendMsgStatus': { status: number };
  'liteServer.accountState': {
    id: LiteValues['tonNode.blockIdExt'];
    shardblk: LiteValues['tonNode.blockIdExt'];
    shardProof: Buffer;
    proof: Buffer;
    state: Buffer;
  };
  'liteServer.runMethodResult': {
    mode: number;
    id: LiteValues['tonNode.blockIdExt'];
    shardblk: LiteValues['tonNode.blockIdExt'];
    shardProof?: Buffer | undefined;
    proof?: Buffer | undefined;
    stateProof?: Buffer | undefined;
    initC7?: Buffer | undefined;
    libExtras?: Buffer | undefined;
    exitCode: number;
    result?: Buffer | undefined;
  };
  'liteServer.shardInfo': {
    id: LiteValues['tonNode.blockIdExt'];
    shardblk: LiteValues['tonNode.blockIdExt'];
    shardProof: Buffer;
    shardDescr: Buffer;
  };
  'liteServer.allShardsInfo': { id: LiteValues['tonNode.blockIdExt']; proof: Buffer; data: Buffer };
  'liteServer.transactionInfo': { id: LiteValues['tonNode.blockIdExt']; proof: Buffer; transaction: Buffer };
  'liteServer.transactionList': { ids: LiteValues['tonNode.blockIdExt'][]; transactions: Buffer };
  'liteServer.transactionMetadata': {
    mode: number;
    depth: number;
    initiator: LiteValues['liteServer.accountId'];
    initiatorLt: bigint;
  };
  'liteServer.transactionId': {
    mode: number;
    account?: Buffer | undefined;
    lt?: bigint | undefined;
    hash?: Buffer | undefined;
    metadata?: LiteValues['liteServer.transactionMetadata'] | undefined;
  };
  'liteServer.transactionId3': { account: Buffer; lt: bigint };
  'liteServer.blockTransactions': {
    id: LiteValues['tonNode.blockIdExt'];
    reqCount: number;
    incomplete: boolean;
    ids: LiteValues['liteServer.transactionId'][];
    proof: Buffer;
  };
  'liteServer.blockTransactionsExt': {
    id: LiteValues['tonNode.blockIdExt'];
    reqCount: number;
    incomplete: boolean;
    transactions: Buffer;
    proof: Buffer;
  };
  'liteServer.signature': { nodeIdShort: Buffer; signature: Buffer };
  'liteServer.signatureSet.ordinary': {
    validatorSetHash: number;
    catchainSeqno: number;
    signatures: LiteValues['liteServer.signature'][];
  };
  'liteServer.signatureSet.simplex': {
    ccSeqno: number;
    validatorSetHash: number;
    signatures: LiteValues['liteServer.signature'][];
    sessionId: Buffer;
    slot: number;
    candidate: Buffer;
  };
  'liteServer.blockLinkBack': {
    toKeyBlock: boolean;
    from: LiteValues['tonNode.blockIdExt'];
    to: LiteValues['tonNode.blockIdExt'];
    destProof: Buffer;
    proof: Buffer;
    stateProof: Buffer;
  };
  'liteServer.blockLinkForward': {
    toKeyBlock: boolean;
    from: LiteValues['tonNode.blockIdExt'];
    to: LiteValues['tonNode.blockIdExt'];
    destProof: Buffer;
    configProof: Buffer;
    signatures:
      | ({ kind: 'liteServer.signatureSet.ordinary' } & LiteValues['liteServer.signatureSet.ordinary'])
      | ({ kind: 'liteServer.signatureSet.simplex' } & LiteValues['liteServer.signatureSet.simplex']);
  };
  'liteServer.partialBlockProof': {
    complete: boolean;
    from: LiteValues['tonNode.blockIdExt'];
    to: LiteValues['tonNode.blockIdExt'];
    steps: (
      | ({ kind: 'liteServer.blockLinkBack' } & LiteValues['liteServer.blockLinkBack'])
      | ({ kind: 'liteServer.blockLinkForward' } & LiteValues['liteServer.blockLinkForward'])
    )[];
  };
  'liteServer.configInfo': {
    mode: number;
    id: LiteValues['tonNode.blockIdExt'];
    stateProof: Buffer;
    configProof: Buffer;
  };
  'liteServer.validatorStats': {
    mode: number;
    id: LiteValues['tonNode.blockIdExt'];
    count: number;
    complete: boolean;
    stateProof: Buffer;
    dataProof: Buffer;
  };
  'liteServer.libraryResult': { result: LiteValues['liteServer.libraryEntry'][] };
  'liteServer.libraryResultWithProof': {
    id: LiteValues['tonNode.blockIdExt'];
    mode: number;
    result: LiteValues['liteServer.libraryEntry'][];
    stateProof: Buffer;
    dataProof: Buffer;
  };
  'liteServer.shardBlockLink': { id: LiteValues['tonNode.blockIdExt']; proof: Buffer };
  'liteServer.shardBlockProof': {
    masterchainId: LiteValues['tonNode.blockIdExt'];
    links: LiteValues['liteServer.shardBlockLink'][];
  };
  'liteServer.lookupBlockResult': {
    id: LiteValues['tonNode.blockIdExt'];
    mode: number;
    mcBlockId: LiteValues['tonNode.blockIdExt'];
    clientMcStateProof: Buffer;
    mcBlockProof: Buffer;
    shardLinks: LiteValues['liteServer.shardBlockLink'][];
    header: Buffer;
    prevHeader: Buffer;
  };
  'liteServer.outMsgQueueSize': { id: LiteValues['tonNode.blockIdExt']; size: number };
  'liteServer.outMsgQueueSizes': { shards: LiteValues['liteServer.outMsgQueueSize'][]; extMsgQueueSizeLimit: number };
  'liteServer.blockOutMsgQueueSize': {
    mode: number;
    id: LiteValues['tonNode.blockIdExt'];
    size: bigint;
    proof?: Buffer | undefined;
  };
  'liteServer.accountDispatchQueueInfo': { addr: Buffer; size: bigint; minLt: bigint; maxLt: bigint };
  'liteServer.dispatchQueueInfo': {
    mode: number;
    id: LiteValues['tonNode.blockIdExt'];
    accountDispatchQueues: LiteValues['liteServer.accountDispatchQueueInfo'][];
    complete: boolean;
    proof?: Buffer | undefined;
  };
  'liteServer.dispatchQueueMessage': {
    addr: Buffer;
    lt: bigint;
    hash: Buffer;
    metadata: LiteValues['liteServer.transactionMetadata'];
  };
  'liteServer.dispatchQueueMessages': {
    mode: number;
    id: LiteValues['tonNode.blockIdExt'];
    messages: LiteValues['liteServer.dispatchQueueMessage'][];
    complete: boolean;
    proof?: Buffer | undefined;
    messagesBoc?: Buffer | undefined;
  };
  'liteServer.nonfinal.candidateId': {
    blockId: LiteValues['tonNode.blockIdExt'];
    creator: Buffer;
    collatedDataHash: Buffer;
  };
  'liteServer.nonfinal.candidate': {
    id: LiteValues['liteServer.nonfinal.candidateId'];
    data: Buffer;
    collatedData: Buffer;
  };
  'liteServer.nonfinal.candidateInfo': {
    id: LiteValues['liteServer.nonfinal.candidateId'];
    available: boolean;
    approvedWeight: bigint;
    signedWeight: bigint;
    totalWeight: bigint;
  };
  'liteServer.nonfinal.validatorGroupInfo': {
    nextBlockId: LiteValues['tonNode.blockId'];
    ccSeqno: number;
    prev: LiteValues['tonNode.blockIdExt'][];
    candidates: LiteValues['liteServer.nonfinal.candidateInfo'][];
  };
  'liteServer.nonfinal.validatorGroups': { groups: LiteValues['liteServer.nonfinal.validatorGroupInfo'][] };
  'liteServer.nonfinal.pendingShardBlocks': {
    signedBlocks: LiteValues['tonNode.blockIdExt'][];
    candidates: LiteValues['tonNode.blockIdExt'][];
  };
}

export interface LiteCalls {
  'liteServer.getMasterchainInfo': {
    fields: Record<never, never>;
    answer: LiteValues['liteServer.masterchainInfo'];
  };
  'liteServer.getMasterchainInfoExt': {
    fields: { mode: number };
    answer: LiteValues['liteServer.masterchainInfoExt'];
  };
  'liteServer.getTime': {
    fields: Record<never, never>;
    answer: LiteValues['liteServer.currentTime'];
  };
  'liteServer.getVersion': {
    fields: Record<never, never>;
    answer: LiteValues['liteServer.version'];
  };
  'liteServer.getBlock': {
    fields: { id: LiteValues['tonNode.blockIdExt'] };
    answer: LiteValues['liteServer.blockData'];
  };
  'liteServer.getState': {
    fields: { id: LiteValues['tonNode.blockIdExt'] };
    answer: LiteValues['liteServer.blockState'];
  };
  'liteServer.getBlockHeader': {
    fields: { id: LiteValues['tonNode.blockIdExt']; mode: number };
    answer: LiteValues['liteServer.blockHeader'];
  };
  'liteServer.sendMessage': {
    fields: { body: Buffer };
    answer: LiteValues['liteServer.sendMsgStatus'];
  };
  'liteServer.getAccountState': {
    fields: { id: LiteValues['tonNode.blockIdExt']; account: LiteValues['liteServer.accountId'] };
    answer: LiteValues['liteServer.accountState'];
  };
  'liteServer.getAccountStatePrunned': {
    fields: { id: LiteValues['tonNode.blockIdExt']; account: LiteValues['liteServer.accountId'] };
    answer: LiteValues['liteServer.accountState'];
  };
  'liteServer.runSmcMethod': {
    fields: {
      mode: number;
      id: LiteValues['tonNode.blockIdExt'];
      account: LiteValues['liteServer.accountId'];
      methodId: bigint;
      params: Buffer;
    };
    answer: LiteValues['liteServer.runMethodResult'];
  };
  'liteServer.getShardInfo': {
    fields: { id: LiteValues['tonNode.blockIdExt']; workchain: number; shard: bigint; exact: boolean };
    answer: LiteValues['liteServer.shardInfo'];
  };
  'liteServer.getAllShardsInfo': {
    fields: { id: LiteValues['tonNode.blockIdExt'] };
    answer: LiteValues['liteServer.allShardsInfo'];
  };
  'liteServer.getOneTransaction': {
    fields: { id: LiteValues['tonNode.blockIdExt']; account: LiteValues['liteServer.accountId']; lt: bigint };
    answer: LiteValues['liteServer.transactionInfo'];
  };
  'liteServer.getTransactions': {
    fields: { count: number; account: LiteValues['liteServer.accountId']; lt: bigint; hash: Buffer };
    answer: LiteValues['liteServer.transactionList'];
  };
  'liteServer.lookupBlock': {
    fields: { mode: number; id: LiteValues['tonNode.blockId']; lt?: bigint | undefined; utime?: number | undefined };
    answer: LiteValues['liteServer.blockHeader'];
  };
  'liteServer.lookupBlockWithProof': {
    fields: {
      mode: number;
      id: LiteValues['tonNode.blockId'];
      mcBlockId: LiteValues['tonNode.blockIdExt'];
      lt?: bigint | undefined;
      utime?: number | undefined;
    };
    answer: LiteValues['liteServer.lookupBlockResult'];
  };
  'liteServer.listBlockTransactions': {
    fields: {
      id: LiteValues['tonNode.blockIdExt'];
      mode: number;
      count: number;
      after?: LiteValues['liteServer.transactionId3'] | undefined;
      reverseOrder?: boolean | undefined;
      wantProof?: boolean | undefined;
    };
    answer: LiteValues['liteServer.blockTransactions'];
  };
  'liteServer.listBlockTransactionsExt': {
    fields: {
      id: LiteValues['tonNode.blockIdExt'];
      mode: number;
      count: number;
      after?: LiteValues['liteServer.transactionId3'] | undefined;
      reverseOrder?: boolean | undefined;
      wantProof?: boolean | undefined;
    };
    answer: LiteValues['liteServer.blockTransactionsExt'];
  };
  'liteServer.getBlockProof': {
    fields: {
      mode: number;
      knownBlock: LiteValues['tonNode.blockIdExt'];
      targetBlock?: LiteValues['tonNode.blockIdExt'] | undefined;
    };
    answer: LiteValues['liteServer.partialBlockProof'];
  };
  'liteServer.getConfigAll': {
    fields: { mode: number; id: LiteValues['tonNode.blockIdExt'] };
    answer: LiteValues['liteServer.configInfo'];
  };
  'liteServer.getConfigParams': {
    fields: { mode: number; id: LiteValues['tonNode.blockIdExt']; paramList: number[] };
    answer: LiteValues['liteServer.configInfo'];
  };
  'liteServer.getValidatorStats': {
    fields: {
      mode: number;
      id: LiteValues['tonNode.blockIdExt'];
      limit: number;
      startAfter?: Buffer | undefined;
      modifiedAfter?: number | undefined;
    };
    answer: LiteValues['liteServer.validatorStats'];
  };
  'liteServer.getLibraries': {
    fields: { libraryList: Buffer[] };
    answer: LiteValues['liteServer.libraryResult'];
  };
  'liteServer.getLibrariesWithProof': {
    fields: { id: LiteValues['tonNode.blockIdExt']; mode: number; libraryList: Buffer[] };
    answer: LiteValues['liteServer.libraryResultWithProof'];
  };
  'liteServer.getShardBlockProof': {
    fields: { id: LiteValues['tonNode.blockIdExt'] };
    answer: LiteValues['liteServer.shardBlockProof'];
  };
  'liteServer.getOutMsgQueueSizes': {
    fields: { mode: number; wc?: number | undefined; shard?: bigint | undefined };
    answer: LiteValues['liteServer.outMsgQueueSizes'];
  };
  'liteServer.getBlockOutMsgQueueSize': {
    fields: { mode: number; id: LiteValues['tonNode.blockIdExt']; wantProof?: boolean | undefined };
    answer: LiteValues['liteServer.blockOutMsgQueueSize'];
  };
  'liteServer.getDispatchQueueInfo': {
    fields: {
      mode: number;
      id: LiteValues['tonNode.blockIdExt'];
      afterAddr?: Buffer | undefined;
      maxAccounts: number;
      wantProof?: boolean | undefined;
    };
    answer: LiteValues['liteServer.dispatchQueueInfo'];
  };
  'liteServer.getDispatchQueueMessages': {
    fields: {
      mode: number;
      id: LiteValues['tonNode.blockIdExt'];
      addr: Buffer;
      afterLt: bigint;
      maxMessages: number;
      wantProof?: boolean | undefined;
      oneAccount?: boolean | undefined;
      messagesBoc?: boolean | undefined;
    };
    answer: LiteValues['liteServer.dispatchQueueMessages'];
  };
  'liteServer.nonfinal.getPendingShardBlocks': {
    fields: { mode: number; wc?: number | undefined; shard?: bigint | undefined };
    answer: LiteValues['liteServer.nonfinal.pendingShardBlocks'];
  };
}

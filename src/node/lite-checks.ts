import type { BlockIdExt } from '../chain/model.ts';
import { type AnyLiteRequest, BY_SEQNO, blockIdExtFromTl, decodeAnswer, type LiteAnswer } from './lite-api.ts';
import { LieError } from './lite-faults.ts';
import {
  checkAccount,
  checkBlock,
  checkHeader,
  checkLibraries,
  checkLookup,
  provenConfig,
  provenMasterHeader,
} from './lite-proofs.ts';
import { provenQueueSize, provenShardLinks } from './lite-shard-proofs.ts';

/**
 * Reads an answer and holds it to the proofs and hashes in it, as far as the request can be answered with any: account
 * states and the configuration at a block, blocks and their headers, older masterchain blocks, the way to shard blocks,
 * lengths of queues, libraries, which network it is. Of other calls it is known only that the answer is of the call's shape.
 * @throws what is judged a fault of the server (lite-faults.ts)
 */
export function checkAnswer(request: AnyLiteRequest, bytes: Buffer, zeroState: BlockIdExt): void {
  switch (request.method) {
    case 'getMasterchainInfo':
    case 'getMasterchainInfoExt':
      checkNetwork(decodeAnswer(request.method, bytes), zeroState);
      return;
    case 'getAccountState': {
      const { id, account } = request;
      checkAccount(decodeAnswer(request.method, bytes), blockIdExtFromTl(id), account.workchain, account.id);
      return;
    }
    case 'getBlock':
      checkBlock(decodeAnswer(request.method, bytes), blockIdExtFromTl(request.id));
      return;
    case 'getBlockHeader': {
      checkHeader(decodeAnswer(request.method, bytes).headerProof, blockIdExtFromTl(request.id));
      return;
    }
    case 'lookupBlock':
      checkLookup(decodeAnswer(request.method, bytes), request);
      return;
    case 'getConfigAll':
      provenConfig(decodeAnswer(request.method, bytes), blockIdExtFromTl(request.id));
      return;
    case 'lookupBlockWithProof': {
      const { mcBlockId, id, mode } = request;
      const answer = decodeAnswer(request.method, bytes);
      // Those by lt or time, or of shards, are held to less.
      if (id.workchain === -1 && mode === BY_SEQNO) provenMasterHeader(answer, blockIdExtFromTl(mcBlockId), id.seqno);
      return;
    }
    case 'getLibraries':
      checkLibraries(decodeAnswer(request.method, bytes), request.libraryList);
      return;
    case 'getShardBlockProof':
      provenShardLinks(decodeAnswer(request.method, bytes), blockIdExtFromTl(request.id));
      return;
    case 'getBlockOutMsgQueueSize': {
      const answer = decodeAnswer(request.method, bytes);
      if (request.wantProof) provenQueueSize(answer, blockIdExtFromTl(request.id));
      return;
    }
    default:
      decodeAnswer(request.method, bytes);
  }
}

/** Whether what a server tells of its masterchain is of the network with this zero state. @throws {LieError} */
export function checkNetwork({ init }: Pick<LiteAnswer<'getMasterchainInfo'>, 'init'>, zeroState: BlockIdExt): void {
  if (!init.rootHash.equals(zeroState.rootHash) || !init.fileHash.equals(zeroState.fileHash)) {
    throw new LieError('serves another network: its zero state differs');
  }
}

import { type AnyLiteRequest, blockIdExtFromTl, decodeAnswer } from './lite-api.ts';
import { checkAccount, checkBlock, checkHeader, checkLibraries } from './lite-proofs.ts';

/**
 * Reads an answer and holds it to the proofs and hashes in it, as far as the request can be answered with any: account
 * states at a block, blocks and their headers, libraries. Of other calls it is known only that the answer is of the
 * call's shape.
 * @throws what is judged a fault of the server (lite-faults.ts)
 */
export function checkAnswer(request: AnyLiteRequest, bytes: Buffer): void {
  switch (request.method) {
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
    case 'lookupBlock': {
      const { id, headerProof } = decodeAnswer(request.method, bytes);
      checkHeader(headerProof, blockIdExtFromTl(id));
      return;
    }
    case 'getLibraries':
      checkLibraries(decodeAnswer(request.method, bytes), request.libraryList);
      return;
    default:
      decodeAnswer(request.method, bytes);
  }
}

/** What a run saw besides its code, its data and its arguments: told from the instructions that the executor logged. */

/**
 * `nothing`: whoever runs the same code on the same data with the same arguments under the same version gets the same.
 * `address`: also its own address. `more`: time, balance, configuration, seed, previous blocks.
 */
export type Seen = 'nothing' | 'address' | 'more';

/**
 * Instructions that read the environment (c7: prepare_vm_c7 in crypto/smc-envelope/SmartContract.cpp, names in
 * crypto/vm/tonops.cpp), but for `MYADDR`, and `MYCODE`, which is the code. `GETGLOB` with a number reads what the
 * contract itself has put there. A child of `RUNVM` has an environment of its own making or none.
 */
const MORE =
  /^execute (NOW|BLOCKLT|LTIME|RAND|SETRAND|ADDRAND|BALANCE|GETEXTRABALANCE|INCOMINGVALUE|STORAGEFEES|DUEPAYMENT|INMSG|PREV|UNPACKEDCONFIG|CONFIG|GETPARAM|GETGLOBVAR|GLOBALID|GET[A-Z]*FEE|GETPRECOMPILEDGAS|SENDMSG|PUSHCTRX|PUSH c7|RUNVM)/m;
const ADDRESS = /^execute MYADDR/m;

/** @param log null where the executor told none */
export function seenBy(log: string | null): Seen {
  if (log === null || MORE.test(log)) return 'more';
  return ADDRESS.test(log) ? 'address' : 'nothing';
}

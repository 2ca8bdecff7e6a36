/** Global id of the public test network: its addresses have the test flag, and it has contracts of its own. */
export const TESTNET = -3;

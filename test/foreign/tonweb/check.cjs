/** A wallet's life through tonweb and its client of the v2 API; prints what it saw as JSON. The bundle is its first argument. */
const { readFileSync } = require('node:fs');

const [bundle, question] = process.argv.slice(2);
// The published bundle is made for browsers, and asks for nothing else of them.
globalThis.self = globalThis;
const TonWeb = require(bundle);
const { BN, Address, bytesToBase64, base64ToBytes, bytesToHex, hexToBytes, nacl } = TonWeb.utils;

const PATIENCE_MS = 60_000;
const PAGE = 2;

async function until(what, ask) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const answer = await ask();
    if (answer !== null) return answer;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`gave up waiting: ${what}`);
}

const rawOf = (address) => new Address(address).toString(false);
const base64ToHex = (text) => bytesToHex(base64ToBytes(text));

/** Numbers as text, cells by hash. */
async function plain(value) {
  if (Array.isArray(value)) return Promise.all(value.map(plain));
  return BN.isBN(value) ? value.toString() : bytesToHex(await value.hash());
}

async function historyOf(provider, address) {
  const found = [];
  for (let start = []; ; ) {
    const page = await provider.getTransactions(address, PAGE, ...start);
    const fresh = start.length > 0 ? page.slice(1) : page;
    if (fresh.length === 0) return found;
    found.push(...fresh);
    const { lt, hash } = page.at(-1).transaction_id;
    start = [lt, hash];
  }
}

const failure = async (promise) => {
  const error = await promise.then(
    () => null,
    (reason) => reason,
  );
  return error instanceof Error ? error.message : error;
};

async function live(asked) {
  const provider = new TonWeb.HttpProvider(`${asked.url}/api/v2/jsonRPC`);
  const walletOf = (seed) => {
    const keys = nacl.sign.keyPair.fromSeed(hexToBytes(seed));
    const wallet = new TonWeb.Wallets.all.v3R2(provider, { publicKey: keys.publicKey, wc: 0 });
    return { wallet, secretKey: keys.secretKey };
  };
  const { wallet, secretKey } = walletOf(asked.seed);
  const giver = walletOf(asked.giverSeed);
  const address = await wallet.getAddress();
  const raw = address.toString(false);
  const { balance, state } = await provider.getAddressInfo(raw);
  // The first transfer carries the wallet's code and data.
  const first = {
    secretKey,
    toAddress: new Address(asked.to).toString(true, true, false),
    amount: new BN(500_000_000),
    seqno: 0,
    payload: 'from tonweb',
  };
  const fees = await wallet.methods.transfer(first).estimateFee();
  await wallet.methods.transfer(first).send();
  await until('the wallet has sent', async () => ((await wallet.methods.seqno().call()) === 1 ? true : null));

  const { JettonMinter, JettonWallet } = TonWeb.token.jetton;
  const minter = new JettonMinter(provider, { address: asked.master });
  const own = await minter.getJettonWalletAddress(address);
  const giverAddress = await giver.wallet.getAddress();
  const source = new JettonWallet(provider, { address: await minter.getJettonWalletAddress(giverAddress) });
  const payload = await source.createTransferBody({
    jettonAmount: new BN(asked.amount),
    toAddress: address,
    responseAddress: giverAddress,
    forwardAmount: new BN(1),
  });
  const seqno = await giver.wallet.methods.seqno().call();
  const toAddress = (await source.getAddress()).toString(true, true, true);
  await giver.wallet.methods
    .transfer({ secretKey: giver.secretKey, toAddress, amount: new BN(100_000_000), seqno, payload })
    .send();
  const jettonWallet = new JettonWallet(provider, { address: own });
  const held = await until('the jettons have arrived', () => jettonWallet.getData().catch(() => null));
  const history = await until('the notice has arrived', async () => {
    const found = await historyOf(provider, raw);
    return found.length >= 3 ? found : null;
  });

  const { admin, ...master } = await minter
    .getJettonData()
    .then(({ adminAddress, ...rest }) => ({ admin: adminAddress, ...rest }));
  const echo = (...stack) => provider.call2(asked.echo, 'anything', stack);
  const number = (text) => ({
    '@type': 'tvm.stackEntryNumber',
    number: { '@type': 'tvm.numberDecimal', number: text },
  });
  const slice = { '@type': 'tvm.stackEntrySlice', slice: { '@type': 'tvm.slice', bytes: asked.slice } };
  const tuple = (...elements) => ['tuple', { '@type': 'tvm.tuple', elements }];
  const stack = [
    ...asked.numbers.map((text) => ['num', text]),
    ['tvm.Cell', asked.cell],
    ['tvm.Slice', asked.slice],
    tuple(number('5')),
  ];
  const head = (await provider.getMasterchainInfo()).last;
  const { shards } = await provider.getBlockShards(head.seqno);
  const header = await provider.getMasterchainBlockHeader(head.seqno);
  const { transactions } = await provider.getMasterchainBlockTransactions(head.seqno, 2);
  return {
    wallet: raw,
    before: [balance, state],
    jettons: held.balance.toString(),
    jettonWallet: {
      address: own.toString(false),
      owner: rawOf(held.ownerAddress),
      master: rawOf(held.jettonMinterAddress),
    },
    history: history.map(({ transaction_id }) => base64ToHex(transaction_id.hash)),
    comments: history.flatMap(({ out_msgs }) => out_msgs.map(({ message }) => message)),
    stack: await plain(await echo(...stack)),
    list: await plain(await echo(['list', { '@type': 'tvm.list', elements: [number('6'), number('7')] }])),
    sliceInTuple: await failure(echo(tuple(slice))),
    master: { supplied: master.totalSupply.gtn(0), mintable: master.isMutable, admin: rawOf(admin) },
    fee: fees.source_fees.in_fwd_fee > 0,
    nobody: [await provider.getBalance(asked.nobody), (await provider.getWalletInfo(asked.nobody)).account_state],
    shards: shards.length,
    header: header.id.seqno === head.seqno,
    inHead: transactions.length,
    config: bytesToBase64(await (await provider.getConfigParam(19)).toBoc(false)).length > 0,
    unset: await failure(provider.getConfigParam(999)),
    refused: await failure(provider.getBalance('no address')),
  };
}

live(JSON.parse(readFileSync(question, 'utf8'))).then(
  (found) => process.stdout.write(JSON.stringify(found)),
  (error) => {
    process.stderr.write(`${error instanceof Error ? error.stack : JSON.stringify(error)}\n`);
    process.exitCode = 1;
  },
);

/** Get-methods, with stacks in either of v2's spellings. */
import { z } from 'zod';
import type { GetMethodRun } from '../../tvm/contract.ts';
import type { StackValue } from '../../tvm/stack.ts';
import { methodOf, RESULT_LIMITS, running } from '../running.ts';
import { address, check, int32, required } from './parameters.ts';
import { blockId, transactionId } from './render/values.ts';
import { type Asked, ParameterError, type Route, route } from './route.ts';
import { blockId as blockIdType, transactionId as transactionIdType } from './schemas.ts';
import { pairStack, readPairs, readTyped, typedStack } from './stack.ts';

const TAG = 'run method';

const call = z.object({
  address: address(),
  method: z
    .union([z.string(), z.int()], 'failed to parse method')
    .optional()
    .meta({ type: ['string', 'integer'], description: 'Name of the method, or its id.', required: true }),
  stack: z
    .array(z.unknown(), 'failed to parse stack')
    .max(8000, 'more than 8000 stack entries')
    .optional()
    .meta({ type: 'array', items: {}, description: 'Arguments, the first one deepest.', required: true }),
  seqno: int32('Masterchain block as of which the contract is run; the newest when absent.'),
});

const common = { gas_used: z.int(), stack: z.array(z.unknown()), exit_code: z.int() };
const result = z.object({
  '@type': z.literal('smc.runResult'),
  ...common,
  block_id: blockIdType,
  last_transaction_id: transactionIdType,
});
const resultStd = z.object({ '@type': z.literal('smc.runResult'), ...common });

async function run(
  parameters: z.output<typeof call>,
  read: (entries: readonly unknown[]) => StackValue[],
  { contracts, context }: Asked,
) {
  const { address: account } = required(parameters.address, 'address');
  const method = methodOf(required(parameters.method, 'method'));
  if (method === null) throw new ParameterError(422, 'failed to parse method');
  const stack = read(required(parameters.stack, 'stack'));
  const { seqno } = parameters;
  check(seqno === undefined || seqno > 0, 'seqno should be positive');
  const contract = await contracts.open(account, seqno, context);
  return {
    contract,
    ran: await running(() => contract.run(method, stack, { limits: RESULT_LIMITS, longStacks: true })),
  };
}

const members = ({ exitCode, gasUsed }: GetMethodRun, stack: readonly unknown[]) => ({
  '@type': 'smc.runResult',
  gas_used: gasUsed,
  stack,
  exit_code: exitCode,
});

const TOO_DEEP = { 533: 'The stack of the result is nested too deep.' };

export function runGetMethodRoute(): Route {
  return route({
    path: '/runGetMethod',
    methods: ['POST'],
    tag: TAG,
    summary: 'Runs a get-method; arguments and results as pairs of type and value',
    parameters: call,
    response: result,
    failures: TOO_DEEP,
    async answer(parameters, asked) {
      const { contract, ran } = await run(parameters, readPairs, asked);
      const { lt, hash } = contract.account.lastTransaction;
      return JSON.stringify({
        ...members(ran, pairStack(ran.stack)),
        block_id: blockId(contract.block),
        last_transaction_id: transactionId(lt, hash),
      });
    },
  });
}

export function runGetMethodStdRoute(): Route {
  return route({
    path: '/runGetMethodStd',
    methods: ['POST'],
    tag: TAG,
    summary: 'Runs a get-method; arguments and results as objects with a type',
    parameters: call,
    response: resultStd,
    failures: TOO_DEEP,
    async answer(parameters, asked) {
      const { ran } = await run(parameters, readTyped, asked);
      return JSON.stringify(members(ran, typedStack(ran.stack, STD_DEPTH)));
    },
  });
}

/** What the reference is configured to for this form. */
const STD_DEPTH = 256;

import { z } from 'zod';

const integer = z.int();
const decimal = z.string().regex(/^[0-9]+$/);
const head = {
  series: z.string(),
  unit: z.string().meta({ description: 'What is counted; amounts of `nanotons` and `gas` are text.' }),
  resolution: z.enum(['hour', 'day']),
  mc_seqno: integer.meta({ description: 'Step as of which the answer is exact.' }),
  gen_utime: integer.meta({ description: 'Its time, seconds since 1970.' }),
};
const bucket = {
  from: integer.meta({ description: 'Where it begins, seconds since 1970.' }),
  open: z.boolean().meta({ description: 'Whether it still grows.' }),
};

export const points = z
  .strictObject({
    ...head,
    points: z.array(z.strictObject({ ...bucket, value: z.union([integer, decimal]) })),
  })
  .meta({ id: 'Points' });

const subject = z.strictObject({
  subject: z.string().meta({ description: 'An opcode (empty for none), the address of a jetton, a type of action.' }),
  count: integer,
  failed: integer.nullable().meta({ description: 'Null for opcodes.' }),
  amount: decimal.nullable().meta({ description: 'Of what did not fail: nanotons, or units of the jetton.' }),
  senders: integer.nullable().meta({ description: 'Different ones; null where that is not counted, as by day.' }),
  receivers: integer.nullable(),
});

export const subjectPoints = z
  .strictObject({ ...head, points: z.array(z.strictObject({ ...bucket, value: z.array(subject) })) })
  .meta({ id: 'SubjectPoints' });

export const counters = z
  .strictObject({
    mc_seqno: integer,
    gen_utime: integer,
    since: integer.meta({ description: 'Time of the first step of the index.' }),
    blocks: integer,
    transactions: integer,
    failed_transactions: integer,
    messages: integer,
    external_messages: integer,
    traces: integer,
    new_accounts: integer,
    deployments: integer,
    gas: decimal,
    fees: decimal,
    value: decimal,
  })
  .meta({ id: 'Counters' });

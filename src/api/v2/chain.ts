/** The chain as a whole: its newest block, its configuration, its libraries. */
import { z } from 'zod';
import { toBoc } from '../../chain/builder.ts';
import { hashKey } from '../../chain/hash.ts';
import { MAX_LIBRARIES } from '../../state/libraries.ts';
import { configParam } from '../../tvm/config.ts';
import { Refusal } from '../errors.ts';
import { stepOf } from './accounts.ts';
import { check, given, hashes, int32, required } from './parameters.ts';
import { base64, blockId } from './render/values.ts';
import { type Route, route } from './route.ts';
import * as schemas from './schemas.ts';

const BLOCKS = 'blocks';
const CONFIGURATION = 'configuration';

export function getMasterchainInfoRoute(): Route {
  return route({
    path: '/getMasterchainInfo',
    tag: BLOCKS,
    summary: 'The newest masterchain block',
    parameters: z.object({}),
    response: schemas.masterchainInfo,
    async answer(_parameters, { states, context }) {
      const step = await states.step(undefined, context);
      const [stateRootHash, { rootHash, fileHash }] = await Promise.all([
        states.stateRootHash(step, context),
        states.zeroState(context),
      ]);
      // Here the shard of the zero state is no shard at all.
      const init = { workchain: -1, shard: '0000000000000000', seqno: 0, rootHash, fileHash };
      return JSON.stringify({
        '@type': 'blocks.masterchainInfo',
        last: blockId(step.header),
        state_root_hash: base64(stateRootHash),
        init: blockId(init),
      });
    },
  });
}

export function getConsensusBlockRoute(): Route {
  return route({
    path: '/getConsensusBlock',
    tag: BLOCKS,
    summary: 'The newest masterchain block that is shown',
    parameters: z.object({}),
    response: schemas.consensusBlock,
    live: true,
    async answer(_parameters, { states, context }) {
      const { header } = await states.step(undefined, context);
      const timestamp = Math.floor(Date.now() / 1000);
      return JSON.stringify({ '@type': 'ext.blocks.consensusBlock', consensus_block: header.seqno, timestamp });
    },
  });
}

const seqno = int32('Masterchain block as of which it is shown; the newest when absent.');

const configInfo = (bytes: Buffer | null): string =>
  JSON.stringify({
    '@type': 'configInfo',
    config: { '@type': 'tvm.cell', bytes: bytes === null ? '' : base64(bytes) },
  });

export function getConfigParamRoute(): Route {
  return route({
    path: '/getConfigParam',
    tag: CONFIGURATION,
    summary: 'A parameter of the configuration',
    parameters: z.object({
      param: int32('Number of the parameter.'),
      config_id: int32('The same by its older name.'),
      seqno,
    }),
    response: schemas.configInfo,
    async answer({ param, config_id: id, seqno: at }, asked, sent) {
      // In a query, where each is a list of values, the older name counts.
      const isBody = !Array.isArray(sent.get('config_id'));
      const areBoth = param !== undefined && id !== undefined;
      check(!(areBoth && isBody), 'only one of config_id or param should be specified');
      const index = required(id ?? param, 'param');
      check(index >= 0, 'param should be non-negative');
      const config = await asked.states.config(await stepOf(at, asked), asked.context);
      const cell = configParam(config, index);
      return configInfo(cell === null ? null : toBoc(cell));
    },
  });
}

export function getConfigAllRoute(): Route {
  return route({
    path: '/getConfigAll',
    tag: CONFIGURATION,
    summary: 'The configuration: root of the dictionary of its parameters',
    parameters: z.object({ seqno }),
    response: schemas.configInfo,
    async answer({ seqno: at }, asked) {
      return configInfo(toBoc(await asked.states.config(await stepOf(at, asked), asked.context)));
    },
  });
}

export function getLibrariesRoute(): Route {
  return route({
    path: '/getLibraries',
    tag: CONFIGURATION,
    summary: 'Public libraries by hash',
    parameters: z.object({ libraries: hashes('Hashes of libraries, at most 16.') }),
    response: schemas.libraries,
    async answer({ libraries }, { states, context }) {
      const wanted = new Map((libraries ?? []).flatMap((hash) => (given(hash) ? [[hashKey(hash), hash]] : [])));
      if (wanted.size > MAX_LIBRARIES) {
        const reason = `too many libraries requested, ${MAX_LIBRARIES} maximum`;
        throw new Refusal(500, `INVALID_FIELD: Field library_list has invalid value : ${reason}`);
      }
      const found = await states.libraries([...wanted.values()], context);
      const sorted = [...wanted].sort(([, a], [, b]) => Buffer.compare(a, b));
      const result = sorted.flatMap(([key, hash]) => {
        const boc = found.get(key);
        return boc === undefined ? [] : [{ '@type': 'smc.libraryEntry', hash: base64(hash), data: base64(boc) }];
      });
      return JSON.stringify({ '@type': 'smc.libraryResult', result });
    },
  });
}

/**
 * Bodies and what TON Center's v3 API said of them, as recorded in public test data of the wallet kit
 * (`ton-connect/kit`, packages/walletkit/data). Nothing here was made by this project.
 */
const NOTHING = { '@type': 'nothing_from_maybe' };

function standard(address: string) {
  return { '@type': 'addr_std', anycast: NOTHING, workchain_id: '0', address };
}

function varUint(len: string, value: string) {
  return { '@type': 'var_uint', len, value };
}

const SENDER = standard('9DA971AF38D2F03ABDF308D5F91636A97E5A2B07A66C39D71D7CBAE3B032EDDC');
const RECEIVER = standard('4E3664FAEE814FBDB6C1CB36D72BAC52D15E186C11ECD664FE1B3F1A7CFD801D');
const HELLO = { '@type': 'first_from_either', value: { '@type': 'text_comment', text: 'Hello!' } };

const nftTransfer = {
  '@type': 'nft_transfer',
  query_id: '10979590341877216745',
  new_owner: RECEIVER,
  response_destination: SENDER,
  custom_payload: NOTHING,
  forward_amount: varUint('1', '1'),
  forward_payload: { '@type': 'first_from_either', value: { '@type': 'empty_cell' } },
};

export interface Recorded {
  name: string;
  body: string;
  decoded: unknown;
}

export const recordedBodies: readonly Recorded[] = [
  { name: 'an empty body', body: 'te6cckEBAQEAAgAAAEysuc0=', decoded: { '@type': 'empty_cell' } },
  {
    name: 'a jetton transfer with a comment',
    body:
      'te6cckEBAQEAYAAAvA+KfqVkqQjJMo6ZTzD0JAgAnGzJ9d0Cn3ttg5ZtrldYpaK8MNgj2azJ/DZ+NPn7ADsAJ2pca840vA6vfMI1fkWNql+W' +
      'isHpmw51x18uuOwMu3cCAgAAAABIZWxsbyGguQis',
    decoded: {
      '@type': 'jetton_transfer',
      query_id: '7253338335086549327',
      amount: varUint('3', '1000000'),
      destination: RECEIVER,
      response_destination: SENDER,
      custom_payload: NOTHING,
      forward_ton_amount: varUint('1', '1'),
      forward_payload: HELLO,
    },
  },
  {
    name: 'the internal transfer behind it',
    body:
      'te6cckEBAQEAYAAAuxeNRRlkqQjJMo6ZTzD0JAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27kAJ2pca840vA6vfMI1fkWNql+W' +
      'isHpmw51x18uuOwMu3cEBAAAAACQytjY3kOAHndP',
    decoded: {
      '@type': 'jetton_internal_transfer',
      query_id: '7253338335086549327',
      amount: varUint('3', '1000000'),
      from: SENDER,
      response_address: SENDER,
      forward_ton_amount: varUint('1', '1'),
      forward_payload: HELLO,
    },
  },
  {
    name: 'the notification behind that',
    body: 'te6cckEBAQEAPQAAdnNi0JxkqQjJMo6ZTzD0JAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27gAAAAASGVsbG8hkmKg3w==',
    decoded: {
      '@type': 'jetton_notify',
      query_id: '7253338335086549327',
      amount: varUint('3', '1000000'),
      sender: SENDER,
      forward_payload: HELLO,
    },
  },
  {
    name: 'an NFT transfer',
    body:
      'te6cckEBAQEAUwAAoV/MPRSYX1c+Wua16YAJxsyfXdAp97bYOWba5XWKWivDDYI9msyfw2fjT5+wA7ACdqXGvONLwOr3zCNX5FjapflorB6Z' +
      'sOdcdfLrjsDLt3AgKEEHvN4=',
    decoded: nftTransfer,
  },
];
